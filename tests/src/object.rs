//! Helpers that build and read objects as JSON.

use serde_json::{Value, json};

/// Returns an object with nothing but `apiVersion`, kind, namespace and name.
pub fn new_object(api_version: &str, kind: &str, namespace: &str, name: &str) -> Value {
    json!({ "apiVersion": api_version, "kind": kind, "metadata": { "namespace": namespace, "name": name } })
}

/// Returns the status condition of type `name`, or null if the object has none.
pub fn condition<'a>(object: &'a Value, name: &str) -> &'a Value {
    static NONE: Value = Value::Null;
    let conditions = object["status"]["conditions"].as_array();
    conditions
        .and_then(|all| all.iter().find(|condition| condition["type"] == name))
        .unwrap_or(&NONE)
}
