//! The last step of a schema: types of Kubernetes, list types of conditions, formats; no titles and no marks.

use std::collections::BTreeMap;

use kubewright_api_types::{allow_null, list_map_keys};
use serde_json::{Map, Value, json};

use super::{
    flattened,
    keywords::{KEEPS_UNKNOWN_FIELDS, field_path},
    references::{BUILT_IN, RUST_TYPE, insert_built_in},
};

/// Finishes the schema; returns the names of the Rust types by path.
pub(super) fn finish(schema: &mut Value) -> BTreeMap<String, String> {
    let mut types = BTreeMap::new();
    finish_value(schema, "", &mut types);
    types
}

fn finish_fields(fields: &mut Map<String, Value>, path: &str, types: &mut BTreeMap<String, String>) {
    fields.remove("title");
    if let Some(Value::String(name)) = fields.remove(RUST_TYPE) {
        types.insert(path.to_owned(), name);
    }
    if fields.contains_key(BUILT_IN) {
        insert_built_in(fields);
        return;
    }
    let published = flattened::insert_published(fields);
    add_list_type(fields);
    allow_null(fields);
    replace_additional_properties(fields);
    for (key, value) in fields.iter_mut() {
        match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                let others = properties
                    .iter_mut()
                    .filter(|(name, _)| !published.contains(&name.as_str()));
                for (name, property) in others {
                    finish_value(property, &field_path(path, name), types);
                }
            }
            ("items" | "additionalProperties", value) => finish_value(value, &format!("{path}[]"), types),
            ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => {
                for schema in schemas {
                    finish_value(schema, path, types);
                }
            }
            ("not", value) => finish_value(value, path, types),
            _ => {}
        }
    }
}

fn finish_value(value: &mut Value, path: &str, types: &mut BTreeMap<String, String>) {
    if let Value::Object(fields) = value {
        finish_fields(fields, path, types);
    }
}

/// Beside fields, unknown ones are kept, or removed: a schema has either fields or the values of a map.
fn replace_additional_properties(fields: &mut Map<String, Value>) {
    let has_fields = fields
        .get("properties")
        .and_then(Value::as_object)
        .is_some_and(|properties| !properties.is_empty());
    match fields.get("additionalProperties") {
        Some(Value::Bool(keeps_unknown)) if has_fields => {
            if *keeps_unknown {
                fields.insert(KEEPS_UNKNOWN_FIELDS.to_owned(), true.into());
            }
            fields.remove("additionalProperties");
        }
        _ => {}
    }
}

/// A list of conditions is a map by `type`, unless the field says otherwise.
fn add_list_type(fields: &mut Map<String, Value>) {
    let name = fields.get("items").and_then(|items| items[BUILT_IN].as_str());
    if let Some(keys) = name.and_then(list_map_keys)
        && !fields.contains_key("x-kubernetes-list-type")
    {
        fields.insert("x-kubernetes-list-type".to_owned(), "map".into());
        fields.insert("x-kubernetes-list-map-keys".to_owned(), json!(keys));
    }
}

/// Replaces formats of integers that the API server does not know by the smallest that it knows, with the type's limits. `uint64` stays, for
/// which there is none: `kubewright generate` refuses it.
pub(super) fn set_known_format(fields: &mut Map<String, Value>) {
    let (format, minimum, maximum) = match fields.get("format").and_then(Value::as_str) {
        Some("int8") => ("int32", i64::from(i8::MIN), i64::from(i8::MAX)),
        Some("int16") => ("int32", i64::from(i16::MIN), i64::from(i16::MAX)),
        Some("uint8") => ("int32", 0, i64::from(u8::MAX)),
        Some("uint16") => ("int32", 0, i64::from(u16::MAX)),
        Some("uint32") => ("int64", 0, i64::from(u32::MAX)),
        Some("int") => {
            fields.insert("format".to_owned(), "int64".into());
            return;
        }
        _ => return,
    };
    fields.insert("format".to_owned(), format.into());
    fields.entry("minimum").or_insert(minimum.into());
    fields.entry("maximum").or_insert(maximum.into());
}
