//! The keywords of a schema, and how two schemas of one value are put together.

use std::collections::BTreeSet;

use kubewright_api_types::{is_restriction, restrict, strings};
use serde_json::{Map, Value};

/// Marks values that are integers or strings.
pub(super) const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

/// The keyword with which the API server does not remove unknown fields.
pub(super) const KEEPS_UNKNOWN_FIELDS: &str = "x-kubernetes-preserve-unknown-fields";

/// The CEL rules of a value.
pub(super) const RULES: &str = "x-kubernetes-validations";

/// The keywords of a schema, or fields by their names.
pub(super) type Fields = Map<String, Value>;

/// Returns the path of a field below a path.
pub(super) fn field_path(path: &str, name: &str) -> String {
    let separator = if path.is_empty() { "" } else { "." };
    format!("{path}{separator}{name}")
}

/// Adds a schema to what is beside a reference to it. Restrictions of both apply, and fields are joined; of another keyword that both have, such
/// as the description, what is beside the reference is kept.
pub(super) fn join(beside: &mut Fields, schema: Fields) {
    for (key, value) in schema {
        match (key.as_str(), beside.get_mut(&key), value) {
            (_, None, value) => {
                beside.insert(key, value);
            }
            ("properties", Some(Value::Object(properties)), Value::Object(more)) => {
                for (name, property) in more {
                    match (properties.get_mut(&name), property) {
                        (Some(Value::Object(existing)), Value::Object(property)) => join(existing, property),
                        (_, property) => {
                            properties.entry(name).or_insert(property);
                        }
                    }
                }
            }
            ("items", Some(Value::Object(items)), Value::Object(more)) => join(items, more),
            ("required" | RULES, Some(Value::Array(all)), Value::Array(more)) => {
                let new: Vec<Value> = more.into_iter().filter(|value| !all.contains(value)).collect();
                all.extend(new);
            }
            // A field may have a format of its own.
            ("format", ..) => {}
            (_, Some(_), value) if is_restriction(&key) => restrict(beside, &key, value),
            _ => {}
        }
    }
}

/// Returns the limits of an integer of 32 bits, where the schema has no others: for the places where its format is left out.
pub(super) fn limits_of_format(schema: &Fields) -> impl Iterator<Item = (&'static str, Value)> {
    let is_narrow = schema.get("format").is_some_and(|format| format == "int32");
    let limits = [("minimum", i32::MIN), ("maximum", i32::MAX)].into_iter();
    let missing = limits.filter(move |(keyword, _)| is_narrow && !schema.contains_key(*keyword));
    missing.map(|(keyword, limit)| (keyword, limit.into()))
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

/// Returns the names in a list, such as `required`.
pub(super) fn names(list: Option<&Value>) -> BTreeSet<String> {
    strings(list).map(str::to_owned).collect()
}
