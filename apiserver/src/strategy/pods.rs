//! The strategy of Pods: default admission plugins and the initial status.

use crate::meta::{self, text};
use serde_json::{Map, Value, json};

/// Applies the default admission plugins to a pod, and sets its initial status.
pub(super) fn prepare(pod: &mut Value, old: Option<&Value>) {
    let spec = meta::entry_mut(pod, "spec");
    add_default_tolerations(spec);
    if spec
        .get("terminationGracePeriodSeconds")
        .and_then(Value::as_i64)
        .is_some_and(|seconds| seconds < 0)
    {
        spec.insert("terminationGracePeriodSeconds".into(), json!(1));
    }
    if let Some(old) = old {
        // Keep what admission set at creation.
        for key in ["priority", "preemptionPolicy"] {
            if spec.get(key).is_none_or(Value::is_null) && !old["spec"][key].is_null() {
                spec.insert(key.to_owned(), old["spec"][key].clone());
            }
        }
        return;
    }
    merge_label_keys(pod);
    copy_app_armor_annotations(pod);
    let gates = pod["spec"]["schedulingGates"].as_array();
    let is_gated = gates.is_some_and(|gates| !gates.is_empty());
    pod["status"] = json!({ "phase": "Pending", "qosClass": qos_class(&pod["spec"]) });
    if is_gated {
        pod["status"]["conditions"] = json!([{
            "type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "lastProbeTime": null,
            "message": "Scheduling is blocked due to non-empty scheduling gates", "lastTransitionTime": meta::now(),
        }]);
    }
}

/// Preserves fields that a status update omits: the QoS class, and the observed generations.
pub(crate) fn preserve_pod_status(status: &mut Value, old: &Value) {
    let before = &old["qosClass"];
    if !before.is_null() && text(status, "qosClass").is_empty() {
        status["qosClass"] = before.clone();
    }
    preserve_observed_generation(status, old);
    let mut conditions: Vec<&Value> = old["conditions"].as_array().into_iter().flatten().collect();
    let new = status.get_mut("conditions").and_then(Value::as_array_mut);
    for condition in new.into_iter().flatten() {
        // Of several conditions with the same type, each corresponds to one.
        let same = conditions
            .iter()
            .position(|old| text(old, "type") == text(condition, "type"));
        if let Some(old) = same.map(|index| conditions.remove(index)) {
            preserve_observed_generation(condition, old);
        }
    }
}

fn preserve_observed_generation(new: &mut Value, old: &Value) {
    const KEY: &str = "observedGeneration";
    let is_set = |object: &Value| object[KEY].as_i64().is_some_and(|generation| generation != 0);
    if !is_set(new) && is_set(old) {
        new[KEY] = old[KEY].clone();
    }
}

/// Adds the default tolerations for nodes that are not ready or unreachable (DefaultTolerationSeconds).
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

/// Merges `matchLabelKeys` and `mismatchLabelKeys` of affinity terms and spread constraints into their label selectors.
fn merge_label_keys(pod: &mut Value) {
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
                    Some(term) => merge_label_keys_into_selector(term, &labels),
                    None => merge_label_keys_into_selector(term, &labels),
                }
            }
        }
    }
    let spread = spec
        .get_mut("topologySpreadConstraints")
        .and_then(Value::as_array_mut);
    for constraint in spread.into_iter().flatten() {
        merge_label_keys_into_selector(constraint, &labels);
    }
}

/// The prefix of annotations that set a container's AppArmor profile.
pub(super) const APP_ARMOR_ANNOTATION_PREFIX: &str = "container.apparmor.security.beta.kubernetes.io/";

/// Parses the profile of an AppArmor annotation.
pub(super) fn parse_app_armor_profile(annotation: &str) -> Option<Value> {
    const MAX_PROFILE_BYTES: usize = 4095;
    match annotation {
        "unconfined" => Some(json!({ "type": "Unconfined" })),
        "runtime/default" => Some(json!({ "type": "RuntimeDefault" })),
        _ => annotation
            .strip_prefix("localhost/")
            .filter(|file| !file.is_empty() && file.trim() == *file && file.len() <= MAX_PROFILE_BYTES)
            .map(|file| json!({ "type": "Localhost", "localhostProfile": file })),
    }
}

/// Copies AppArmor annotations to the fields of containers without a profile, if it differs from the pod's.
fn copy_app_armor_annotations(pod: &mut Value) {
    if pod["spec"]["os"]["name"] == "windows" {
        return;
    }
    let annotations = pod["metadata"]["annotations"].clone();
    let pod_profile = pod["spec"]["securityContext"]["appArmorProfile"].clone();
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        let containers = pod["spec"].get_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let name = container["name"].as_str().unwrap_or_default();
            let annotation = annotations[format!("{APP_ARMOR_ANNOTATION_PREFIX}{name}")].as_str();
            if let Some(profile) = annotation.and_then(parse_app_armor_profile)
                && container["securityContext"]["appArmorProfile"].is_null()
                && profile != pod_profile
            {
                meta::entry_mut(container, "securityContext").insert("appArmorProfile".into(), profile);
            }
        }
    }
}

fn merge_label_keys_into_selector(term: &mut Value, labels: &Value) {
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

/// Returns the QoS class of a pod: from pod-level resources, or else from its containers. Ephemeral containers do not count.
pub(crate) fn qos_class(spec: &Value) -> &'static str {
    let container_resources = || {
        let lists = ["containers", "initContainers"];
        let containers = lists
            .iter()
            .flat_map(|list| spec[*list].as_array().into_iter().flatten());
        containers.map(|container| &container["resources"]).collect()
    };
    let pod_resources = &spec["resources"];
    let resources_list: Vec<&Value> = if pod_resources.is_object() {
        vec![pod_resources]
    } else {
        container_resources()
    };
    let (mut has_any, mut guaranteed) = (false, true);
    for resources in resources_list {
        let (requests, limits) = (&resources["requests"], &resources["limits"]);
        for resource in ["cpu", "memory"] {
            has_any |= is_positive(&requests[resource]) || is_positive(&limits[resource]);
            guaranteed &= is_positive(&limits[resource]) && requests[resource] == limits[resource];
        }
    }
    match (has_any, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

/// Whether a quantity is greater than zero.
fn is_positive(quantity: &Value) -> bool {
    let text = quantity
        .as_str()
        .map_or_else(|| quantity.to_string(), str::to_owned);
    let number = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    number.bytes().any(|byte| matches!(byte, b'1'..=b'9'))
}

/// Keeps `serviceAccountName` and the deprecated `serviceAccount` equal; the former wins.
pub(super) fn sync_service_account_names(spec: &mut Value) {
    let Value::Object(spec) = spec else { return };
    let name_of = |spec: &serde_json::Map<String, Value>, key: &str| {
        spec.get(key)
            .and_then(Value::as_str)
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
    };
    if let Some(name) = name_of(spec, "serviceAccountName").or_else(|| name_of(spec, "serviceAccount")) {
        spec.insert("serviceAccountName".into(), json!(name));
        spec.insert("serviceAccount".into(), json!(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qos_class_ignores_zero_quantities() {
        let class_of = |requests: Value, limits: Value| {
            let container = json!({ "resources": { "requests": requests, "limits": limits } });
            qos_class(&json!({ "containers": [container] }))
        };
        assert_eq!(class_of(json!({ "cpu": "0" }), json!(null)), "BestEffort");
        assert_eq!(class_of(json!({ "cpu": "100m" }), json!(null)), "Burstable");
        let both = json!({ "cpu": 1, "memory": "1Gi" });
        assert_eq!(class_of(both.clone(), both), "Guaranteed");
    }

    #[test]
    fn label_keys_are_merged_into_selectors() {
        let term =
            json!({ "labelSelector": {}, "matchLabelKeys": ["a", "absent"], "mismatchLabelKeys": ["b"] });
        let affinity = json!({ "podAffinity": { "preferredDuringSchedulingIgnoredDuringExecution": [{ "podAffinityTerm": term }] } });
        let mut pod = json!({ "metadata": { "labels": { "a": "1", "b": "2" } },
            "spec": { "affinity": affinity, "topologySpreadConstraints": [{ "matchLabelKeys": ["a"] }] } });
        merge_label_keys(&mut pod);
        let expressions = "/spec/affinity/podAffinity/preferredDuringSchedulingIgnoredDuringExecution/0/podAffinityTerm/labelSelector/matchExpressions";
        let expected = json!([{ "key": "a", "operator": "In", "values": ["1"] }, { "key": "b", "operator": "NotIn", "values": ["2"] }]);
        assert_eq!(pod.pointer(expressions), Some(&expected));
        // A missing selector selects nothing; that does not change.
        assert_eq!(
            pod["spec"]["topologySpreadConstraints"],
            json!([{ "matchLabelKeys": ["a"] }])
        );
    }

    #[test]
    fn update_keeps_what_admission_set() {
        let mut pod = json!({ "spec": { "containers": [] } });
        prepare(&mut pod, None);
        pod["spec"]["priority"] = json!(7);
        let mut new = json!({ "spec": { "containers": [] }, "status": { "phase": "Running" } });
        prepare(&mut new, Some(&pod));
        assert_eq!(new["spec"], pod["spec"]);
        assert_eq!(new["status"]["phase"], "Running");
    }
}
