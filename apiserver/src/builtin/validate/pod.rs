//! Pods and their templates.

use super::{Check, container, items, names, scheduling, text, volume};
use crate::field::FieldError;
use crate::types;
use serde_json::{Value, json};
use std::collections::BTreeSet;

pub(super) fn pod(check: &mut Check, pod: &Value, old: Option<&Value>) {
    spec(check, &pod["spec"], "spec");
    if let Some(old) = old {
        update(check, &pod["spec"], &old["spec"]);
    }
}

/// A template that lies at the top of its kind.
pub(super) fn template_at(check: &mut Check, template: &Value, path: &str) {
    self::template(check, template, path);
}

/// A template with its labels.
pub(super) fn template(check: &mut Check, template: &Value, path: &str) {
    // The real server leaves `metadata` out of these paths.
    check.metadata(&template["metadata"], path, true);
    spec(check, &template["spec"], &format!("{path}.spec"));
}

fn spec(check: &mut Check, spec: &Value, path: &str) {
    let volumes = volume::volumes(check, spec, path);
    let mut names_seen = BTreeSet::new();
    if check.required(&spec["containers"], &format!("{path}.containers")) {
        container::containers(check, spec, "containers", path, &mut names_seen, &volumes);
    }
    container::containers(check, spec, "initContainers", path, &mut names_seen, &volumes);
    check.one_of(spec, "restartPolicy", path, &["Always", "OnFailure", "Never"]);
    check.one_of(
        spec,
        "dnsPolicy",
        path,
        &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"],
    );
    check.labels(&spec["nodeSelector"], &format!("{path}.nodeSelector"));
    for name in ["hostname", "subdomain"] {
        if let Some(value) = spec[name].as_str().filter(|value| !value.is_empty()) {
            check.messages(&format!("{path}.{name}"), value, &names::label(value));
        }
    }
    if let Some(account) = spec["serviceAccountName"]
        .as_str()
        .filter(|account| !account.is_empty())
    {
        check.messages(
            &format!("{path}.serviceAccountName"),
            account,
            &names::subdomain(account),
        );
    }
    if let Some(seconds) = spec["activeDeadlineSeconds"]
        .as_i64()
        .filter(|seconds| !(1..=i64::from(i32::MAX)).contains(seconds))
    {
        let field = format!("{path}.activeDeadlineSeconds");
        check.push(FieldError::invalid(
            &field,
            seconds,
            "must be between 1 and 2147483647, inclusive",
        ));
    }
    tolerations(check, spec, path);
    scheduling::scheduling(check, spec, path);
}

fn tolerations(check: &mut Check, spec: &Value, path: &str) {
    for (toleration, path) in items(spec, "tolerations", path) {
        let operator = text(toleration, "operator");
        let field = format!("{path}.operator");
        let key = text(toleration, "key");
        if key.is_empty() && operator != "Exists" {
            let detail =
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            check.push(FieldError::invalid(&field, operator, detail));
        } else if !key.is_empty() {
            check.messages(&format!("{path}.key"), key, &names::qualified(key));
        }
        let value = text(toleration, "value");
        match operator {
            "" | "Equal" => {
                let why = names::label_value(value);
                if !why.is_empty() {
                    check.push(FieldError::invalid(&field, value, why.join(";")));
                }
            }
            "Exists" if !value.is_empty() => {
                let detail = "value must be empty when `operator` is 'Exists'";
                check.push(FieldError::invalid(&field, value, detail));
            }
            "Exists" => {}
            "Lt" | "Gt" => {
                let known = ["Equal", "Exists", "Lt", "Gt"];
                check.push(FieldError::not_supported(&field, operator, known));
            }
            _ => check.push(FieldError::not_supported(&field, operator, ["Equal", "Exists"])),
        }
        let effect = text(toleration, "effect");
        if !toleration["tolerationSeconds"].is_null() && effect != "NoExecute" {
            let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            check.push(FieldError::invalid(&format!("{path}.effect"), effect, detail));
        }
        if !effect.is_empty() {
            let known = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
            check.one_of(toleration, "effect", &path, &known);
        }
    }
}

/// A pod is what it was, but for images, a deadline and more tolerations. The real server adds a diff of its own types.
fn update(check: &mut Check, new: &Value, old: &Value) {
    const DETAIL: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,\
                          `spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),\
                          `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
    for list in ["containers", "initContainers"] {
        let count = |spec: &Value| spec[list].as_array().map_or(0, Vec::len);
        if count(new) != count(old) {
            check.push(FieldError::forbidden(
                &format!("spec.{list}"),
                "pod updates may not add or remove containers",
            ));
            return;
        }
        // That they have one is checked of all pods, and here again.
        for (container, path) in items(new, list, "spec") {
            check.required(&container["image"], &format!("{path}.image"));
        }
    }
    let (before, after) = (
        old["activeDeadlineSeconds"].as_i64(),
        new["activeDeadlineSeconds"].as_i64(),
    );
    match (before, after) {
        (Some(before), Some(after)) if after > before => {
            check.push(FieldError::invalid(
                "spec.activeDeadlineSeconds",
                after,
                "must be less than or equal to previous value",
            ));
            return;
        }
        (Some(_), None) => {
            let detail = "must not update from a positive integer to nil value";
            check.push(FieldError::invalid(
                "spec.activeDeadlineSeconds",
                Value::Null,
                detail,
            ));
        }
        _ => {}
    }
    only_added_tolerations(check, new, old);
    only_removed_gates(check, new, old);
    let munged = munged(new, old);
    if munged != *old {
        let munged = self::munged(&check.empties.restored(new, "spec"), old);
        let detail = format!("{DETAIL}\n{}", types::difference(old, &munged, "core.PodSpec"));
        check.push(FieldError::forbidden("spec", detail));
    }
}

/// The new specification, with the old one's fields where they may change.
fn munged(new: &Value, old: &Value) -> Value {
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
    if let Some(fields) = munged.as_object_mut() {
        let mut kept = vec!["activeDeadlineSeconds", "tolerations", "schedulingGates"];
        if negative && new["terminationGracePeriodSeconds"] == 1 {
            kept.push("terminationGracePeriodSeconds");
        }
        for name in kept {
            match old.get(name) {
                Some(value) => fields.insert(name.to_owned(), value.clone()),
                None => fields.remove(name),
            };
        }
    }
    munged
}

fn only_added_tolerations(check: &mut Check, new: &Value, old: &Value) {
    let kept = |toleration: &Value| {
        let same = |other: &Value| {
            let but_time = |toleration: &Value| {
                json!([
                    toleration["key"],
                    toleration["operator"],
                    toleration["value"],
                    toleration["effect"]
                ])
            };
            but_time(other) == but_time(toleration)
        };
        new["tolerations"]
            .as_array()
            .is_some_and(|tolerations| tolerations.iter().any(same))
    };
    if old["tolerations"]
        .as_array()
        .is_some_and(|tolerations| !tolerations.iter().all(kept))
    {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        check.push(FieldError::forbidden("spec.tolerations", detail));
    }
}

fn only_removed_gates(check: &mut Check, new: &Value, old: &Value) {
    for (gate, path) in items(new, "schedulingGates", "spec") {
        let name = text(gate, "name");
        let known = old["schedulingGates"]
            .as_array()
            .is_some_and(|gates| gates.contains(gate));
        if !known {
            let detail = format!("only deletion is allowed, but found new scheduling gate '{name}'");
            check.push(FieldError::forbidden(&path, detail));
        }
    }
}
