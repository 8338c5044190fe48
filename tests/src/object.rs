//! Objects as tests name and read them.

use serde_json::{Value, json};

/// What names an object: its `apiVersion`, its kind, its namespace and its name.
pub fn named(api_version: &str, kind: &str, namespace: &str, name: &str) -> Value {
    json!({ "apiVersion": api_version, "kind": kind, "metadata": { "namespace": namespace, "name": name } })
}

/// A condition of an object's status; null where it has none of that type.
pub fn condition<'a>(object: &'a Value, name: &str) -> &'a Value {
    static NONE: Value = Value::Null;
    let conditions = object["status"]["conditions"].as_array();
    conditions
        .and_then(|all| all.iter().find(|condition| condition["type"] == name))
        .unwrap_or(&NONE)
}
