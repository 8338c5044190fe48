//! CustomResourceDefinitions and the kinds that they define.

pub(crate) mod api_approval;
mod api_services;
mod controller;
mod definition;

pub(crate) use controller::run;
pub use definition::{CrdVersion, CustomResourceDefinition, PrinterColumn};

use crate::meta::{self, now};
use serde_json::{Value, json};

/// The finalizer that keeps a definition until its custom resources are deleted.
pub(crate) const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Marks a definition as terminating when it is deleted.
pub(crate) fn mark_terminating(definition: &mut Value) {
    meta::add_finalizer(definition, CLEANUP_FINALIZER);
    let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    set_condition(
        definition,
        "Terminating",
        "True",
        "InstanceDeletionPending",
        message,
    );
}

/// Sets a condition; lastTransitionTime changes only with the status.
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
    match conditions.iter_mut().find(|existing| existing["type"] == kind) {
        Some(existing) => {
            if existing["status"] == status {
                condition["lastTransitionTime"] = existing["lastTransitionTime"].clone();
            }
            *existing = condition;
        }
        None => conditions.push(condition),
    }
}

/// True if the condition has status True.
pub(crate) fn has_condition(object: &Value, kind: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == kind && condition["status"] == "True")
}
