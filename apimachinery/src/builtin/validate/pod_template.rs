//! Validation of the selector and pod template of workloads.

use super::{Check, array, fields, names, pod, text};
use crate::selectors::LabelSelector;
use serde_json::Value;

const NO_MATCH: &str = "`selector` does not match template `labels`";

/// Validates a required, non-empty selector and the template that it must match.
pub(super) fn validate_selector_and_template(check: &mut Check, spec: &Value, kind: &str) {
    let selector = &spec["selector"];
    if selector.is_null() {
        check.required("spec.selector", "");
    } else {
        check.validate_label_selector(selector, "spec.selector");
        if is_empty(selector) {
            check.invalid(
                "spec.selector",
                selector.clone(),
                format!("empty selector is invalid for {kind}"),
            );
        }
    }
    if is_valid(selector) {
        require_selector_match(check, spec);
        validate_template(check, &spec["template"], kind);
        if kind != "statefulset" {
            require_restart_always(check, spec, "ReplicaSet");
        }
    } else {
        check.invalid(
            "spec.selector",
            selector.clone(),
            if kind == "statefulset" {
                ""
            } else {
                "invalid label selector"
            },
        );
    }
    // Of a StatefulSet, this does not depend on the selector.
    if kind == "statefulset" {
        require_restart_always(check, spec, "StatefulSet");
    }
}

fn validate_template(check: &mut Check, template: &Value, kind: &str) {
    const PATH: &str = "spec.template";
    if kind != "statefulset" {
        return pod::validate_template(check, template, PATH);
    }
    let mut template = template.clone();
    if let Some(spec) = template.get_mut("spec").and_then(Value::as_object_mut) {
        // The controller sets them.
        spec.remove("subdomain");
        spec.remove("hostname");
    }
    pod::validate_template(check, &template, PATH);
}

/// Requires the template's pods to always restart. `kind` is the kind that kube-apiserver's message names.
pub(super) fn require_restart_always(check: &mut Check, spec: &Value, kind: &str) {
    if let Some(policy) = spec["template"]["spec"]["restartPolicy"]
        .as_str()
        .filter(|policy| *policy != "Always")
    {
        check.not_supported("spec.template.spec.restartPolicy", policy, ["Always"]);
    }
    if spec["template"]["spec"]["activeDeadlineSeconds"].is_number() {
        let detail = format!("activeDeadlineSeconds in {kind} is not Supported");
        check.forbidden("spec.template.spec.activeDeadlineSeconds", detail);
    }
}

pub(super) fn require_selector_match(check: &mut Check, spec: &Value) {
    let labels = &spec["template"]["metadata"]["labels"];
    if is_valid(&spec["selector"]) && !matches(&spec["selector"], labels) {
        push_selector_mismatch(check, labels);
    }
}

pub(super) fn push_selector_mismatch(check: &mut Check, labels: &Value) {
    let path = "spec.template.metadata.labels";
    check.invalid(path, labels.clone(), NO_MATCH);
}

pub(super) fn is_empty(selector: &Value) -> bool {
    let is_empty_field = |name: &str| match &selector[name] {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => true,
    };
    selector.is_object() && is_empty_field("matchLabels") && is_empty_field("matchExpressions")
}

/// Whether the selector is valid.
pub(super) fn is_valid(selector: &Value) -> bool {
    let requirement = |requirement: &Value| {
        let has_values = !array(&requirement["values"]).is_empty();
        let fits = match text(requirement, "operator") {
            "In" | "NotIn" => has_values,
            "Exists" | "DoesNotExist" => !has_values,
            _ => false,
        };
        let is_valid_value = |value: &Value| value.as_str().is_none_or(names::is_label_value);
        fits && names::is_label_key(text(requirement, "key"))
            && array(&requirement["values"]).iter().all(is_valid_value)
    };
    let label = |(key, value): (&String, &Value)| {
        names::is_label_key(key) && value.as_str().is_some_and(names::is_label_value)
    };
    fields(&selector["matchLabels"]).all(label)
        && array(&selector["matchExpressions"]).iter().all(requirement)
}

/// Whether a valid label selector matches these labels. A missing selector matches nothing.
pub(super) fn matches(selector: &Value, labels: &Value) -> bool {
    let parsed = LabelSelector::from_value(selector).filter(|_| selector.is_object());
    parsed.is_some_and(|selector| selector.matches_labels(labels.as_object()))
}
