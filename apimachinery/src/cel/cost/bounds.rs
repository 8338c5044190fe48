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

/// The bounds of a value.
pub(super) struct Bounds {
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
    Values(Box<Bounds>),
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
                Self {
                    elements,
                    min_bytes: EMPTY_BYTES,
                    nested: Nested::Items(Box::new(items)),
                }
            }
            "object" if schema["additionalProperties"].is_object() => {
                let values = Self::of(&schema["additionalProperties"], false)?;
                let elements = limit(schema, "maxProperties")
                    .unwrap_or_else(|| MAX_CONTENT_BYTES / (values.min_bytes + ENTRY_BYTES));
                Self {
                    elements,
                    min_bytes: EMPTY_BYTES,
                    nested: Nested::Values(Box::new(values)),
                }
            }
            "object" if is_object => Self::of_fields(&with_object_fields(schema)),
            "object" => Self::of_fields(schema),
            _ => return None,
        })
    }

    fn scalar(elements: u64, min_bytes: u64) -> Self {
        Self {
            elements,
            min_bytes,
            nested: Nested::None,
        }
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
        Self {
            elements: 0,
            min_bytes,
            nested: Nested::Fields(fields),
        }
    }

    /// How many such values a request can contain.
    pub(super) fn values_per_request(&self) -> u64 {
        REQUEST_BYTES / (self.min_bytes + 1)
    }

    /// Returns the size of the value at a path; None if the schema does not describe it. The first name is a variable: which one does not
    /// matter, since each has this schema.
    pub(super) fn size_at(&self, path: &Path) -> Option<Size> {
        let names = path.names();
        let (_, below) = names.split_first()?;
        let mut bounds = self;
        for name in below {
            bounds = match (&bounds.nested, name.as_str()) {
                (Nested::Values(_), "@keys") if names.last() == Some(name) => return Some(Size::fixed(0)),
                (Nested::Items(nested) | Nested::Values(nested), "@items" | "@values") => nested,
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
