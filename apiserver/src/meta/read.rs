//! Reading metadata out of an object.

use serde_json::{Map, Value};

/// The name; empty where there is none.
pub fn name(object: &Value) -> &str {
    text(&object["metadata"], "name")
}

/// The namespace; empty where there is none.
pub fn namespace(object: &Value) -> &str {
    text(&object["metadata"], "namespace")
}

/// The uid; empty where there is none.
pub fn uid(object: &Value) -> &str {
    text(&object["metadata"], "uid")
}

/// The resource version; empty where there is none.
pub fn resource_version(object: &Value) -> &str {
    text(&object["metadata"], "resourceVersion")
}

/// Whether it is on its way out.
pub fn is_deleted(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// Who must agree before it goes.
pub fn finalizers(object: &Value) -> Vec<&str> {
    let finalizers = object["metadata"]["finalizers"].as_array();
    finalizers
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// Whether that one must agree.
pub fn has_finalizer(object: &Value, finalizer: &str) -> bool {
    finalizers(object).contains(&finalizer)
}

/// Adds a finalizer that is not there.
pub fn add_finalizer(object: &mut Value, finalizer: &str) {
    if !has_finalizer(object, finalizer) {
        match &mut object["metadata"]["finalizers"] {
            Value::Array(finalizers) => finalizers.push(finalizer.into()),
            finalizers => *finalizers = Value::Array(vec![finalizer.into()]),
        }
    }
}

/// Takes a finalizer away.
pub fn remove_finalizer(object: &mut Value, finalizer: &str) {
    let metadata = metadata_mut(object);
    if let Some(Value::Array(finalizers)) = metadata.get_mut("finalizers") {
        finalizers.retain(|present| present != finalizer);
        if finalizers.is_empty() {
            metadata.remove("finalizers");
        }
    }
}

/// Its owners.
pub fn owners(object: &Value) -> &[Value] {
    object["metadata"]["ownerReferences"]
        .as_array()
        .map_or(&[], Vec::as_slice)
}

/// The metadata, to be changed; made where there is none.
pub fn metadata_mut(object: &mut Value) -> &mut Map<String, Value> {
    entry_mut(object, "metadata")
}

/// A part of an object, to be changed; made where there is none.
pub fn entry_mut<'a>(object: &'a mut Value, key: &str) -> &'a mut Map<String, Value> {
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let part = &mut object[key];
    if !part.is_object() {
        *part = Value::Object(Map::new());
    }
    match part {
        Value::Object(map) => map,
        // It was just made one.
        _ => unreachable!("the part is an object"),
    }
}

/// A field of an object, to be replaced; what holds it is made an object.
pub fn entry_mut_any<'a>(object: &'a mut Value, key: &str) -> &'a mut Value {
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    &mut object[key]
}

/// The text of a field; empty where it has none.
pub(crate) fn text<'a>(holder: &'a Value, field: &str) -> &'a str {
    holder[field].as_str().unwrap_or_default()
}
