//! Validation of the `resize` subresource of pods.

use super::{Check, annotations, array, items, set_or_remove, text};
use crate::builtin::qos_class;
use serde_json::{Map, Value, json};

const RESOURCE_LISTS: [&str; 2] = ["requests", "limits"];

pub(super) fn validate_resize(check: &mut Check, pod: &Value, old: &Value) {
    let (new, before) = (&pod["spec"], &old["spec"]);
    let unsupported = if annotations::is_mirror(old) {
        Some("static pods cannot be resized")
    } else if before["os"]["name"] == "windows" {
        Some("windows pods cannot be resized")
    } else {
        None
    };
    if let Some(detail) = unsupported {
        check.errors.clear();
        return check.forbidden("[]", detail);
    }
    let expected_class = match text(&old["status"], "qosClass") {
        "" => qos_class(before),
        class => class,
    };
    if qos_class(new) != expected_class {
        let detail = "Pod QOS Class may not change as a result of resizing";
        check.invalid("spec", text(&pod["status"], "qosClass"), detail);
    }
    // A kubelet that supports resizing reports the resources of its containers.
    let mut running = items(&old["status"], "containerStatuses", "").map(|(status, _)| status);
    let first = running.find(|status| status["state"]["running"].is_object());
    if first.is_some_and(|status| status["resources"].is_null()) {
        check.forbidden("spec", "Pod running on node without support for resize");
    }
    let munged_pod_resources = validate_pod_level_resources(check, &new["resources"], &before["resources"]);
    if !validate_container_names(check, new, before) {
        return;
    }
    for list in ["initContainers", "containers"] {
        for ((updated, path), before) in container_pairs(new, before, list) {
            reject_removed_resources(
                check,
                &updated["resources"],
                &before["resources"],
                &format!("{path}.resources"),
                "resource",
            );
        }
    }
    for ((updated, _), before) in container_pairs(new, before, "containers") {
        if with_old_cpu_and_memory(updated, before) != with_explicit_resources(before) {
            check.forbidden("spec", "only cpu and memory resources are mutable");
        }
    }
    for ((updated, path), before) in container_pairs(new, before, "initContainers") {
        if with_old_cpu_and_memory(updated, before) != with_explicit_resources(before) {
            let detail = "only cpu and memory resources for init or sidecar containers are mutable";
            check.forbidden(&path, detail);
        }
        if with_explicit_resources(updated) != with_explicit_resources(before)
            && updated["restartPolicy"] != "Always"
        {
            let restarts = |policy: &Value| policy["restartPolicy"] == "RestartContainer";
            let mut policies = items(updated, "resizePolicy", "").map(|(policy, _)| policy);
            if policies.any(restarts) {
                let detail =
                    "non-sidecar init containers with a resize policy of RestartContainer cannot be resized";
                check.forbidden(&path, detail);
            }
        }
    }
    if check.errors.is_empty() && munged_pod_resources != before["resources"] {
        check.forbidden("spec", "only cpu and memory resources are mutable");
    }
}

/// Returns the pod-level resources with mutable ones reset to the old values, after validating them.
fn validate_pod_level_resources(check: &mut Check, new: &Value, old: &Value) -> Value {
    let sizes = |resources: &Value| {
        RESOURCE_LISTS
            .iter()
            .any(|list| !resource_map(&resources[list]).is_empty())
    };
    if !sizes(new) && !sizes(old) {
        return new.clone();
    }
    if new.is_null() {
        check.forbidden("spec.resources", "pod-level resources cannot be removed");
        return Value::Null;
    }
    reject_removed_resources(check, new, old, "spec.resources", "pod-level resource");
    let (mut updated, mut before) = (new.clone(), old.clone());
    set_cpu_and_memory(&mut updated, old);
    set_cpu_and_memory(&mut before, old);
    if updated == before {
        return old.clone();
    }
    check.forbidden("spec", "only cpu and memory resources are mutable at pod-level");
    updated
}

/// Rejects the removal of resources.
fn reject_removed_resources(check: &mut Check, new: &Value, old: &Value, path: &str, what: &str) {
    for list in RESOURCE_LISTS {
        if resource_map(&old[list])
            .keys()
            .any(|name| new[list][name].is_null())
        {
            let detail = format!("{what} {list} cannot be removed");
            check.forbidden(&format!("{path}.{list}"), detail);
        }
    }
}

fn validate_container_names(check: &mut Check, new: &Value, old: &Value) -> bool {
    let before = check.errors.len();
    for list in ["containers", "initContainers"] {
        let count = |spec: &Value| array(&spec[list]).len();
        if count(new) != count(old) {
            let detail = format!("{list} may not be added or removed on resize");
            check.forbidden(&format!("spec.{list}"), detail);
            continue;
        }
        for ((updated, path), before) in container_pairs(new, old, list) {
            if updated["name"] != before["name"] {
                let detail = format!("{list} may not be renamed or reordered on resize");
                check.forbidden(&format!("{path}.name"), detail);
            }
        }
    }
    check.errors.len() == before
}

fn container_pairs<'a>(
    new: &'a Value,
    old: &'a Value,
    list: &'a str,
) -> impl Iterator<Item = ((&'a Value, String), &'a Value)> {
    items(new, list, "spec").zip(items(old, list, "").map(|(container, _)| container))
}

/// Returns a container with the CPU and memory of another one and without claims.
fn with_old_cpu_and_memory(container: &Value, old: &Value) -> Value {
    let mut result = container.clone();
    let mut resources = json!({});
    for list in RESOURCE_LISTS {
        resources[list] = container["resources"][list].clone();
    }
    set_cpu_and_memory(&mut resources, &old["resources"]);
    result["resources"] = resources;
    result
}

/// Returns a container with explicit requests and limits, even if they are empty.
fn with_explicit_resources(container: &Value) -> Value {
    let mut result = container.clone();
    let own = container["resources"].clone();
    if !result["resources"].is_object() {
        result["resources"] = json!({});
    }
    set_cpu_and_memory(&mut result["resources"], &own);
    result
}

fn set_cpu_and_memory(resources: &mut Value, old: &Value) {
    for list in RESOURCE_LISTS {
        let mut sizes = resource_map(&resources[list]);
        for name in ["cpu", "memory"] {
            set_or_remove(&mut sizes, name, &old[list][name]);
        }
        resources[list] = Value::Object(sizes);
    }
}

fn resource_map(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}
