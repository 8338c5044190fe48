//! The sizes of the values that a schema allows. Where it sets no limit, the size of a request does.

use super::path::Path;
use super::size::Size;
use crate::cel::schema_types::{escaped, with_object_fields};
use serde_json::Value;
use std::collections::BTreeMap;

/// The size of the largest request, in bytes.
const REQUEST_BYTES: u64 = 3 << 20;
/// The length of the longest text in a request, without its quotes; of the list or map that fills a request, without its brackets.
const MAX_CONTENT_BYTES: u64 = REQUEST_BYTES - 2;
/// The most bytes of a character.
const CHARACTER_BYTES: u64 = 4;
/// The length of an empty list, map, object or string in JSON.
const EMPTY_BYTES: u64 = 2;
/// The bytes of an entry of a map beside its value: the key with its quotes, colon and comma.
const ENTRY_BYTES: u64 = 6;
/// The bytes of a field beside its name and value: quotes, colon and comma.
const FIELD_BYTES: u64 = 4;

/// The most domains of a device's attributes, and the most attributes of a domain.
const DEVICE_ATTRIBUTES: u64 = 32;

/// The bounds of a value.
pub(super) struct Bounds {
    /// The only variable with these bounds; None if each variable has them.
    variable: Option<&'static str>,
    /// The most characters, bytes, items or entries; 0 for other values.
    elements: u64,
    /// The least bytes in JSON.
    min_bytes: u64,
    nested: Nested,
}

enum Nested {
    None,
    Fields(BTreeMap<String, Bounds>),
    Items(Box<Bounds>),
    Values {
        /// The most characters of a key; 0 if they are not known.
        key: u64,
        values: Box<Bounds>,
        /// Whether a value has these bounds where it is selected by its name, too.
        are_named: bool,
    },
}

impl Bounds {
    /// Returns the bounds of the values of a schema; None if rules cannot use them. `is_object` marks the schema of a whole object.
    pub(super) fn of(schema: &Value, is_object: bool) -> Option<Self> {
        let is_object = is_object || schema["x-kubernetes-embedded-resource"] == true;
        if schema["x-kubernetes-int-or-string"] == true {
            return Some(Self::scalar(text_length(schema), 1));
        }
        Some(match schema["type"].as_str()? {
            "boolean" => Self::scalar(0, 4),
            "integer" | "number" => Self::scalar(0, 1),
            "string" => match schema["format"].as_str().unwrap_or_default() {
                "byte" => Self::scalar(
                    limit(schema, "maxLength").unwrap_or(MAX_CONTENT_BYTES),
                    EMPTY_BYTES,
                ),
                "duration" => Self::scalar(32, 3),
                "date" => Self::scalar(12, 12),
                "date-time" => Self::scalar(32, 21),
                _ => Self::scalar(text_length(schema), EMPTY_BYTES),
            },
            "array" => {
                let items = Self::of(&schema["items"], false)?;
                let elements =
                    limit(schema, "maxItems").unwrap_or_else(|| MAX_CONTENT_BYTES / (items.min_bytes + 1));
                Self::new(elements, EMPTY_BYTES, Nested::Items(Box::new(items)))
            }
            "object" if schema["additionalProperties"].is_object() => {
                let values = Self::of(&schema["additionalProperties"], false)?;
                let elements = limit(schema, "maxProperties")
                    .unwrap_or_else(|| MAX_CONTENT_BYTES / (values.min_bytes + ENTRY_BYTES));
                Self::values(elements, 0, values, false)
            }
            "object" if is_object => Self::of_fields(&with_object_fields(schema)),
            "object" => Self::of_fields(schema),
            _ => return None,
        })
    }

    /// Returns the bounds of the variable `device` of a selector.
    pub(super) fn of_device() -> Self {
        const DOMAIN: u64 = 63;
        const NAME: u64 = 32;
        const ATTRIBUTE: u64 = 64;
        let text = |length| Self::scalar(length, EMPTY_BYTES);
        let by_domain = |value, are_named| {
            let by_name = Self::values(DEVICE_ATTRIBUTES, NAME, value, are_named);
            Self::values(DEVICE_ATTRIBUTES, DOMAIN, by_name, false)
        };
        let fields = [
            ("driver", text(63)),
            ("allowMultipleAllocations", Self::scalar(1, 4)),
            ("attributes", by_domain(text(ATTRIBUTE), true)),
            ("capacity", by_domain(text(0), false)),
        ];
        let fields = fields.into_iter().map(|(name, field)| (name.to_owned(), field));
        Self {
            variable: Some("device"),
            ..Self::new(0, EMPTY_BYTES, Nested::Fields(fields.collect()))
        }
    }

    fn new(elements: u64, min_bytes: u64, nested: Nested) -> Self {
        Self {
            variable: None,
            elements,
            min_bytes,
            nested,
        }
    }

    fn scalar(elements: u64, min_bytes: u64) -> Self {
        Self::new(elements, min_bytes, Nested::None)
    }

    fn values(elements: u64, key: u64, values: Self, are_named: bool) -> Self {
        let values = Box::new(values);
        let nested = Nested::Values {
            key,
            values,
            are_named,
        };
        Self::new(elements, EMPTY_BYTES, nested)
    }

    fn of_fields(schema: &Value) -> Self {
        let required = schema["required"].as_array();
        let mut min_bytes = EMPTY_BYTES;
        let mut fields = BTreeMap::new();
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let Some(bounds) = Self::of(field, false) else {
                continue;
            };
            let is_required = required.is_some_and(|required| required.iter().any(|field| field == name));
            if is_required && field["default"].is_null() {
                min_bytes += name.len() as u64 + bounds.min_bytes + FIELD_BYTES;
            }
            fields.insert(escaped(name), bounds);
        }
        Self::new(0, min_bytes, Nested::Fields(fields))
    }

    /// How many such values a request can contain.
    pub(super) fn values_per_request(&self) -> u64 {
        REQUEST_BYTES / (self.min_bytes + 1)
    }

    /// Returns the size of the value at a path, which starts with a variable; None if the bounds do not describe it.
    pub(super) fn size_at(&self, path: &Path) -> Option<Size> {
        let names = path.names();
        let (variable, below) = names.split_first()?;
        if self.variable.is_some_and(|known| known != variable) {
            return None;
        }
        let mut bounds = self;
        for (index, name) in below.iter().enumerate() {
            bounds = match (&bounds.nested, name.as_str()) {
                (Nested::Values { key, .. }, "@keys") => {
                    return (index + 1 == below.len()).then(|| Size::up_to(*key));
                }
                (Nested::Items(nested) | Nested::Values { values: nested, .. }, "@items" | "@values") => {
                    nested
                }
                (
                    Nested::Values {
                        values,
                        are_named: true,
                        ..
                    },
                    _,
                ) => values,
                (Nested::Fields(fields), name) => fields.get(name)?,
                _ => return None,
            };
        }
        Some(Size::up_to(bounds.elements))
    }
}

/// The length of the longest text.
fn text_length(schema: &Value) -> u64 {
    if let Some(characters) = limit(schema, "maxLength") {
        return characters.saturating_mul(CHARACTER_BYTES);
    }
    let values = schema["enum"].as_array().filter(|values| !values.is_empty());
    match values {
        Some(values) if schema["x-kubernetes-int-or-string"] != true => {
            let lengths = values.iter().filter_map(Value::as_str).map(str::len);
            lengths.max().unwrap_or_default() as u64
        }
        _ => MAX_CONTENT_BYTES,
    }
}

/// Returns a limit of the schema; a negative one is zero.
pub(super) fn limit(schema: &Value, name: &str) -> Option<u64> {
    let limit = schema[name].as_i64()?;
    Some(u64::try_from(limit).unwrap_or_default())
}
