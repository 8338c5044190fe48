//! Validation of an autoscaler's metrics and scaling behavior.

use super::container::{self, quantity_value};
use super::{Check, items, names, policy, text};
use crate::field::FieldError;
use serde_json::Value;

const METRIC_TYPES: [&str; 5] = ["ContainerResource", "External", "Object", "Pods", "Resource"];
/// The metric sources in the order of validation.
const METRIC_SOURCES: [&str; 5] = ["object", "external", "pods", "resource", "containerResource"];

pub(super) fn validate_metrics(check: &mut Check, spec: &Value) {
    for (metric, path) in items(spec, "metrics", "spec") {
        let kind = text(metric, "type");
        if kind.is_empty() {
            let detail = "must specify a metric source type";
            check.push(FieldError::required(&format!("{path}.type"), detail));
        }
        if !METRIC_TYPES.contains(&kind) {
            check.push(FieldError::not_supported(
                &format!("{path}.type"),
                kind,
                METRIC_TYPES,
            ));
        }
        let present: Vec<&str> = METRIC_SOURCES
            .into_iter()
            .filter(|name| metric[*name].is_object())
            .collect();
        if let Some(name) = present.first() {
            validate_metric_source(check, &metric[*name], name, &format!("{path}.{name}"));
        }
        let expected = METRIC_SOURCES
            .into_iter()
            .find(|name| name.eq_ignore_ascii_case(kind));
        if let Some(expected) = expected.filter(|expected| !present.contains(expected)) {
            let detail = "must populate information for the given metric source";
            check.push(FieldError::required(&format!("{path}.{expected}"), detail));
        }
        if present.len() > 1 {
            for name in present.into_iter().filter(|name| Some(*name) != expected) {
                let detail = "must populate the given metric source only";
                check.push(FieldError::forbidden(&format!("{path}.{name}"), detail));
            }
        }
    }
}

fn validate_metric_source(check: &mut Check, source: &Value, name: &str, path: &str) {
    match name {
        "object" => {
            let (described, field) = (&source["describedObject"], format!("{path}.describedObject"));
            policy::validate_object_reference(check, described, &field);
            policy::validate_api_version(check, described, &field, true);
            validate_metric(check, &source["metric"], &format!("{path}.metric"));
        }
        "external" | "pods" => validate_metric(check, &source["metric"], &format!("{path}.metric")),
        _ => {
            let (resource, field) = (text(source, "name"), format!("{path}.name"));
            if resource.is_empty() {
                check.push(FieldError::required(&field, "must specify a resource name"));
            } else if name == "containerResource" {
                container::validate_container_resource_name(check, resource, &field);
            }
            let (container, field) = (text(source, "container"), format!("{path}.container"));
            if name == "containerResource" && container.is_empty() {
                check.push(FieldError::required(&field, "must specify a container"));
            } else if name == "containerResource" {
                check.push_messages(&field, container, &names::label_errors(container));
            }
        }
    }
    let (metric_target, path) = (&source["target"], format!("{path}.target"));
    validate_target(check, metric_target, &path);
    let has = |field: &str| !metric_target[field].is_null();
    let missing = match name {
        "object" if !has("value") && !has("averageValue") => {
            Some(("averageValue", "must set either a target value or averageValue"))
        }
        "external" if !has("value") && !has("averageValue") => Some((
            "averageValue",
            "must set either a target value for metric or a per-pod target",
        )),
        "pods" if !has("averageValue") => {
            Some(("averageValue", "must specify a positive target averageValue"))
        }
        "resource" | "containerResource" if !has("averageUtilization") && !has("averageValue") => Some((
            "averageUtilization",
            "must set either a target raw value or a target utilization",
        )),
        _ => None,
    };
    if let Some((field, detail)) = missing {
        check.push(FieldError::required(&format!("{path}.{field}"), detail));
    }
    let both = match name {
        "external" if has("value") && has("averageValue") => Some((
            "value",
            "may not set both a target value for metric and a per-pod target",
        )),
        "resource" | "containerResource" if has("averageUtilization") && has("averageValue") => Some((
            "averageValue",
            "may not set both a target raw value and a target utilization",
        )),
        _ => None,
    };
    if let Some((field, detail)) = both {
        check.push(FieldError::forbidden(&format!("{path}.{field}"), detail));
    }
}

/// Validates a metric's name. Its selector is not validated.
fn validate_metric(check: &mut Check, metric: &Value, path: &str) {
    let name = text(metric, "name");
    let field = format!("{path}.name");
    if name.is_empty() {
        check.push(FieldError::required(&field, "must specify a metric name"));
    }
    for reason in names::path_segment_errors(name) {
        check.push(FieldError::invalid(&field, name, reason));
    }
}

fn validate_target(check: &mut Check, target: &Value, path: &str) {
    let (kind, field) = (text(target, "type"), format!("{path}.type"));
    if kind.is_empty() {
        check.push(FieldError::required(&field, "must specify a metric target type"));
    }
    if !["Utilization", "Value", "AverageValue"].contains(&kind) {
        let detail = "must be either Utilization, Value, or AverageValue";
        check.push(FieldError::invalid(&field, kind, detail));
    }
    for name in ["value", "averageValue"] {
        if quantity_value(&target[name]).is_some_and(|amount| amount <= 0.0) {
            let field = format!("{path}.{name}");
            check.push(FieldError::invalid(
                &field,
                target[name].clone(),
                "must be positive",
            ));
        }
    }
    if let Some(percent) = target["averageUtilization"]
        .as_i64()
        .filter(|percent| *percent < 1)
    {
        let field = format!("{path}.averageUtilization");
        check.push(FieldError::invalid(&field, percent, "must be greater than 0"));
    }
}

/// Validates scaling behavior in both directions.
pub(super) fn validate_behavior(check: &mut Check, spec: &Value) {
    const MAX_STABILIZATION_WINDOW_SECONDS: i64 = 3600;
    const MAX_PERIOD_SECONDS: i64 = 1800;
    let directions = ["scaleUp", "scaleDown"].map(|direction| (direction, &spec["behavior"][direction]));
    for (direction, rules) in directions.into_iter().filter(|(_, rules)| rules.is_object()) {
        let path = format!("spec.behavior.{direction}");
        if let Some(seconds) = rules["stabilizationWindowSeconds"].as_i64() {
            let field = format!("{path}.stabilizationWindowSeconds");
            if seconds < 0 {
                let detail = "must be greater than or equal to zero";
                check.push(FieldError::invalid(&field, seconds, detail));
            }
            if seconds > MAX_STABILIZATION_WINDOW_SECONDS {
                let detail = format!("must be less than or equal to {MAX_STABILIZATION_WINDOW_SECONDS}");
                check.push(FieldError::invalid(&field, seconds, detail));
            }
        }
        check.require_supported(rules, "selectPolicy", &path, &["Disabled", "Max", "Min"]);
        let field = format!("{path}.policies");
        // An explicitly empty list is an error; an absent list has been defaulted.
        if check.explicit_empty.contains(&field) || rules["policies"].as_array().is_none_or(Vec::is_empty) {
            let detail = "must specify at least one Policy";
            check.push(FieldError::required(&field, detail));
        }
        for (policy, path) in items(rules, "policies", &path) {
            let kinds = ["Percent", "Pods"];
            if !kinds.contains(&text(policy, "type")) {
                let field = format!("{path}.type");
                check.push(FieldError::not_supported(&field, text(policy, "type"), kinds));
            }
            for name in ["value", "periodSeconds"] {
                let number = policy[name].as_i64().unwrap_or_default();
                if number <= 0 {
                    let field = format!("{path}.{name}");
                    check.push(FieldError::invalid(&field, number, "must be greater than zero"));
                }
            }
            if let Some(seconds) = policy["periodSeconds"]
                .as_i64()
                .filter(|seconds| *seconds > MAX_PERIOD_SECONDS)
            {
                let detail = format!("must be less than or equal to {MAX_PERIOD_SECONDS}");
                let field = format!("{path}.periodSeconds");
                check.push(FieldError::invalid(&field, seconds, detail));
            }
        }
        if quantity_value(&rules["tolerance"]).is_some_and(|percent| percent < 0.0) {
            let detail = "must be greater than or equal to 0";
            let field = format!("{path}.tolerance");
            check.push(FieldError::invalid(&field, rules["tolerance"].clone(), detail));
        }
    }
}
