//! DefaultTolerationSeconds: pods tolerate nodes that are not ready or unreachable for five minutes.

use super::Attributes;
use crate::meta;
use serde_json::{Map, Value, json};

pub(super) fn mutate(attributes: &Attributes<'_>, pod: &mut Value) {
    if attributes.is_object("", "Pod") {
        add_default_tolerations(meta::entry_mut(pod, "spec"));
    }
}

/// Adds the default tolerations for nodes that are not ready or unreachable.
fn add_default_tolerations(spec: &mut Map<String, Value>) {
    let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
    if let Value::Array(tolerations) = tolerations {
        for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
            let tolerates = |toleration: &Value| {
                let any_key = toleration["key"].as_str().is_none_or(str::is_empty);
                let effect = toleration["effect"].as_str().unwrap_or_default();
                (any_key || toleration["key"] == key) && matches!(effect, "" | "NoExecute")
            };
            if !tolerations.iter().any(tolerates) {
                tolerations.push(json!({
                    "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300,
                }));
            }
        }
    }
}
