//! Accessors of object metadata.

use serde_json::{Map, Value};

/// The name; empty if missing.
pub fn name(object: &Value) -> &str {
    text(&object["metadata"], "name")
}

/// The namespace; empty if missing.
pub fn namespace(object: &Value) -> &str {
    text(&object["metadata"], "namespace")
}

/// The uid; empty if missing.
pub fn uid(object: &Value) -> &str {
    text(&object["metadata"], "uid")
}

/// The resource version; empty if missing.
pub fn resource_version(object: &Value) -> &str {
    text(&object["metadata"], "resourceVersion")
}

/// Splits an API version into group and version, as Go does: both are empty if it has several slashes.
pub fn split_api_version(api_version: &str) -> (&str, &str) {
    match api_version.split_once('/') {
        None => ("", api_version),
        Some((_, version)) if version.contains('/') => ("", ""),
        Some(parts) => parts,
    }
}

/// Returns an API version without the slash of an empty group: `v1` for `/v1`, as Go reads it.
pub fn without_empty_group(api_version: &str) -> &str {
    let version = api_version.strip_prefix('/');
    version
        .filter(|version| !version.contains('/'))
        .unwrap_or(api_version)
}

/// Whether the object is being deleted: it has a `deletionTimestamp`.
pub fn is_being_deleted(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// The finalizers.
pub fn finalizers(object: &Value) -> Vec<&str> {
    let finalizers = object["metadata"]["finalizers"].as_array();
    finalizers
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// Whether the object has the finalizer.
pub fn has_finalizer(object: &Value, finalizer: &str) -> bool {
    finalizers(object).contains(&finalizer)
}

/// Adds a finalizer, unless the object has it.
pub fn add_finalizer(object: &mut Value, finalizer: &str) {
    if !has_finalizer(object, finalizer) {
        match &mut object["metadata"]["finalizers"] {
            Value::Array(finalizers) => finalizers.push(finalizer.into()),
            finalizers => *finalizers = Value::Array(vec![finalizer.into()]),
        }
    }
}

/// Removes a finalizer.
pub fn remove_finalizer(object: &mut Value, finalizer: &str) {
    let metadata = metadata_mut(object);
    if let Some(Value::Array(finalizers)) = metadata.get_mut("finalizers") {
        finalizers.retain(|present| present != finalizer);
        if finalizers.is_empty() {
            metadata.remove("finalizers");
        }
    }
}

/// The owner references.
pub fn owners(object: &Value) -> &[Value] {
    array(&object["metadata"]["ownerReferences"])
}

/// Sets a field to a value, or removes it if the value is null.
pub fn set_or_remove(fields: &mut Map<String, Value>, name: &str, value: &Value) {
    if value.is_null() {
        fields.remove(name);
    } else {
        fields.insert(name.to_owned(), value.clone());
    }
}

/// The items of a list; none if the value is not a list.
pub fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The metadata, mutable; created if missing.
pub fn metadata_mut(object: &mut Value) -> &mut Map<String, Value> {
    entry_mut(object, "metadata")
}

/// Adds labels or annotations to the metadata.
pub fn extend_metadata(object: &mut Value, key: &str, more: &Map<String, Value>) {
    if !more.is_empty() {
        let metadata = metadata_mut(object);
        let held = metadata.entry(key).or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(held) = held {
            held.extend(more.clone());
        }
    }
}

/// A field that is an object, mutable; created if missing.
pub fn entry_mut<'a>(object: &'a mut Value, key: &str) -> &'a mut Map<String, Value> {
    let part = entry_mut_any(object, key);
    if !part.is_object() {
        *part = Value::Object(Map::new());
    }
    match part {
        Value::Object(map) => map,
        // It was made an object above.
        _ => unreachable!("the part is an object"),
    }
}

/// A field, mutable; its parent is made an object if it is none.
pub fn entry_mut_any<'a>(object: &'a mut Value, key: &str) -> &'a mut Value {
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    &mut object[key]
}

/// The string value of a field; empty if it has none.
pub fn text<'a>(holder: &'a Value, field: &str) -> &'a str {
    holder[field].as_str().unwrap_or_default()
}
