//! The keywords of a schema, and how two schemas of one value are put together.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// Marks values that are integers or strings.
pub(super) const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

/// Marks objects whose unknown fields are kept.
pub(super) const KEEPS_UNKNOWN_FIELDS: &str = "x-kubernetes-preserve-unknown-fields";

/// The keywords that an alternative of a structural schema may contain, beside `required`, `properties` and `items` of such.
const RESTRICTIONS: [&str; 18] = [
    "format",
    "enum",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
];

/// The keywords of a schema, or fields by their names.
pub(super) type Fields = Map<String, Value>;

/// Returns the path of a field below a path.
pub(super) fn field_path(path: &str, name: &str) -> String {
    let separator = if path.is_empty() { "" } else { "." };
    format!("{path}{separator}{name}")
}

/// Adds a schema to what is beside a reference to it. Of a keyword that both have, what is beside the reference is kept; fields are joined.
pub(super) fn join(beside: &mut Fields, schema: Fields) {
    for (key, value) in schema {
        match (key.as_str(), beside.get_mut(&key), value) {
            ("properties", Some(Value::Object(properties)), Value::Object(more)) => {
                for (name, property) in more {
                    properties.entry(name).or_insert(property);
                }
            }
            ("required", Some(Value::Array(required)), Value::Array(more)) => required.extend(more),
            (_, None, value) => {
                beside.insert(key, value);
            }
            _ => {}
        }
    }
}

/// Adds a restriction beside those that a schema has.
pub(super) fn restrict(fields: &mut Fields, keyword: &str, value: Value) {
    match fields.get(keyword) {
        None => {
            fields.insert(keyword.to_owned(), value);
        }
        Some(existing) if *existing == value => {}
        Some(_) => {
            let all = fields.entry("allOf").or_insert_with(|| json!([]));
            if let Value::Array(all) = all {
                all.push(json!({ keyword: value }));
            }
        }
    }
}

/// Returns whether a keyword may be in an alternative.
pub(super) fn is_restriction(keyword: &str) -> bool {
    RESTRICTIONS.contains(&keyword)
}

/// Returns whether a schema contains only what may be in an alternative, as one that is written by hand may.
pub(super) fn only_restricts(schema: &Value) -> bool {
    let mut keywords = schema.as_object().into_iter().flatten();
    keywords.all(|(keyword, value)| match (keyword.as_str(), value) {
        ("required", _) => true,
        ("properties", Value::Object(properties)) => properties.values().all(only_restricts),
        ("items", value) => only_restricts(value),
        (keyword, _) => is_restriction(keyword),
    })
}

/// Returns the strings of a list.
pub(super) fn strings(value: Option<&Value>) -> BTreeSet<String> {
    let values = value.and_then(Value::as_array).into_iter().flatten();
    values
        .filter_map(|value| value.as_str().map(str::to_owned))
        .collect()
}
