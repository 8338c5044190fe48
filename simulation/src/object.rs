//! Accessors and builders for objects as JSON values.

use serde_json::{Value, json};

use crate::kind::Key;

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

pub(crate) fn has_finalizers(object: &Value) -> bool {
    let finalizers = object["metadata"]["finalizers"].as_array();
    finalizers.is_some_and(|finalizers| !finalizers.is_empty())
}

/// Whether a pod has ended for good.
pub(crate) fn is_finished(pod: &Value) -> bool {
    pod["status"]["phase"] == "Succeeded" || pod["status"]["phase"] == "Failed"
}

/// The value of an annotation `simulation.kubewright.dev/<name>`.
pub(crate) fn annotation<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object["metadata"]["annotations"][format!("simulation.kubewright.dev/{name}")].as_str()
}

/// An integer field, or its default.
pub(crate) fn int_or_default(value: &Value, default: i64) -> i64 {
    value.as_i64().unwrap_or(default)
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
    for (field, text) in [("reason", reason), ("message", message)] {
        if !text.is_empty() {
            condition[field] = json!(text);
        }
    }
    condition
}

/// Replaces the condition of the same type in a status, or adds it.
pub(crate) fn set_condition(status: &mut Value, condition: Value) {
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    if let Some(conditions) = status["conditions"].as_array_mut() {
        match conditions
            .iter_mut()
            .find(|known| known["type"] == condition["type"])
        {
            Some(known) => *known = condition,
            None => conditions.push(condition),
        }
    }
}

/// The current time in Kubernetes' format.
pub(crate) fn now() -> String {
    format!("{:.0}", jiff::Timestamp::now())
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
