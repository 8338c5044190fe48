//! Pods: what admission gives them, and their status at the start.

use crate::meta;
use serde_json::{Map, Value, json};

/// What the default admission plugins add to a pod, and its first status.
pub(super) fn fill(pod: &mut Value, old: Option<&Value>) {
    tolerate(meta::entry_mut(pod, "spec"));
    if let Some(old) = old {
        // What admission gave a pod it keeps.
        let spec = meta::entry_mut(pod, "spec");
        for key in ["priority", "preemptionPolicy"] {
            if spec.get(key).is_none_or(Value::is_null) && !old["spec"][key].is_null() {
                spec.insert(key.to_owned(), old["spec"][key].clone());
            }
        }
        return;
    }
    requests_from_limits(pod);
    let spec = meta::entry_mut(pod, "spec");
    spec.entry("enableServiceLinks").or_insert(json!(true));
    spec.entry("priority").or_insert(json!(0));
    spec.entry("preemptionPolicy")
        .or_insert(json!("PreemptLowerPriority"));
    if spec
        .get("terminationGracePeriodSeconds")
        .and_then(Value::as_i64)
        .is_some_and(|seconds| seconds < 0)
    {
        spec.insert("terminationGracePeriodSeconds".into(), json!(1));
    }
    let gated = spec
        .get("schedulingGates")
        .and_then(Value::as_array)
        .is_some_and(|gates| !gates.is_empty());
    pod["status"] = json!({ "phase": "Pending", "qosClass": quality(&pod["spec"]) });
    if gated {
        pod["status"]["conditions"] = json!([{
            "type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "lastProbeTime": null,
            "message": "Scheduling is blocked due to non-empty scheduling gates", "lastTransitionTime": meta::now(),
        }]);
    }
}

/// A node that is not ready may be so for a while.
fn tolerate(spec: &mut Map<String, Value>) {
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
pub(crate) fn quality(spec: &Value) -> &'static str {
    let (mut any, mut guaranteed) = (false, true);
    for container in spec["containers"].as_array().into_iter().flatten() {
        let (requests, limits) = (
            &container["resources"]["requests"],
            &container["resources"]["limits"],
        );
        for resource in ["cpu", "memory"] {
            any |= is_some(&requests[resource]) || is_some(&limits[resource]);
            guaranteed &= is_some(&limits[resource]) && requests[resource] == limits[resource];
        }
    }
    match (any, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

/// Whether a quantity is more than nothing.
fn is_some(quantity: &Value) -> bool {
    let text = quantity
        .as_str()
        .map_or_else(|| quantity.to_string(), str::to_owned);
    let number = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    number.bytes().any(|byte| matches!(byte, b'1'..=b'9'))
}

/// The account has two names, of which the old one only repeats the new one.
pub(super) fn name_account(spec: &mut Value) {
    let Value::Object(spec) = spec else { return };
    let named = |spec: &serde_json::Map<String, Value>, key: &str| {
        spec.get(key)
            .and_then(Value::as_str)
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
    };
    if let Some(name) = named(spec, "serviceAccountName").or_else(|| named(spec, "serviceAccount")) {
        spec.insert("serviceAccountName".into(), json!(name));
        spec.insert("serviceAccount".into(), json!(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quality_asks_for_more_than_nothing() {
        let of = |requests: Value, limits: Value| {
            let container = json!({ "resources": { "requests": requests, "limits": limits } });
            quality(&json!({ "containers": [container] }))
        };
        assert_eq!(of(json!({ "cpu": "0" }), json!(null)), "BestEffort");
        assert_eq!(of(json!({ "cpu": "100m" }), json!(null)), "Burstable");
        let all = json!({ "cpu": 1, "memory": "1Gi" });
        assert_eq!(of(all.clone(), all), "Guaranteed");
    }

    #[test]
    fn an_update_keeps_what_admission_gave() {
        let mut pod = json!({ "spec": { "containers": [] } });
        fill(&mut pod, None);
        pod["spec"]["priority"] = json!(7);
        let mut new = json!({ "spec": { "containers": [], "enableServiceLinks": true }, "status": { "phase": "Running" } });
        fill(&mut new, Some(&pod));
        assert_eq!(new["spec"], pod["spec"]);
        assert_eq!(new["status"]["phase"], "Running");
    }
}
