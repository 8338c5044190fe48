//! What may change in a pod when its containers are resized.

use super::{Check, annotations, items, text};
use crate::field::FieldError;
use crate::strategy;
use serde_json::{Map, Value, json};

const SIZES: [&str; 2] = ["requests", "limits"];

pub(super) fn resize(check: &mut Check, pod: &Value, old: &Value) {
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
        return check.push(FieldError::forbidden("[]", detail));
    }
    let promised = match text(&old["status"], "qosClass") {
        "" => strategy::quality(before),
        class => class,
    };
    if strategy::quality(new) != promised {
        let detail = "Pod QOS Class may not change as a result of resizing";
        check.push(FieldError::invalid(
            "spec",
            text(&pod["status"], "qosClass"),
            detail,
        ));
    }
    // A node that resizes tells what its containers have.
    let mut running = items(&old["status"], "containerStatuses", "").map(|(status, _)| status);
    let first = running.find(|status| status["state"]["running"].is_object());
    if first.is_some_and(|status| status["resources"].is_null()) {
        let detail = "Pod running on node without support for resize";
        check.push(FieldError::forbidden("spec", detail));
    }
    let whole = sizes_of_pod(check, &new["resources"], &before["resources"]);
    if !same_containers(check, new, before) {
        return;
    }
    for list in ["initContainers", "containers"] {
        for ((now, path), before) in pairs(new, before, list) {
            kept(
                check,
                &now["resources"],
                &before["resources"],
                &format!("{path}.resources"),
                "resource",
            );
        }
    }
    for ((now, _), before) in pairs(new, before, "containers") {
        if masked(now, before) != settled(before) {
            check.push(FieldError::forbidden(
                "spec",
                "only cpu and memory resources are mutable",
            ));
        }
    }
    for ((now, path), before) in pairs(new, before, "initContainers") {
        if masked(now, before) != settled(before) {
            let detail = "only cpu and memory resources for init or sidecar containers are mutable";
            check.push(FieldError::forbidden(&path, detail));
        }
        if settled(now) != settled(before) && now["restartPolicy"] != "Always" {
            let restarts = |policy: &Value| policy["restartPolicy"] == "RestartContainer";
            let policies = items(now, "resizePolicy", "").map(|(policy, _)| policy);
            for _ in policies.filter(|policy| restarts(policy)) {
                let detail =
                    "non-sidecar init containers with a resize policy of RestartContainer cannot be resized";
                check.push(FieldError::forbidden(&path, detail));
            }
        }
    }
    if check.errors.is_empty() && whole != before["resources"] {
        check.push(FieldError::forbidden(
            "spec",
            "only cpu and memory resources are mutable",
        ));
    }
}

/// What a whole pod asks for, as far as it may not change.
fn sizes_of_pod(check: &mut Check, new: &Value, old: &Value) -> Value {
    let sizes = |resources: &Value| SIZES.iter().any(|list| !map(&resources[list]).is_empty());
    if !sizes(new) && !sizes(old) {
        return new.clone();
    }
    if new.is_null() {
        let detail = "pod-level resources cannot be removed";
        check.push(FieldError::forbidden("spec.resources", detail));
        return Value::Null;
    }
    kept(check, new, old, "spec.resources", "pod-level resource");
    let (mut now, mut before) = (new.clone(), old.clone());
    mask(&mut now, old);
    mask(&mut before, old);
    if now == before {
        return old.clone();
    }
    let detail = "only cpu and memory resources are mutable at pod-level";
    check.push(FieldError::forbidden("spec", detail));
    now
}

/// What was asked for is still.
fn kept(check: &mut Check, new: &Value, old: &Value, path: &str, of: &str) {
    for list in SIZES {
        if map(&old[list]).keys().any(|name| new[list][name].is_null()) {
            let detail = format!("{of} {list} cannot be removed");
            check.push(FieldError::forbidden(&format!("{path}.{list}"), detail));
        }
    }
}

fn same_containers(check: &mut Check, new: &Value, old: &Value) -> bool {
    let before = check.errors.len();
    for list in ["containers", "initContainers"] {
        let count = |spec: &Value| spec[list].as_array().map_or(0, Vec::len);
        if count(new) != count(old) {
            let detail = format!("{list} may not be added or removed on resize");
            check.push(FieldError::forbidden(&format!("spec.{list}"), detail));
            continue;
        }
        for ((now, path), before) in pairs(new, old, list) {
            if now["name"] != before["name"] {
                let detail = format!("{list} may not be renamed or reordered on resize");
                check.push(FieldError::forbidden(&format!("{path}.name"), detail));
            }
        }
    }
    check.errors.len() == before
}

fn pairs<'a>(
    new: &'a Value,
    old: &'a Value,
    list: &'a str,
) -> impl Iterator<Item = ((&'a Value, String), &'a Value)> {
    items(new, list, "spec").zip(items(old, list, "").map(|(container, _)| container))
}

/// A container whose processor and memory are those of another; claims are left out.
fn masked(container: &Value, old: &Value) -> Value {
    let mut masked = container.clone();
    let mut resources = json!({});
    for list in SIZES {
        resources[list] = container["resources"][list].clone();
    }
    mask(&mut resources, &old["resources"]);
    masked["resources"] = resources;
    masked
}

/// A container with what it asks for written out, though it be nothing.
fn settled(container: &Value) -> Value {
    let mut settled = container.clone();
    let own = container["resources"].clone();
    if !settled["resources"].is_object() {
        settled["resources"] = json!({});
    }
    mask(&mut settled["resources"], &own);
    settled
}

fn mask(resources: &mut Value, old: &Value) {
    for list in SIZES {
        let mut sizes = map(&resources[list]);
        for name in ["cpu", "memory"] {
            match &old[list][name] {
                Value::Null => sizes.remove(name),
                size => sizes.insert(name.to_owned(), size.clone()),
            };
        }
        resources[list] = Value::Object(sizes);
    }
}

fn map(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}
