//! TaintNodesByCondition: a new node is tainted until it is ready.

use super::Attributes;
use crate::meta;
use serde_json::{Value, json};

pub(super) fn mutate(attributes: &Attributes<'_>, node: &mut Value) {
    if !attributes.creates("", "Node") {
        return;
    }
    let taint = json!({ "key": "node.kubernetes.io/not-ready", "effect": "NoSchedule" });
    let taints = meta::entry_mut(node, "spec")
        .entry("taints")
        .or_insert_with(|| json!([]));
    if let Value::Array(taints) = taints
        && !taints
            .iter()
            .any(|present| present["key"] == taint["key"] && present["effect"] == taint["effect"])
    {
        taints.push(taint);
    }
}
