//! Validation of PodDisruptionBudgets, LimitRanges, HorizontalPodAutoscalers and PriorityClasses.

use super::resources::{self, format_quantity};
use super::{Check, Constraint, FieldRule, array, container, fields, items, metrics, names, pod, text};
use crate::types::compare_quantities;
use serde_json::Value;
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// The highest value of a user-defined priority class.
const MAX_USER_PRIORITY: i64 = 1_000_000_000;
/// The system priority classes with their values.
pub const SYSTEM_PRIORITIES: &[(&str, i64)] = &[
    ("system-node-critical", 2_000_001_000),
    ("system-cluster-critical", 2_000_000_000),
];

#[rustfmt::skip]
const DISRUPTION_BUDGET: &[FieldRule] = &[
    ("minAvailable", Constraint::Checked(Check::validate_count_or_percent)),
    ("minAvailable", Constraint::Checked(Check::limit_percent)),
    ("maxUnavailable", Constraint::Checked(Check::validate_count_or_percent)),
    ("maxUnavailable", Constraint::Checked(Check::limit_percent)),
    ("selector", Constraint::LabelSelector),
    ("unhealthyPodEvictionPolicy", Constraint::OneOf(&["AlwaysAllow", "IfHealthyBudget"])),
];

pub(super) fn validate_disruption_budget(check: &mut Check, spec: &Value) {
    if !spec["minAvailable"].is_null() && !spec["maxUnavailable"].is_null() {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        check.invalid("spec", spec.clone(), detail);
    }
    check.apply(DISRUPTION_BUDGET, spec, None, "spec");
}

pub(super) fn validate_priority_class(check: &mut Check, class: &Value, old: Option<&Value>) {
    if let Some(old) = old {
        if old["value"] != class["value"] {
            check.forbidden("value", "may not be changed in an update.");
        }
        return check.apply(
            &[("preemptionPolicy", Constraint::Immutable)],
            class,
            Some(old),
            "",
        );
    }
    let (name, value) = (
        text(&class["metadata"], "name"),
        class["value"].as_i64().unwrap_or(0),
    );
    let known = SYSTEM_PRIORITIES.iter().find(|(system, _)| *system == name);
    if name.starts_with("system-") {
        let reason = match known {
            Some((_, system_value)) if *system_value != value => {
                format!("value of {name} PriorityClass must be {system_value}")
            }
            Some(_) if class["globalDefault"] == true => {
                format!("globalDefault of {name} PriorityClass must be false")
            }
            Some(_) => String::new(),
            None => format!("{name} is not a known system priority class"),
        };
        if !reason.is_empty() {
            let detail = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {reason}"
            );
            check.forbidden("metadata.name", detail);
        }
    } else if value > MAX_USER_PRIORITY {
        let detail = format!("maximum allowed value of a user defined priority is {MAX_USER_PRIORITY}");
        check.forbidden("value", detail);
    }
    pod::validate_preemption_policy(check, &class["preemptionPolicy"], "preemptionPolicy");
}

pub(super) fn validate_autoscaler(check: &mut Check, spec: &Value, old: Option<&Value>) {
    let (min, max) = (
        spec["minReplicas"].as_i64(),
        spec["maxReplicas"].as_i64().unwrap_or(0),
    );
    if let Some(min) = min.filter(|min| *min < 1) {
        check.invalid("spec.minReplicas", min, "must be greater than or equal to 1");
    }
    if max == 0 {
        check.required("spec.maxReplicas", "must be set and greater than 0");
    } else if max < 0 {
        check.invalid("spec.maxReplicas", max, "must be greater than or equal to 1");
    }
    if min.is_some_and(|min| max < min) {
        let detail = "must be greater than or equal to `minReplicas`";
        check.invalid("spec.maxReplicas", max, detail);
    }
    let (target, path) = (&spec["scaleTargetRef"], "spec.scaleTargetRef");
    validate_object_reference(check, target, path);
    // kube-apiserver does not validate the API version if API version and kind are unchanged.
    let is_unchanged =
        |name: &str| old.is_some_and(|old| old["spec"]["scaleTargetRef"][name] == target[name]);
    if !(is_unchanged("apiVersion") && is_unchanged("kind")) {
        validate_api_version(check, target, path, target["kind"] == "ReplicationController");
    }
    metrics::validate_metrics(check, spec);
    metrics::validate_behavior(check, spec);
    let is_object_or_external = |metric: &Value| metric["type"] == "Object" || metric["type"] == "External";
    if min == Some(0) && !array(&spec["metrics"]).iter().any(is_object_or_external) {
        let detail =
            "must specify at least one Object or External metric to support scaling to zero replicas";
        check.forbidden("spec.metrics", detail);
    }
}

/// Validates a reference to another object.
pub(super) fn validate_object_reference(check: &mut Check, reference: &Value, path: &str) {
    const REFERENCE: &[FieldRule] = &[
        ("kind", Constraint::Named(names::path_segment_errors)),
        ("name", Constraint::Named(names::path_segment_errors)),
    ];
    check.apply(REFERENCE, reference, None, path);
}

/// Validates the API version of a reference. Only the core group has no group in it.
pub(super) fn validate_api_version(check: &mut Check, reference: &Value, path: &str, may_lack_group: bool) {
    let (version, field) = (text(reference, "apiVersion"), format!("{path}.apiVersion"));
    if version.matches('/').count() > 1 {
        let detail = format!("unexpected GroupVersion string: {version}");
        check.invalid(&field, version, detail);
    } else if !may_lack_group && !version.contains('/') {
        check.invalid(&field, version, "apiVersion must specify API group");
    }
}

/// The lists of amounts of a limit.
const LIMITS: [&str; 5] = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"];

pub(super) fn validate_limit_range(check: &mut Check, spec: &Value) {
    let mut seen = vec![];
    for (item, path) in items(spec, "limits", "spec") {
        let ty = text(item, "type");
        let messages = names::qualified_name_errors(ty);
        check.push_messages(&format!("{path}.type"), ty, &messages);
        let standard = ["Pod", "Container", "PersistentVolumeClaim"].contains(&ty);
        if messages.is_empty() && !ty.contains('/') && !standard {
            let detail = "must be a standard limit type or fully qualified";
            check.invalid(&format!("{path}.type"), ty, detail);
        }
        if seen.contains(&ty) {
            check.duplicate(&format!("{path}.type"), ty);
        }
        seen.push(ty);
        for list in LIMITS {
            if ty == "Pod" && list.starts_with("default") {
                if fields(&item[list]).next().is_some() {
                    let detail = "may not be specified when `type` is 'Pod'";
                    check.forbidden(&format!("{path}.{list}"), detail);
                }
                continue;
            }
            for (name, _) in fields(&item[list]) {
                let field = format!("{path}.{list}[{name}]");
                if ["Pod", "Container"].contains(&ty) {
                    container::validate_container_resource_name(check, name, &field);
                } else {
                    check.validate_resource_name(name, &field);
                }
            }
        }
        if ty == "PersistentVolumeClaim"
            && item["min"]["storage"].is_null()
            && item["max"]["storage"].is_null()
        {
            let detail = "either minimum or maximum storage value is required, but neither was provided";
            check.required(&format!("{path}.limits"), detail);
        }
        validate_limit_consistency(check, item, &path);
    }
}

/// Checks that the amounts of a limit are consistent.
fn validate_limit_consistency(check: &mut Check, item: &Value, path: &str) {
    let mut item = item.clone();
    if item["type"] == "Pod" {
        // They are rejected as a whole.
        item["default"] = Value::Null;
        item["defaultRequest"] = Value::Null;
    }
    let item = &item;
    let all = LIMITS.iter().flat_map(|list| fields(&item[*list]));
    let resources: BTreeSet<&String> = all.map(|(name, _)| name).collect();
    // Each rule: the field that must not be greater, its name in the message, the other field, its name, and the fields for path and value
    // of the error.
    let rules = [
        ("min", "min", "max", "max", "min", "min"),
        (
            "min",
            "min",
            "defaultRequest",
            "default request",
            "defaultRequest",
            "defaultRequest",
        ),
        (
            "defaultRequest",
            "default request",
            "max",
            "max",
            "defaultRequest",
            "defaultRequest",
        ),
        (
            "defaultRequest",
            "default request",
            "default",
            "default limit",
            "defaultRequest",
            "defaultRequest",
        ),
        ("min", "min", "default", "default", "default", "min"),
        ("default", "default", "max", "max", "default", "max"),
    ];
    for resource in resources {
        for (lower_field, lower_name, upper_field, upper_name, field, value) in rules {
            let (lower, upper) = (&item[lower_field][resource], &item[upper_field][resource]);
            if let (Some(lower_amount), Some(upper_amount)) =
                (container::quantity_value(lower), container::quantity_value(upper))
                && lower_amount > upper_amount
            {
                let detail = format!(
                    "{lower_name} value {} is greater than {upper_name} value {}",
                    format_quantity(lower),
                    format_quantity(upper)
                );
                let field = format!("{path}.{field}[{resource}]");
                check.invalid(&field, item[value][resource].clone(), detail);
            }
        }
        validate_limit_ratio(check, item, resource, path);
        validate_equal_defaults(check, item, resource, path);
    }
}

/// Requires the default limit and the default request of a resource to be equal, if requests must not be lower than limits.
fn validate_equal_defaults(check: &mut Check, item: &Value, resource: &str, path: &str) {
    let (limit, request) = (&item["default"][resource], &item["defaultRequest"][resource]);
    let (Some(limit), Some(request)) = (limit.as_str(), request.as_str()) else {
        return;
    };
    let is_equal = compare_quantities(limit, request).is_none_or(Ordering::is_eq);
    if !resources::is_overcommitable(resource) && !is_equal {
        let detail =
            format!("default value {limit} must equal to defaultRequest value {request} in {resource}");
        let field = format!("{path}.defaultRequest[{resource}]");
        check.invalid(&field, request, detail);
    }
}

/// Validates the highest ratio of a limit to a request of a resource.
fn validate_limit_ratio(check: &mut Check, item: &Value, resource: &str, path: &str) {
    let amount = |list: &str| container::quantity_value(&item[list][resource]);
    let Some(ratio) = amount("maxLimitRequestRatio") else {
        return;
    };
    let value = &item["maxLimitRequestRatio"][resource];
    let shown = value.as_str().unwrap_or_default();
    let path = format!("{path}.maxLimitRequestRatio[{resource}]");
    if ratio < 1.0 {
        check.invalid(&path, value.clone(), format!("ratio {shown} is less than 1"));
    }
    if let (Some(min), Some(max)) = (amount("min"), amount("max")) {
        let limit = max / min;
        if ratio > limit {
            let detail = format!("ratio {shown} is greater than max/min = {limit:.6}");
            check.invalid(&path, value.clone(), detail);
        }
    }
}
