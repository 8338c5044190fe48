//! Accessors and builders for objects as JSON values.

use serde_json::{Value, json};

use crate::kind::{Key, Kind};

pub(crate) fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

pub(crate) fn namespace(object: &Value) -> &str {
    object["metadata"]["namespace"].as_str().unwrap_or_default()
}

pub(crate) fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

pub(crate) fn key(object: &Value) -> Key {
    (namespace(object).to_owned(), name(object).to_owned())
}

/// The resource version as a number: it is only compared within one API server.
pub(crate) fn resource_version(object: &Value) -> u64 {
    let text = object["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    text.parse().unwrap_or(0)
}

pub(crate) fn is_being_deleted(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// The uid of the object's controller.
pub(crate) fn controller_uid(object: &Value) -> Option<&str> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    owners.iter().find(|owner| owner["controller"] == true)?["uid"].as_str()
}

/// The value of an annotation `simulation.kubewright.dev/<name>`.
pub(crate) fn annotation<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object["metadata"]["annotations"][format!("simulation.kubewright.dev/{name}")].as_str()
}

/// An integer field, or its default.
pub(crate) fn int_or_default(value: &Value, default: i64) -> i64 {
    value.as_i64().unwrap_or(default)
}

/// An integer, or a percentage of `total`.
pub(crate) fn int_or_percent(value: &Value, total: i64, default: i64, round_up: bool) -> i64 {
    let percent = value
        .as_str()
        .and_then(|text| text.strip_suffix('%')?.parse::<i64>().ok());
    match percent {
        Some(percent) if round_up => (percent * total + 99) / 100,
        Some(percent) => percent * total / 100,
        None => int_or_default(value, default),
    }
}

pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == kind)
}

pub(crate) fn is_condition_true(object: &Value, kind: &str) -> bool {
    condition(object, kind).is_some_and(|condition| condition["status"] == "True")
}

/// Builds a condition. Its transition time is the previous one, unless the status changes.
pub(crate) fn make_condition(object: &Value, kind: &str, status: bool, reason: &str, message: &str) -> Value {
    let status = if status { "True" } else { "False" };
    let previous = condition(object, kind).filter(|previous| previous["status"] == status);
    let since = previous.map_or_else(|| json!(now()), |previous| previous["lastTransitionTime"].clone());
    let mut condition = json!({ "type": kind, "status": status, "lastTransitionTime": since });
    if !reason.is_empty() {
        condition["reason"] = json!(reason);
        condition["message"] = json!(message);
    }
    condition
}

/// The current time in Kubernetes' format.
pub(crate) fn now() -> String {
    format!("{:.0}", jiff::Timestamp::now())
}

/// Builds a pod from its owner's template.
pub(crate) fn pod(kind: Kind, owner: &Value) -> Value {
    let template = &owner["spec"]["template"];
    let mut metadata = json!({
        "generateName": format!("{}-", name(owner)), "namespace": namespace(owner),
        "ownerReferences": [owner_reference(kind, owner)],
    });
    for key in ["labels", "annotations"] {
        if !template["metadata"][key].is_null() {
            metadata[key] = template["metadata"][key].clone();
        }
    }
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"] })
}

pub(crate) fn owner_reference(kind: Kind, owner: &Value) -> Value {
    json!({
        "apiVersion": kind.api().0, "kind": kind.name(), "name": name(owner), "uid": uid(owner),
        "controller": true, "blockOwnerDeletion": true,
    })
}

/// A hash of a template (FNV-1a), without vowels, so that it does not spell words.
pub(crate) fn template_hash(template: &Value) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let text = template.to_string();
    let mut hash = text.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    let mut name = String::new();
    while name.len() < 7 {
        name.push(char::from(LETTERS[hash as usize % LETTERS.len()]));
        hash /= 27;
    }
    name
}

/// Returns the object with the status replaced.
pub(crate) fn with_status(object: &Value, status: Value) -> Value {
    let mut object = object.clone();
    object["status"] = status;
    object
}

/// Whether a value contains all fields of `expected`.
pub(crate) fn contains_fields(actual: &Value, expected: &Value) -> bool {
    match (actual, expected) {
        (Value::Null, expected) => {
            expected.is_null() || *expected == json!(0) || expected.as_array().is_some_and(Vec::is_empty)
        }
        (Value::Object(actual), Value::Object(expected)) => expected
            .iter()
            .all(|(key, value)| contains_fields(actual.get(key).unwrap_or(&Value::Null), value)),
        (Value::Array(actual), Value::Array(expected)) => {
            actual.len() == expected.len()
                && actual
                    .iter()
                    .zip(expected)
                    .all(|(actual, expected)| contains_fields(actual, expected))
        }
        (actual, expected) => actual == expected,
    }
}
