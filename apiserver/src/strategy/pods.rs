//! Pods: what admission gives them, and their status at the start.

use crate::meta::{self, text};
use serde_json::{Map, Value, json};

/// What the default admission plugins add to a pod, and its first status.
pub(super) fn fill(pod: &mut Value, old: Option<&Value>) {
    let spec = meta::entry_mut(pod, "spec");
    tolerate(spec);
    if spec
        .get("terminationGracePeriodSeconds")
        .and_then(Value::as_i64)
        .is_some_and(|seconds| seconds < 0)
    {
        spec.insert("terminationGracePeriodSeconds".into(), json!(1));
    }
    if let Some(old) = old {
        // What admission gave a pod it keeps.
        for key in ["priority", "preemptionPolicy"] {
            if spec.get(key).is_none_or(Value::is_null) && !old["spec"][key].is_null() {
                spec.insert(key.to_owned(), old["spec"][key].clone());
            }
        }
        return;
    }
    select_by_own_labels(pod);
    confine(pod);
    let waits = pod["spec"]["schedulingGates"].as_array();
    let gated = waits.is_some_and(|gates| !gates.is_empty());
    pod["status"] = json!({ "phase": "Pending", "qosClass": quality(&pod["spec"]) });
    if gated {
        pod["status"]["conditions"] = json!([{
            "type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "lastProbeTime": null,
            "message": "Scheduling is blocked due to non-empty scheduling gates", "lastTransitionTime": meta::now(),
        }]);
    }
}

/// What a new status does not say is what the old one said: the class of quality, and of which generation it tells.
pub(crate) fn keep_status(status: &mut Value, old: &Value) {
    let before = &old["qosClass"];
    if !before.is_null() && text(status, "qosClass").is_empty() {
        status["qosClass"] = before.clone();
    }
    keep_generation(status, old);
    let mut conditions: Vec<&Value> = old["conditions"].as_array().into_iter().flatten().collect();
    let new = status.get_mut("conditions").and_then(Value::as_array_mut);
    for condition in new.into_iter().flatten() {
        // Of several of one type each follows one.
        let same = conditions
            .iter()
            .position(|old| text(old, "type") == text(condition, "type"));
        if let Some(old) = same.map(|index| conditions.remove(index)) {
            keep_generation(condition, old);
        }
    }
}

fn keep_generation(new: &mut Value, old: &Value) {
    const KEY: &str = "observedGeneration";
    let is_set = |of: &Value| of[KEY].as_i64().is_some_and(|generation| generation != 0);
    if !is_set(new) && is_set(old) {
        new[KEY] = old[KEY].clone();
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

/// Where a pod asks for others that share its labels, or do not, these become part of what it selects them by.
fn select_by_own_labels(pod: &mut Value) {
    let labels = pod["metadata"]["labels"].clone();
    let spec = &mut pod["spec"];
    for kind in ["podAffinity", "podAntiAffinity"] {
        for when in [
            "preferredDuringSchedulingIgnoredDuringExecution",
            "requiredDuringSchedulingIgnoredDuringExecution",
        ] {
            let terms = spec.pointer_mut(&format!("/affinity/{kind}/{when}"));
            for term in terms.and_then(Value::as_array_mut).into_iter().flatten() {
                match term.get_mut("podAffinityTerm") {
                    Some(term) => select_by(term, &labels),
                    None => select_by(term, &labels),
                }
            }
        }
    }
    let spread = spec
        .get_mut("topologySpreadConstraints")
        .and_then(Value::as_array_mut);
    for constraint in spread.into_iter().flatten() {
        select_by(constraint, &labels);
    }
}

/// Before a container's name in an annotation that says how AppArmor confines it.
pub(super) const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

/// The profile that such an annotation means, if any.
pub(super) fn profile(said: &str) -> Option<Value> {
    const MOST: usize = 4095;
    match said {
        "unconfined" => Some(json!({ "type": "Unconfined" })),
        "runtime/default" => Some(json!({ "type": "RuntimeDefault" })),
        _ => said
            .strip_prefix("localhost/")
            .filter(|file| !file.is_empty() && file.trim() == *file && file.len() <= MOST)
            .map(|file| json!({ "type": "Localhost", "localhostProfile": file })),
    }
}

/// What an annotation says of a container's profile becomes its field, where that says nothing and the pod's says another.
fn confine(pod: &mut Value) {
    if pod["spec"]["os"]["name"] == "windows" {
        return;
    }
    let annotations = pod["metadata"]["annotations"].clone();
    let of_pod = pod["spec"]["securityContext"]["appArmorProfile"].clone();
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        let containers = pod["spec"].get_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let name = container["name"].as_str().unwrap_or_default();
            let said = annotations[format!("{APP_ARMOR}{name}")].as_str();
            if let Some(profile) = said.and_then(profile)
                && container["securityContext"]["appArmorProfile"].is_null()
                && profile != of_pod
            {
                meta::entry_mut(container, "securityContext").insert("appArmorProfile".into(), profile);
            }
        }
    }
}

fn select_by(term: &mut Value, labels: &Value) {
    let mut added = vec![];
    for (list, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        for key in term[list].as_array().into_iter().flatten() {
            if let Some(value) = key.as_str().and_then(|key| labels.get(key)) {
                added.push(json!({ "key": key, "operator": operator, "values": [value] }));
            }
        }
    }
    if !added.is_empty()
        && let Some(selector) = term.get_mut("labelSelector").and_then(Value::as_object_mut)
        && let Value::Array(expressions) = selector.entry("matchExpressions").or_insert_with(|| json!([]))
    {
        expressions.extend(added);
    }
}

/// Guaranteed, burstable, or neither: by what the pod says of itself, or else by its containers. Those for a look inside have no say.
pub(crate) fn quality(spec: &Value) -> &'static str {
    let of_containers = || {
        let lists = ["containers", "initContainers"];
        let containers = lists
            .iter()
            .flat_map(|list| spec[*list].as_array().into_iter().flatten());
        containers.map(|container| &container["resources"]).collect()
    };
    let whole = &spec["resources"];
    let all: Vec<&Value> = if whole.is_object() {
        vec![whole]
    } else {
        of_containers()
    };
    let (mut any, mut guaranteed) = (false, true);
    for resources in all {
        let (requests, limits) = (&resources["requests"], &resources["limits"]);
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
    fn what_a_pod_shares_becomes_part_of_its_selectors() {
        let term =
            json!({ "labelSelector": {}, "matchLabelKeys": ["a", "absent"], "mismatchLabelKeys": ["b"] });
        let affinity = json!({ "podAffinity": { "preferredDuringSchedulingIgnoredDuringExecution": [{ "podAffinityTerm": term }] } });
        let mut pod = json!({ "metadata": { "labels": { "a": "1", "b": "2" } },
            "spec": { "affinity": affinity, "topologySpreadConstraints": [{ "matchLabelKeys": ["a"] }] } });
        select_by_own_labels(&mut pod);
        let expressions = "/spec/affinity/podAffinity/preferredDuringSchedulingIgnoredDuringExecution/0/podAffinityTerm/labelSelector/matchExpressions";
        let wanted = json!([{ "key": "a", "operator": "In", "values": ["1"] }, { "key": "b", "operator": "NotIn", "values": ["2"] }]);
        assert_eq!(pod.pointer(expressions), Some(&wanted));
        // Without a selector it selects nothing, and that it still does.
        assert_eq!(
            pod["spec"]["topologySpreadConstraints"],
            json!([{ "matchLabelKeys": ["a"] }])
        );
    }

    #[test]
    fn an_update_keeps_what_admission_gave() {
        let mut pod = json!({ "spec": { "containers": [] } });
        fill(&mut pod, None);
        pod["spec"]["priority"] = json!(7);
        let mut new = json!({ "spec": { "containers": [] }, "status": { "phase": "Running" } });
        fill(&mut new, Some(&pod));
        assert_eq!(new["spec"], pod["spec"]);
        assert_eq!(new["status"]["phase"], "Running");
    }
}
