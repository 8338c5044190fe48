//! What limits and scales: disruption budgets, limit ranges, autoscalers, priorities; and events.

use super::{Check, container, fields, items, names, text};
use crate::field::FieldError;
use serde_json::Value;

/// The highest priority that people may define.
const HIGHEST: i64 = 1_000_000_000;
/// The classes that the real server itself makes, and what they are worth.
pub(crate) const SYSTEM: &[(&str, i64)] = &[
    ("system-node-critical", 2_000_001_000),
    ("system-cluster-critical", 2_000_000_000),
];

pub(super) fn disruption_budget(check: &mut Check, spec: &Value) {
    if !spec["minAvailable"].is_null() && !spec["maxUnavailable"].is_null() {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        let shown = check.shown(spec, "spec", "policy.PodDisruptionBudgetSpec");
        check.push(FieldError::invalid("spec", "", detail).showing(shown));
    }
    for name in ["minAvailable", "maxUnavailable"] {
        check.count_or_percent(&spec[name], &format!("spec.{name}"));
        check.not_above_all(&spec[name], &format!("spec.{name}"));
    }
    check.selector(&spec["selector"], "spec.selector");
    check.one_of(
        spec,
        "unhealthyPodEvictionPolicy",
        "spec",
        &["AlwaysAllow", "IfHealthyBudget"],
    );
}

pub(super) fn priority_class(check: &mut Check, class: &Value, old: Option<&Value>) {
    let (name, value) = (
        text(&class["metadata"], "name"),
        class["value"].as_i64().unwrap_or(0),
    );
    let known = SYSTEM.iter().find(|(system, _)| *system == name);
    if name.starts_with("system-") {
        let why = match known {
            Some((_, worth)) if *worth != value => format!("value of {name} PriorityClass must be {worth}"),
            Some(_) if class["globalDefault"] == true => {
                format!("globalDefault of {name} PriorityClass must be false")
            }
            Some(_) => String::new(),
            None => format!("{name} is not a known system priority class"),
        };
        if !why.is_empty() {
            let detail = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {why}"
            );
            check.push(FieldError::forbidden("metadata.name", detail));
        }
    } else if value > HIGHEST {
        let detail = format!("maximum allowed value of a user defined priority is {HIGHEST}");
        check.push(FieldError::forbidden("value", detail));
    }
    check.one_of_at(
        class,
        "preemptionPolicy",
        "preemptionPolicy",
        &["PreemptLowerPriority", "Never"],
    );
    if let Some(old) = old {
        if old["value"] != class["value"] {
            check.push(FieldError::forbidden("value", "may not be changed in an update."));
        }
        if old["preemptionPolicy"] != class["preemptionPolicy"] {
            let value = class["preemptionPolicy"].clone();
            check.push(FieldError::invalid(
                "preemptionPolicy",
                value,
                "field is immutable",
            ));
        }
    }
}

pub(super) fn autoscaler(check: &mut Check, spec: &Value) {
    let (least, most) = (
        spec["minReplicas"].as_i64(),
        spec["maxReplicas"].as_i64().unwrap_or(0),
    );
    if let Some(least) = least.filter(|least| *least < 1) {
        let detail = "must be greater than or equal to 1";
        check.push(FieldError::invalid("spec.minReplicas", least, detail));
    }
    if most == 0 {
        let detail = "must be set and greater than 0";
        check.push(FieldError::required("spec.maxReplicas", detail));
    } else if most < 0 {
        let detail = "must be greater than or equal to 1";
        check.push(FieldError::invalid("spec.maxReplicas", most, detail));
    }
    if least.is_some_and(|least| most < least) {
        let detail = "must be greater than or equal to `minReplicas`";
        check.push(FieldError::invalid("spec.maxReplicas", most, detail));
    }
    let target = &spec["scaleTargetRef"];
    for name in ["kind", "name"] {
        check.required(&target[name], &format!("spec.scaleTargetRef.{name}"));
    }
    let version = text(target, "apiVersion");
    if !version.contains('/') {
        let detail = "apiVersion must specify API group";
        check.push(FieldError::invalid(
            "spec.scaleTargetRef.apiVersion",
            version,
            detail,
        ));
    }
    let known = ["ContainerResource", "External", "Object", "Pods", "Resource"];
    for (metric, path) in items(spec, "metrics", "spec") {
        if check.required(&metric["type"], &format!("{path}.type")) {
            check.one_of(metric, "type", &path, &known);
        }
    }
    let outside = |metric: &Value| metric["type"] == "Object" || metric["type"] == "External";
    if least == Some(0)
        && !spec["metrics"]
            .as_array()
            .is_some_and(|metrics| metrics.iter().any(outside))
    {
        let detail =
            "must specify at least one Object or External metric to support scaling to zero replicas";
        check.push(FieldError::forbidden("spec.metrics", detail));
    }
}

pub(super) fn limit_range(check: &mut Check, spec: &Value) {
    let mut seen = vec![];
    for (item, path) in items(spec, "limits", "spec") {
        let ty = text(item, "type");
        let messages = names::qualified(ty);
        check.messages(&format!("{path}.type"), ty, &messages);
        let standard = ["Pod", "Container", "PersistentVolumeClaim"].contains(&ty);
        if messages.is_empty() && !ty.contains('/') && !standard {
            let detail = "must be a standard limit type or fully qualified";
            check.push(FieldError::invalid(&format!("{path}.type"), ty, detail));
        }
        if seen.contains(&ty) {
            check.push(FieldError::duplicate(&format!("{path}.type"), ty));
        }
        seen.push(ty);
        for list in ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] {
            if ty == "Pod" && list.starts_with("default") {
                if fields(&item[list]).next().is_some() {
                    let detail = "may not be specified when `type` is 'Pod'";
                    check.push(FieldError::forbidden(&format!("{path}.{list}"), detail));
                }
                continue;
            }
            for (name, _) in fields(&item[list]) {
                let field = format!("{path}.{list}[{name}]");
                if ["Pod", "Container"].contains(&ty) {
                    container::resource_name(check, name, &field);
                } else {
                    check.messages(&field, name, &names::qualified(name));
                }
            }
        }
        if ty == "PersistentVolumeClaim"
            && item["min"]["storage"].is_null()
            && item["max"]["storage"].is_null()
        {
            let detail = "either minimum or maximum storage value is required, but neither was provided";
            check.push(FieldError::required(&format!("{path}.limits"), detail));
        }
        bounds(check, item, &path);
    }
}

/// No amount is out of the others' bounds.
fn bounds(check: &mut Check, item: &Value, path: &str) {
    let mut resources: Vec<&String> = ["max", "min", "default", "defaultRequest"]
        .iter()
        .flat_map(|list| fields(&item[*list]).map(|(name, _)| name))
        .collect();
    resources.sort();
    resources.dedup();
    // What must not be greater than what, where this is said, and with which of the two.
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
        for (less, less_name, more, more_name, field, value) in rules {
            let (small, great) = (&item[less][resource], &item[more][resource]);
            if let (Some(small_amount), Some(great_amount)) =
                (container::amount(small), container::amount(great))
                && small_amount > great_amount
            {
                let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let detail = format!(
                    "{less_name} value {} is greater than {more_name} value {}",
                    plain(small),
                    plain(great)
                );
                let field = format!("{path}.{field}[{resource}]");
                check.push(FieldError::invalid(&field, item[value][resource].clone(), detail));
            }
        }
    }
}

/// An event in the form of the core group. Who writes it in the newer group must say more.
pub(super) fn event(check: &mut Check, event: &Value, old: Option<&Value>) {
    let newer = event["apiVersion"] != "v1";
    let namespace = text(&event["metadata"], "namespace");
    let about = &event[if newer { "regarding" } else { "involvedObject" }];
    let place = text(about, "namespace");
    let is_new = !event["eventTime"].is_null();
    let fits = if place.is_empty() {
        namespace.is_empty() || namespace == "default" || is_new && namespace == "kube-system"
    } else {
        is_new || place == namespace
    };
    if !fits {
        let detail = "does not match event.namespace";
        check.push(FieldError::invalid("involvedObject.namespace", place, detail));
    }
    if is_new {
        reported(
            check,
            event,
            if newer {
                "reportingController"
            } else {
                "reportingComponent"
            },
        );
    }
    if newer && old.is_none() {
        strict(check, event, is_new);
    }
}

fn reported(check: &mut Check, event: &Value, reporter: &str) {
    let controller = text(event, reporter);
    check.required(&Value::from(controller), reporter);
    check.messages(reporter, controller, &names::qualified(controller));
    for (name, longest) in [("reportingInstance", 128), ("action", 128), ("reason", 128)] {
        if check.required(&Value::from(text(event, name)), name) && text(event, name).len() > longest {
            let detail = format!("can have at most {longest} characters");
            check.push(FieldError::invalid(name, "", detail));
        }
    }
    let note = event["note"].as_str().unwrap_or_else(|| text(event, "message"));
    if note.len() > 1024 {
        check.push(FieldError::invalid(
            "message",
            "",
            "can have at most 1024 characters",
        ));
    }
}

fn strict(check: &mut Check, event: &Value, is_new: bool) {
    if event["series"].is_object() {
        if event["series"]["count"].as_i64().unwrap_or(0) < 2 {
            check.push(FieldError::invalid("series.count", "", "should be at least 2"));
        }
        check.required(&event["series"]["lastObservedTime"], "series.lastObservedTime");
    }
    if !is_new {
        check.push(FieldError::required("eventTime", ""));
    }
    let ty = text(event, "type");
    if !["Normal", "Warning"].contains(&ty) {
        check.push(FieldError::invalid(
            "type",
            "",
            format!("has invalid value: {ty}"),
        ));
    }
    for (name, shown) in [
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
        ("deprecatedSource", "source"),
    ] {
        let value = &event[name];
        let is_set = match value {
            Value::Object(fields) => !fields.is_empty(),
            Value::Number(number) => number.as_i64() != Some(0),
            value => !value.is_null(),
        };
        if is_set {
            check.push(FieldError::invalid(shown, "", "needs to be unset"));
        }
    }
}
