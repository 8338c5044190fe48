//! Pruning, dropping of nulls, and defaulting.

use super::{field_schema, join};
use serde_json::Value;

const OBJECT_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Removes the fields that are not in the schema, and adds their paths to `unknown`.
pub(super) fn prune(
    value: &mut Value,
    schema: &Value,
    is_object: bool,
    path: &str,
    unknown: &mut Vec<String>,
) {
    let keeps = schema["x-kubernetes-preserve-unknown-fields"] == true;
    let is_object = is_object || schema["x-kubernetes-embedded-resource"] == true;
    match value {
        Value::Object(fields) => {
            fields.retain(|name, value| {
                if is_object && OBJECT_FIELDS.contains(&name.as_str()) {
                    return true;
                }
                let below = join(path, name);
                let known = schema["properties"].get(name).or_else(|| {
                    schema
                        .get("additionalProperties")
                        .filter(|schema| !schema.is_null())
                });
                match known {
                    Some(schema) => prune(value, schema, false, &below, unknown),
                    None if keeps => {}
                    None => {
                        unknown.push(below);
                        return false;
                    }
                }
                true
            });
        }
        Value::Array(items) => {
            // A list of preserved values is preserved, except for pruning of embedded resources in it.
            for (index, item) in items.iter_mut().enumerate() {
                if !keeps || schema["items"].is_object() {
                    prune(
                        item,
                        &schema["items"],
                        false,
                        &format!("{path}[{index}]"),
                        unknown,
                    );
                }
            }
        }
        _ => {}
    }
}

/// Removes null fields that are neither nullable nor have a default.
pub(super) fn drop_nulls(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(fields) => fields.retain(|name, value| {
            let Some(schema) = field_schema(schema, name) else {
                return true;
            };
            if value.is_null() && schema["nullable"] != true && schema["default"].is_null() {
                return false;
            }
            drop_nulls(value, schema);
            true
        }),
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| drop_nulls(item, &schema["items"])),
        _ => {}
    }
}

/// Sets the defaults of missing fields, and of null fields that are not nullable.
pub(super) fn default(value: &mut Value, schema: &Value) {
    let misses = |value: &Value, schema: &Value| value.is_null() && schema["nullable"] != true;
    match value {
        Value::Object(fields) => {
            for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
                let is_missing = fields.get(name).is_none_or(|value| misses(value, schema));
                if is_missing && !schema["default"].is_null() {
                    fields.insert(name.clone(), schema["default"].clone());
                }
            }
            for (name, value) in fields.iter_mut() {
                let Some(schema) = field_schema(schema, name) else {
                    continue;
                };
                if misses(value, schema) {
                    *value = schema["default"].clone();
                }
                default(value, schema);
            }
        }
        Value::Array(items) => {
            for item in items {
                if misses(item, &schema["items"]) && schema["items"].is_object() {
                    *item = schema["items"]["default"].clone();
                }
                default(item, &schema["items"]);
            }
        }
        _ => {}
    }
}
