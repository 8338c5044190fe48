//! The strategy of Pods: the initial status, and fields that follow from others.

use crate::builtin::qos_class;
use crate::meta::{self, text};
use serde_json::{Value, json};

/// Sets the initial status of a pod, and the fields that follow from others.
pub(super) fn prepare(pod: &mut Value, old: Option<&Value>) {
    let spec = meta::entry_mut(pod, "spec");
    if spec
        .get("terminationGracePeriodSeconds")
        .and_then(Value::as_i64)
        .is_some_and(|seconds| seconds < 0)
    {
        spec.insert("terminationGracePeriodSeconds".into(), json!(1));
    }
    if old.is_some() {
        return;
    }
    merge_label_keys(pod);
    copy_app_armor_annotations(pod);
    let gates = pod["spec"]["schedulingGates"].as_array();
    let is_gated = gates.is_some_and(|gates| !gates.is_empty());
    // A class in the body is kept, as by kube-apiserver.
    let class = match text(&pod["status"], "qosClass") {
        "" => json!(qos_class(&pod["spec"])),
        class => json!(class),
    };
    pod["status"] = json!({ "phase": "Pending", "qosClass": class });
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

/// The annotation that set a pod's seccomp profile before there was a field.
pub(crate) const SECCOMP_POD_ANNOTATION: &str = "seccomp.security.alpha.kubernetes.io/pod";
/// The prefix of annotations that set a container's seccomp profile before there was a field.
pub(crate) const SECCOMP_ANNOTATION_PREFIX: &str = "container.seccomp.security.alpha.kubernetes.io/";
/// The prefix of annotations that set a container's AppArmor profile.
pub(crate) const APP_ARMOR_ANNOTATION_PREFIX: &str = "container.apparmor.security.beta.kubernetes.io/";

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
}
