//! Validation of pod updates.

use super::{Check, annotations, array, changed_fields, fields, items, set_or_remove, text};
use serde_json::{Map, Value};

/// Validates an update: only images, the deadline and tolerations may change.
pub(super) fn validate_pod_update(check: &mut Check, new: &Value, old: &Value) {
    const DETAIL: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,\
                          `spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),\
                          `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
    for list in ["containers", "initContainers"] {
        let count = |spec: &Value| array(&spec[list]).len();
        if count(new) != count(old) {
            check.forbidden(
                &format!("spec.{list}"),
                "pod updates may not add or remove containers",
            );
            return;
        }
    }
    let (before, after) = (
        old["activeDeadlineSeconds"].as_i64(),
        new["activeDeadlineSeconds"].as_i64(),
    );
    if let Some(after) = after.filter(|after| !(0..=i64::from(i32::MAX)).contains(after)) {
        let detail = "must be between 0 and 2147483647, inclusive";
        return check.invalid("spec.activeDeadlineSeconds", after, detail);
    }
    match (before, after) {
        (Some(before), Some(after)) if after > before => {
            check.invalid(
                "spec.activeDeadlineSeconds",
                after,
                "must be less than or equal to previous value",
            );
            return;
        }
        (Some(_), None) => {
            let detail = "must not update from a positive integer to nil value";
            check.invalid("spec.activeDeadlineSeconds", Value::Null, detail);
        }
        _ => {}
    }
    validate_added_tolerations(check, new, old);
    validate_removed_gates(check, new, old);
    let is_gated = !array(&old["schedulingGates"]).is_empty();
    if is_gated {
        validate_gated_pod_placement(check, new, old);
    }
    let munged = with_old_mutable_fields(new, old, is_gated);
    if munged != *old {
        let changes = changed_fields(old, &munged, "spec");
        check.forbidden("spec", format!("{DETAIL} {changes}"));
    }
}

/// Validates an update of ephemeral containers: they may be added, but not changed or removed.
pub(super) fn validate_ephemeral_containers_update(check: &mut Check, pod: &Value, old: &Value) {
    const LIST: &str = "ephemeralContainers";
    const PATH: &str = "spec.ephemeralContainers";
    annotations::validate_annotations_update(check, pod, old);
    if annotations::is_mirror(old) {
        check.errors.clear();
        return check.forbidden("[]", "static pods do not support ephemeral containers");
    }
    for (before, path) in items(&old["spec"], LIST, "spec") {
        let name = crate::quote::quoted(text(before, "name"));
        let now = items(&pod["spec"], LIST, "").map(|(now, _)| now);
        let detail = match now.filter(|now| now["name"] == before["name"]).last() {
            None => format!("existing ephemeral containers {name} may not be removed\n"),
            Some(now) if now != before => {
                let changes = changed_fields(before, now, &path);
                format!("existing ephemeral containers {name} may not be changed {changes}")
            }
            Some(_) => continue,
        };
        check.forbidden(PATH, detail);
    }
}

/// Returns the new spec with mutable fields reset to the old values.
fn with_old_mutable_fields(new: &Value, old: &Value, is_gated: bool) -> Value {
    let mut munged = new.clone();
    for list in ["containers", "initContainers"] {
        let containers = munged.get_mut(list).and_then(Value::as_array_mut);
        for (index, container) in containers.into_iter().flatten().enumerate() {
            container["image"] = old[list][index]["image"].clone();
        }
    }
    let negative = old["terminationGracePeriodSeconds"]
        .as_i64()
        .is_some_and(|seconds| seconds < 0);
    if let Some(spec) = munged.as_object_mut() {
        let mut kept = vec!["activeDeadlineSeconds", "tolerations", "schedulingGates"];
        if negative && new["terminationGracePeriodSeconds"] == 1 {
            kept.push("terminationGracePeriodSeconds");
        }
        if is_gated {
            kept.push("nodeSelector");
            copy_node_affinity(spec, old);
        }
        for name in kept {
            set_or_remove(spec, name, &old[name]);
        }
    }
    munged
}

/// Sets the node affinity of a pod spec to that of another.
pub(super) fn copy_node_affinity(spec: &mut Map<String, Value>, other: &Value) {
    let affinity = spec.get("affinity").and_then(Value::as_object);
    let mut affinity = affinity.cloned().unwrap_or_default();
    set_or_remove(&mut affinity, "nodeAffinity", &other["affinity"]["nodeAffinity"]);
    if affinity.is_empty() && other["affinity"].is_null() {
        spec.remove("affinity");
    } else {
        spec.insert("affinity".to_owned(), affinity.into());
    }
}

/// Validates node selector and affinity of a pod with scheduling gates, which may only become narrower.
fn validate_gated_pod_placement(check: &mut Check, new: &Value, old: &Value) {
    let mut labels = fields(&old["nodeSelector"]);
    if labels.any(|(key, value)| new["nodeSelector"].get(key) != Some(value)) {
        let selected = new["nodeSelector"].as_object().cloned().unwrap_or_default();
        let detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        check.invalid("spec.nodeSelector", selected, detail);
    }
    let terms = |spec: &Value| -> Vec<Value> {
        let nodes = &spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
        nodes["nodeSelectorTerms"].as_array().cloned().unwrap_or_default()
    };
    let path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    let (before, after) = (terms(old), terms(new));
    if !before.is_empty() && before.len() != after.len() {
        let detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        return check.invalid(path, after, detail);
    }
    for (index, (before, after)) in before.iter().zip(&after).enumerate() {
        let count = |term: &Value, list: &str| array(&term[list]).len();
        let lists = ["matchExpressions", "matchFields"];
        let was_empty = lists.iter().all(|list| count(before, list) == 0);
        let only_adds = lists.iter().all(|list| {
            let kept = items(before, list, "").map(|(item, _)| item);
            let now = items(after, list, "")
                .map(|(item, _)| item)
                .take(count(before, list));
            kept.eq(now) && !(was_empty && count(after, list) > 0)
        });
        if !only_adds {
            let (detail, path) = (
                "only additions are allowed (no mutations or deletions)",
                format!("{path}[{index}]"),
            );
            check.invalid(&path, after.clone(), detail);
        }
    }
}

fn validate_added_tolerations(check: &mut Check, new: &Value, old: &Value) {
    let is_kept = |toleration: &Value| {
        let same = |other: &Value| {
            let mut names = ["key", "operator", "value", "effect"].into_iter();
            names.all(|name| other[name] == toleration[name])
        };
        array(&new["tolerations"]).iter().any(same)
    };
    if !array(&old["tolerations"]).iter().all(is_kept) {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        check.forbidden("spec.tolerations", detail);
    }
}

fn validate_removed_gates(check: &mut Check, new: &Value, old: &Value) {
    for (gate, path) in items(new, "schedulingGates", "spec") {
        let name = text(gate, "name");
        if !items(old, "schedulingGates", "spec").any(|(gate, _)| text(gate, "name") == name) {
            let detail = format!("only deletion is allowed, but found new scheduling gate '{name}'");
            check.forbidden(&format!("{path}.name"), detail);
        }
    }
}
