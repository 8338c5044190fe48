//! Values of objects, by name.

use serde_json::{Value, json};

use crate::action::Action;
use crate::step::Next;
use crate::world::{Key, Kind};

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

/// The resource version of one API server: a number, since it is compared with nobody else's.
pub(crate) fn version(object: &Value) -> u64 {
    let text = object["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    text.parse().unwrap_or(0)
}

pub(crate) fn is_deleted(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// The uid of its controller.
pub(crate) fn controller(object: &Value) -> Option<&str> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    owners.iter().find(|owner| owner["controller"] == true)?["uid"].as_str()
}

/// An annotation of the simulation's own.
pub(crate) fn annotation<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object["metadata"]["annotations"][format!("simulation.kubewright.dev/{name}")].as_str()
}

/// A count, with what it is where nothing is said.
pub(crate) fn count(value: &Value, otherwise: i64) -> i64 {
    value.as_i64().unwrap_or(otherwise)
}

/// A count, or so many per cent of `total`.
pub(crate) fn portion(value: &Value, total: i64, otherwise: i64, round_up: bool) -> i64 {
    let percent = value
        .as_str()
        .and_then(|text| text.strip_suffix('%')?.parse::<i64>().ok());
    match percent {
        Some(percent) if round_up => (percent * total + 99) / 100,
        Some(percent) => percent * total / 100,
        None => count(value, otherwise),
    }
}

pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == kind)
}

pub(crate) fn is_true(object: &Value, kind: &str) -> bool {
    condition(object, kind).is_some_and(|condition| condition["status"] == "True")
}

/// A condition, whose transition is now unless it was so before.
pub(crate) fn make_condition(object: &Value, kind: &str, status: bool, reason: &str, message: &str) -> Value {
    let status = if status { "True" } else { "False" };
    let before = condition(object, kind).filter(|before| before["status"] == status);
    let since = before.map_or_else(|| json!(now()), |before| before["lastTransitionTime"].clone());
    let mut condition = json!({ "type": kind, "status": status, "lastTransitionTime": since });
    if !reason.is_empty() {
        condition["reason"] = json!(reason);
        condition["message"] = json!(message);
    }
    condition
}

/// Now, as Kubernetes writes times.
pub(crate) fn now() -> String {
    format!("{:.0}", jiff::Timestamp::now())
}

/// A pod as the template of its owner says.
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

/// A name for a template: equal templates have equal ones. FNV-1a, in letters that spell no words.
pub(crate) fn hash(template: &Value) -> String {
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

/// The object with another status.
pub(crate) fn with_status(object: &Value, status: Value) -> Value {
    let mut object = object.clone();
    object["status"] = status;
    object
}

/// Writes a status, unless it is so already. What nobody set is zero.
pub(crate) fn report(kind: Kind, object: &Value, status: Value, next: &mut Next) {
    if !holds(&object["status"], &status) {
        next.act(Action::Status(kind, with_status(object, status)));
    }
}

/// Whether a value says all that another one does.
fn holds(has: &Value, says: &Value) -> bool {
    match (has, says) {
        (Value::Null, says) => {
            says.is_null() || *says == json!(0) || says.as_array().is_some_and(Vec::is_empty)
        }
        (Value::Object(has), Value::Object(says)) => says
            .iter()
            .all(|(key, value)| holds(has.get(key).unwrap_or(&Value::Null), value)),
        (Value::Array(has), Value::Array(says)) => {
            has.len() == says.len() && has.iter().zip(says).all(|(has, says)| holds(has, says))
        }
        (has, says) => has == says,
    }
}
