//! Pods: what admission gives them, and their status at the start.

use crate::meta;
use serde_json::{Value, json};

/// What the default admission plugins add to a new pod.
pub(super) fn fill(pod: &mut Value, old: Option<&Value>) {
    if old.is_some() {
        return;
    }
    requests_from_limits(pod);
    let spec = meta::entry_mut(pod, "spec");
    spec.entry("enableServiceLinks").or_insert(json!(true));
    spec.entry("priority").or_insert(json!(0));
    spec.entry("preemptionPolicy")
        .or_insert(json!("PreemptLowerPriority"));
    let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
    if let Value::Array(tolerations) = tolerations {
        for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
            let tolerates = |toleration: &Value| {
                let any = toleration["key"].as_str().is_none_or(str::is_empty);
                let effect = toleration["effect"].as_str().unwrap_or_default();
                (any || toleration["key"] == key) && matches!(effect, "" | "NoExecute")
            };
            if !tolerations.iter().any(tolerates) {
                tolerations.push(json!({
                    "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300,
                }));
            }
        }
    }
    pod["status"] = json!({ "phase": "Pending", "qosClass": quality(&pod["spec"]) });
}

/// What is limited and not requested is requested up to the limit.
fn requests_from_limits(pod: &mut Value) {
    for list in ["containers", "initContainers"] {
        let containers = pod["spec"][list].as_array_mut();
        for container in containers.into_iter().flatten() {
            let limits = container["resources"]["limits"].as_object().cloned();
            for (resource, limit) in limits.into_iter().flatten() {
                let requests = meta::entry_mut(&mut container["resources"], "requests");
                requests.entry(resource).or_insert(limit);
            }
        }
        if pod["spec"][list].is_null() {
            meta::entry_mut(pod, "spec").remove(list);
        }
    }
}

/// Guaranteed, burstable, or neither.
fn quality(spec: &Value) -> &'static str {
    let (mut any, mut guaranteed) = (false, true);
    for container in spec["containers"].as_array().into_iter().flatten() {
        let (requests, limits) = (
            &container["resources"]["requests"],
            &container["resources"]["limits"],
        );
        for resource in ["cpu", "memory"] {
            any |= !requests[resource].is_null() || !limits[resource].is_null();
            guaranteed &= !limits[resource].is_null() && requests[resource] == limits[resource];
        }
    }
    match (any, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}
