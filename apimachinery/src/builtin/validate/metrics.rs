//! Validation of an autoscaler's metrics and scaling behavior.

use super::container::{self, quantity_value};
use super::{Check, Constraint, FieldRule, items, names, policy, text};
use serde_json::Value;

const METRIC_TYPES: [&str; 5] = ["ContainerResource", "External", "Object", "Pods", "Resource"];
/// The metric sources in the order of validation.
const METRIC_SOURCES: [&str; 5] = ["object", "external", "pods", "resource", "containerResource"];

#[rustfmt::skip]
const METRICS: &[FieldRule] = &[
    ("metrics[].type", Constraint::Required("must specify a metric source type")),
    ("metrics[].type", Constraint::Only(&METRIC_TYPES)),
];
const METRIC: &[FieldRule] = &[
    ("metric.name", Constraint::Required("must specify a metric name")),
    ("metric.name", Constraint::Text(names::path_segment_errors)),
];
#[rustfmt::skip]
const TARGET: &[FieldRule] = &[
    ("type", Constraint::Required("must specify a metric target type")),
    ("averageUtilization", Constraint::Within(1, i64::MAX, "must be greater than 0")),
];
#[rustfmt::skip]
const SCALING: &[FieldRule] = &[
    ("stabilizationWindowSeconds", Constraint::Within(0, i64::MAX, "must be greater than or equal to zero")),
    ("stabilizationWindowSeconds", Constraint::Within(i64::MIN, 3600, "must be less than or equal to 3600")),
    ("selectPolicy", Constraint::OneOf(&["Disabled", "Max", "Min"])),
    ("policies", Constraint::Required("must specify at least one Policy")),
    ("policies[].type", Constraint::Only(&["Percent", "Pods"])),
    ("policies[].value", Constraint::Number(1, i64::MAX, "must be greater than zero")),
    ("policies[].periodSeconds", Constraint::Number(1, i64::MAX, "must be greater than zero")),
    ("policies[].periodSeconds", Constraint::Within(i64::MIN, 1800, "must be less than or equal to 1800")),
];

pub(super) fn validate_metrics(check: &mut Check, spec: &Value) {
    check.apply(METRICS, spec, None, "spec");
    for (metric, path) in items(spec, "metrics", "spec") {
        let kind = text(metric, "type");
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
            check.required(&format!("{path}.{expected}"), detail);
        }
        if present.len() > 1 {
            for name in present.into_iter().filter(|name| Some(*name) != expected) {
                let detail = "must populate the given metric source only";
                check.forbidden(&format!("{path}.{name}"), detail);
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
            check.apply(METRIC, source, None, path);
        }
        "external" | "pods" => check.apply(METRIC, source, None, path),
        _ => {
            let (resource, field) = (text(source, "name"), format!("{path}.name"));
            if resource.is_empty() {
                check.required(&field, "must specify a resource name");
            } else if name == "containerResource" {
                container::validate_container_resource_name(check, resource, &field);
            }
            let (container, field) = (text(source, "container"), format!("{path}.container"));
            if name == "containerResource" && container.is_empty() {
                check.required(&field, "must specify a container");
            } else if name == "containerResource" {
                check.validate_format(&field, container, names::label_errors);
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
        check.required(&format!("{path}.{field}"), detail);
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
        check.forbidden(&format!("{path}.{field}"), detail);
    }
}

fn validate_target(check: &mut Check, target: &Value, path: &str) {
    check.apply(TARGET, target, None, path);
    let (kind, field) = (text(target, "type"), format!("{path}.type"));
    if !["Utilization", "Value", "AverageValue"].contains(&kind) {
        check.invalid(&field, kind, "must be either Utilization, Value, or AverageValue");
    }
    for name in ["value", "averageValue"] {
        if quantity_value(&target[name]).is_some_and(|amount| amount <= 0.0) {
            let field = format!("{path}.{name}");
            check.invalid(&field, target[name].clone(), "must be positive");
        }
    }
}

/// Validates scaling behavior in both directions.
pub(super) fn validate_behavior(check: &mut Check, spec: &Value) {
    for direction in ["scaleUp", "scaleDown"] {
        let (rules, path) = (&spec["behavior"][direction], format!("spec.behavior.{direction}"));
        if !rules.is_object() {
            continue;
        }
        check.apply(SCALING, rules, None, &path);
        // An explicitly empty list is an error; an absent list has been defaulted.
        let field = format!("{path}.policies");
        if check.explicit_empty.contains(&field) {
            check.required(&field, "must specify at least one Policy");
        }
        if quantity_value(&rules["tolerance"]).is_some_and(|percent| percent < 0.0) {
            let detail = "must be greater than or equal to 0";
            check.invalid(&format!("{path}.tolerance"), rules["tolerance"].clone(), detail);
        }
    }
}
