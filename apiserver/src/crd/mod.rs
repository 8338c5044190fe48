//! CustomResourceDefinitions: what they say, and how they become kinds that are served.

pub(crate) mod approval;
mod controller;
mod definition;

pub(crate) use controller::run;
pub use definition::{Column, Definition, Version};

use crate::meta::{self, now};
use serde_json::{Value, json};

/// Keeps a definition until its objects are gone.
pub(crate) const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// What a deletion does to a definition.
pub(crate) fn mark_terminating(definition: &mut Value) {
    meta::add_finalizer(definition, FINALIZER);
    let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    set_condition(
        definition,
        "Terminating",
        "True",
        "InstanceDeletionPending",
        message,
    );
}

/// Sets a condition; its time changes only with its status.
pub(crate) fn set_condition(object: &mut Value, kind: &str, status: &str, reason: &str, message: &str) {
    let conditions = meta::entry_mut(object, "status")
        .entry("conditions")
        .or_insert_with(|| json!([]));
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Value::Array(conditions) = conditions else {
        return;
    };
    let mut condition = json!({
        "type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": now(),
    });
    match conditions.iter_mut().find(|present| present["type"] == kind) {
        Some(present) => {
            if present["status"] == status {
                condition["lastTransitionTime"] = present["lastTransitionTime"].clone();
            }
            *present = condition;
        }
        None => conditions.push(condition),
    }
}

/// Whether a condition holds.
pub(crate) fn has_condition(object: &Value, kind: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == kind && condition["status"] == "True")
}
