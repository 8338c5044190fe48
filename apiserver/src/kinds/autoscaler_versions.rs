//! Conversion of HorizontalPodAutoscalers between `autoscaling/v1` and `autoscaling/v2`, in which they are stored.
//!
//! Version 1 has fields only for a CPU target. Everything else is JSON in annotations, as kube-apiserver writes it.

use crate::meta::{self, array};
use crate::types;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
/// The annotations that only exist in version 1.
const ANNOTATIONS: &[&str] = &[
    METRICS,
    CURRENT_METRICS,
    CONDITIONS,
    BEHAVIOR,
    "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
    "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
];

/// The fields of metrics in an annotation, with their pointers in version 2, in the order in which Go writes them.
const METRIC_FIELDS: &[(&str, &[(&str, &str)])] = &[
    (
        "object",
        &[
            ("target", "/describedObject"),
            ("metricName", "/metric/name"),
            ("targetValue", "/target/value"),
            ("currentValue", "/current/value"),
            ("selector", "/metric/selector"),
            ("averageValue", "/target/averageValue"),
            ("averageValue", "/current/averageValue"),
        ],
    ),
    (
        "pods",
        &[
            ("metricName", "/metric/name"),
            ("targetAverageValue", "/target/averageValue"),
            ("currentAverageValue", "/current/averageValue"),
            ("selector", "/metric/selector"),
        ],
    ),
    ("resource", RESOURCE_FIELDS),
    ("containerResource", RESOURCE_FIELDS),
    (
        "external",
        &[
            ("metricName", "/metric/name"),
            ("metricSelector", "/metric/selector"),
            ("targetValue", "/target/value"),
            ("currentValue", "/current/value"),
            ("targetAverageValue", "/target/averageValue"),
            ("currentAverageValue", "/current/averageValue"),
        ],
    ),
];
const RESOURCE_FIELDS: &[(&str, &str)] = &[
    ("name", "/name"),
    ("targetAverageUtilization", "/target/averageUtilization"),
    ("currentAverageUtilization", "/current/averageUtilization"),
    ("targetAverageValue", "/target/averageValue"),
    ("currentAverageValue", "/current/averageValue"),
    ("container", "/container"),
];
/// Quantities that Go writes even if they are absent, by the kind of metric.
const ALWAYS_WRITTEN: &[(&str, &str)] = &[
    ("object", "targetValue"),
    ("object", "currentValue"),
    ("pods", "targetAverageValue"),
    ("pods", "currentAverageValue"),
    ("resource", "currentAverageValue"),
    ("containerResource", "currentAverageValue"),
    ("external", "currentValue"),
];
/// The order in which Go writes the fields of the other types in annotations.
const FIELD_ORDER: &[&str] = &[
    "type",
    "kind",
    "name",
    "apiVersion",
    "matchLabels",
    "matchExpressions",
    "key",
    "operator",
    "values",
    "status",
    "lastTransitionTime",
    "reason",
    "message",
    "ScaleUp",
    "ScaleDown",
    "StabilizationWindowSeconds",
    "SelectPolicy",
    "Policies",
    "Tolerance",
    "Type",
    "Value",
    "PeriodSeconds",
];

/// Converts an object of version 2 to version 1.
pub(super) fn to_v1(mut object: Value) -> Value {
    let (spec, status) = (object["spec"].take(), object["status"].take());
    drop_annotations(&mut object);
    let mut annotate = |name: &str, text: String| {
        let annotations = meta::entry_mut(&mut object["metadata"], "annotations");
        annotations.insert(name.to_owned(), text.into());
    };
    let metrics = array(&spec["metrics"]);
    let others: Vec<&Value> = metrics
        .iter()
        .filter(|metric| cpu_utilization(metric, "target").is_none())
        .collect();
    if !others.is_empty() {
        annotate(METRICS, metrics_text(&others, "target"));
    }
    let current: Vec<&Value> = array(&status["currentMetrics"]).iter().collect();
    if !current.is_empty() {
        annotate(CURRENT_METRICS, metrics_text(&current, "current"));
    }
    if spec["behavior"].is_object() {
        annotate(BEHAVIOR, go_json(&internal_behavior(&spec["behavior"])));
    }
    if !array(&status["conditions"]).is_empty() {
        annotate(CONDITIONS, go_json(&status["conditions"]));
    }
    let target = metrics
        .iter()
        .find_map(|metric| cpu_utilization(metric, "target"));
    let now = current
        .iter()
        .rev()
        .find_map(|metric| cpu_utilization(metric, "current"));
    let pick = |part: &Value, names: &[&str]| -> Map<String, Value> {
        let present = names.iter().filter(|name| !part[**name].is_null());
        present
            .map(|name| ((*name).to_owned(), part[*name].clone()))
            .collect()
    };
    let mut spec = pick(&spec, &["scaleTargetRef", "minReplicas", "maxReplicas"]);
    let mut status = pick(
        &status,
        &[
            "observedGeneration",
            "lastScaleTime",
            "currentReplicas",
            "desiredReplicas",
        ],
    );
    for (part, name, value) in [
        (&mut spec, "targetCPUUtilizationPercentage", target),
        (&mut status, "currentCPUUtilizationPercentage", now),
    ] {
        part.extend(value.map(|value| (name.to_owned(), value.clone())));
    }
    object["spec"] = spec.into();
    object["status"] = status.into();
    with_version(object, "autoscaling/v1")
}

/// Converts an object of version 1 to version 2.
pub(super) fn to_v2(mut object: Value) -> Value {
    let annotations = object["metadata"]["annotations"].clone();
    let annotation = |name: &str| -> Option<Value> { serde_json::from_str(annotations[name].as_str()?).ok() };
    drop_annotations(&mut object);
    let spec = meta::entry_mut(&mut object, "spec");
    let mut metrics: Vec<Value> = annotation(METRICS)
        .iter()
        .flat_map(|metrics| metrics.as_array().into_iter().flatten())
        .map(|metric| metric_to_v2(metric, "target"))
        .collect();
    let cpu =
        |value: Value, part: &str| json!({ "type": "Resource", "resource": { "name": "cpu", part: value } });
    let target = |utilization: Value| {
        cpu(
            json!({ "type": "Utilization", "averageUtilization": utilization }),
            "target",
        )
    };
    match spec.remove("targetCPUUtilizationPercentage") {
        Some(utilization) if !utilization.is_null() => metrics.push(target(utilization)),
        _ if metrics.is_empty() => metrics.push(target(json!(80))),
        _ => {}
    }
    spec.insert("metrics".into(), metrics.into());
    // A behavior without rules is none.
    if let Some(Value::Object(behavior)) = annotation(BEHAVIOR)
        && behavior.values().any(|rules| !rules.is_null())
    {
        spec.insert(
            "behavior".into(),
            with_first_letters(&Value::Object(behavior), char::to_ascii_lowercase),
        );
    }
    let status = meta::entry_mut(&mut object, "status");
    if let Some(utilization) = status.remove("currentCPUUtilizationPercentage") {
        let current = cpu(json!({ "averageUtilization": utilization }), "current");
        status.insert("currentMetrics".into(), json!([current]));
    }
    if let Some(Value::Array(current)) = annotation(CURRENT_METRICS) {
        let current = current.iter().map(|metric| metric_to_v2(metric, "current"));
        status.insert("currentMetrics".into(), current.collect());
    }
    if let Some(conditions) = annotation(CONDITIONS) {
        status.insert("conditions".into(), conditions);
    }
    with_version(object, "autoscaling/v2")
}

fn with_version(mut object: Value, version: &str) -> Value {
    object["apiVersion"] = version.into();
    if let Some(ty) = types::builtin(version, "HorizontalPodAutoscaler") {
        types::normalize(&mut object, ty);
    }
    object
}

fn drop_annotations(object: &mut Value) {
    let Some(annotations) = object["metadata"]["annotations"].as_object_mut() else {
        return;
    };
    let before = annotations.len();
    annotations.retain(|name, _| !ANNOTATIONS.contains(&name.as_str()));
    if annotations.is_empty() && before > 0 {
        meta::metadata_mut(object).remove("annotations");
    }
}

/// Returns the CPU utilization of a metric that version 1 has a field for.
fn cpu_utilization<'a>(metric: &'a Value, part: &str) -> Option<&'a Value> {
    let resource = &metric["resource"];
    let is_cpu = metric["type"] == "Resource" && resource["name"] == "cpu";
    Some(&resource[part]["averageUtilization"]).filter(|value| is_cpu && !value.is_null())
}

/// Writes metrics as version 1 has them in an annotation. `part` is `target` in a spec and `current` in a status.
fn metrics_text(metrics: &[&Value], part: &str) -> String {
    let texts: Vec<String> = metrics.iter().map(|metric| metric_text(metric, part)).collect();
    format!("[{}]", texts.join(","))
}

fn metric_text(metric: &Value, part: &str) -> String {
    let mut text = format!("{{\"type\":{}", metric["type"]);
    for (kind, fields) in METRIC_FIELDS {
        let source = &metric[*kind];
        if !source.is_object() {
            continue;
        }
        let other = if part == "target" { "/current/" } else { "/target/" };
        let fields = fields.iter().filter(|(_, pointer)| !pointer.starts_with(other));
        let fields: Vec<String> = fields
            .filter_map(|(name, pointer)| {
                let absent = || {
                    ALWAYS_WRITTEN
                        .contains(&(*kind, *name))
                        .then(|| "\"0\"".to_owned())
                };
                let value = source.pointer(pointer).filter(|value| !value.is_null());
                let value = value.map(go_json).or_else(absent)?;
                Some(format!("\"{name}\":{value}"))
            })
            .collect();
        // Writing to a string cannot fail.
        let _ = write!(text, ",\"{kind}\":{{{}}}", fields.join(","));
    }
    text + "}"
}

/// Converts a metric of an annotation to version 2.
fn metric_to_v2(metric: &Value, part: &str) -> Value {
    let mut converted = json!({ "type": metric["type"] });
    for (kind, fields) in METRIC_FIELDS {
        let source = &metric[*kind];
        if !source.is_object() {
            continue;
        }
        let other = if part == "target" { "/current/" } else { "/target/" };
        let target = &mut converted[*kind];
        for (name, pointer) in fields.iter().filter(|(_, pointer)| !pointer.starts_with(other)) {
            // An average value of an object comes with a zero target, which version 1 cannot omit.
            let is_filler = *kind == "object"
                && *name == "targetValue"
                && source[*name] == "0"
                && !source["averageValue"].is_null();
            if !source[*name].is_null() && !is_filler {
                let place = pointer
                    .split('/')
                    .skip(1)
                    .fold(&mut *target, |value, key| &mut value[key]);
                *place = source[*name].clone();
            }
        }
        if part == "target" {
            let target = &mut target["target"];
            let ty = match *kind {
                "resource" | "containerResource" if !target["averageUtilization"].is_null() => "Utilization",
                "object" if target["averageValue"].is_null() => "Value",
                "external" if !target["value"].is_null() => "Value",
                _ => "AverageValue",
            };
            target["type"] = ty.into();
        }
    }
    converted
}

/// The behavior as kube-apiserver's internal type, which has no JSON names and omits nothing.
fn internal_behavior(behavior: &Value) -> Value {
    let mut behavior = behavior.clone();
    for direction in ["scaleUp", "scaleDown"] {
        let rules = &mut behavior[direction];
        if rules.is_object() {
            for name in [
                "stabilizationWindowSeconds",
                "selectPolicy",
                "policies",
                "tolerance",
            ] {
                // Indexing inserts null where the field is absent.
                let _ = &mut rules[name];
            }
        }
    }
    with_first_letters(&behavior, char::to_ascii_uppercase)
}

/// Returns a value with the first letter of each field name changed.
fn with_first_letters(value: &Value, change: fn(&char) -> char) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| {
                let mut letters = name.chars();
                let first = letters.next().map(|letter| change(&letter));
                let name: String = first.into_iter().chain(letters).collect();
                (name, with_first_letters(value, change))
            });
            Value::Object(fields.collect())
        }
        Value::Array(items) => {
            let items = items.iter().map(|item| with_first_letters(item, change));
            items.collect()
        }
        value => value.clone(),
    }
}

/// Writes JSON with the fields of known types in Go's order.
fn go_json(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            let rank = |name: &str| FIELD_ORDER.iter().position(|known| *known == name);
            fields.sort_by_key(|(name, _)| rank(name).unwrap_or(FIELD_ORDER.len()));
            let fields = fields
                .into_iter()
                .map(|(name, value)| format!("{}:{}", json!(name), go_json(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(go_json).collect();
            format!("[{}]", items.join(","))
        }
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_and_behavior_survive_both_conversions() {
        let cpu = json!({ "type": "Resource", "resource": { "name": "cpu", "target": { "type": "Utilization", "averageUtilization": 50 } } });
        let object_metric = json!({ "type": "Object", "object": {
            "describedObject": { "apiVersion": "v1", "kind": "Service", "name": "s" },
            "metric": { "name": "m" }, "target": { "type": "AverageValue", "averageValue": "3" },
        } });
        let pods = json!({ "type": "Pods", "pods": { "metric": { "name": "m" }, "target": { "type": "AverageValue", "averageValue": "1k" } } });
        let rules = json!({ "stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [{ "type": "Pods", "value": 4, "periodSeconds": 15 }] });
        let v2 = json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": { "name": "a" },
            "spec": {
                "scaleTargetRef": { "kind": "Deployment", "name": "d" }, "minReplicas": 1, "maxReplicas": 3,
                "metrics": [object_metric, pods, cpu], "behavior": { "scaleUp": rules },
            },
            "status": { "desiredReplicas": 2, "currentReplicas": 1, "currentMetrics": null, "conditions": [
                { "type": "AbleToScale", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "r" },
            ] },
        });
        let v1 = to_v1(v2.clone());
        assert_eq!(v1["spec"]["targetCPUUtilizationPercentage"], 50);
        let annotations = &v1["metadata"]["annotations"];
        assert_eq!(
            annotations[METRICS],
            r#"[{"type":"Object","object":{"target":{"kind":"Service","name":"s","apiVersion":"v1"},"metricName":"m","targetValue":"0","averageValue":"3"}},{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"1k"}}]"#
        );
        assert_eq!(
            annotations[BEHAVIOR],
            r#"{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15}],"Tolerance":null},"ScaleDown":null}"#
        );
        assert_eq!(
            annotations[CONDITIONS],
            r#"[{"type":"AbleToScale","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z","reason":"r"}]"#
        );
        assert_eq!(to_v2(v1), v2);
    }

    #[test]
    fn behavior_without_rules_is_dropped() {
        let v2 = json!({ "metadata": {}, "spec": { "maxReplicas": 1, "behavior": {} } });
        assert_eq!(to_v2(to_v1(v2))["spec"].get("behavior"), None);
    }

    #[test]
    fn autoscaler_without_target_gets_the_default_of_cpu() {
        let object = json!({ "metadata": {}, "spec": { "maxReplicas": 1 } });
        let target = &to_v2(object)["spec"]["metrics"][0]["resource"]["target"];
        assert_eq!(
            *target,
            json!({ "type": "Utilization", "averageUtilization": 80 })
        );
    }
}
