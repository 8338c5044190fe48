//! What an autoscaler looks at, and how fast it follows.

use super::container::{self, amount};
use super::{Check, items, names, policy, text};
use crate::field::FieldError;
use serde_json::Value;

const KINDS: [&str; 5] = ["ContainerResource", "External", "Object", "Pods", "Resource"];
/// The sources in the order in which they are looked at.
const SOURCES: [&str; 5] = ["object", "external", "pods", "resource", "containerResource"];

pub(super) fn metrics(check: &mut Check, spec: &Value) {
    for (metric, path) in items(spec, "metrics", "spec") {
        let kind = text(metric, "type");
        if kind.is_empty() {
            let detail = "must specify a metric source type";
            check.push(FieldError::required(&format!("{path}.type"), detail));
        }
        if !KINDS.contains(&kind) {
            check.push(FieldError::not_supported(&format!("{path}.type"), kind, KINDS));
        }
        let present: Vec<&str> = SOURCES
            .into_iter()
            .filter(|name| metric[*name].is_object())
            .collect();
        if let Some(name) = present.first() {
            source(check, &metric[*name], name, &format!("{path}.{name}"));
        }
        let wanted = SOURCES.into_iter().find(|name| name.eq_ignore_ascii_case(kind));
        if wanted.is_none() {
            // Told twice, as the real server does.
            check.push(FieldError::not_supported(&format!("{path}.type"), kind, KINDS));
        }
        if let Some(wanted) = wanted.filter(|wanted| !present.contains(wanted)) {
            let detail = "must populate information for the given metric source";
            check.push(FieldError::required(&format!("{path}.{wanted}"), detail));
        }
        if present.len() > 1 {
            for name in present.into_iter().filter(|name| Some(*name) != wanted) {
                let detail = "must populate the given metric source only";
                check.push(FieldError::forbidden(&format!("{path}.{name}"), detail));
            }
        }
    }
}

fn source(check: &mut Check, source: &Value, name: &str, path: &str) {
    match name {
        "object" => {
            let (described, field) = (&source["describedObject"], format!("{path}.describedObject"));
            policy::reference(check, described, &field);
            policy::version(check, described, &field, true);
            metric(check, &source["metric"], &format!("{path}.metric"));
        }
        "external" | "pods" => metric(check, &source["metric"], &format!("{path}.metric")),
        _ => {
            let (name_of, field) = (text(source, "name"), format!("{path}.name"));
            if name_of.is_empty() {
                check.push(FieldError::required(&field, "must specify a resource name"));
            } else if name == "containerResource" {
                container::resource_name(check, name_of, &field);
            }
            let (within, field) = (text(source, "container"), format!("{path}.container"));
            if name == "containerResource" && within.is_empty() {
                check.push(FieldError::required(&field, "must specify a container"));
            } else if name == "containerResource" {
                check.messages(&field, within, &names::label(within));
            }
        }
    }
    let (aim, path) = (&source["target"], format!("{path}.target"));
    target(check, aim, &path);
    let has = |field: &str| !aim[field].is_null();
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

/// What a metric is called. Of which series it is nobody looks at.
fn metric(check: &mut Check, metric: &Value, path: &str) {
    let name = text(metric, "name");
    let field = format!("{path}.name");
    if name.is_empty() {
        check.push(FieldError::required(&field, "must specify a metric name"));
    }
    for why in names::path_segment(name) {
        check.push(FieldError::invalid(&field, name, why));
    }
}

fn target(check: &mut Check, target: &Value, path: &str) {
    let (kind, field) = (text(target, "type"), format!("{path}.type"));
    if kind.is_empty() {
        check.push(FieldError::required(&field, "must specify a metric target type"));
    }
    if !["Utilization", "Value", "AverageValue"].contains(&kind) {
        let detail = "must be either Utilization, Value, or AverageValue";
        check.push(FieldError::invalid(&field, kind, detail));
    }
    for name in ["value", "averageValue"] {
        if amount(&target[name]).is_some_and(|amount| amount <= 0.0) {
            let field = format!("{path}.{name}");
            check.push(FieldError::invalid(
                &field,
                target[name].clone(),
                "must be positive",
            ));
        }
    }
    if let Some(share) = target["averageUtilization"].as_i64().filter(|share| *share < 1) {
        let field = format!("{path}.averageUtilization");
        check.push(FieldError::invalid(&field, share, "must be greater than 0"));
    }
}

/// How fast it follows, upwards and downwards.
pub(super) fn behavior(check: &mut Check, spec: &Value) {
    const WINDOW: i64 = 3600;
    const PERIOD: i64 = 1800;
    let ways = ["scaleUp", "scaleDown"].map(|way| (way, &spec["behavior"][way]));
    for (way, rules) in ways.into_iter().filter(|(_, rules)| rules.is_object()) {
        let path = format!("spec.behavior.{way}");
        if let Some(seconds) = rules["stabilizationWindowSeconds"].as_i64() {
            let field = format!("{path}.stabilizationWindowSeconds");
            if seconds < 0 {
                let detail = "must be greater than or equal to zero";
                check.push(FieldError::invalid(&field, seconds, detail));
            }
            if seconds > WINDOW {
                let detail = format!("must be less than or equal to {WINDOW}");
                check.push(FieldError::invalid(&field, seconds, detail));
            }
        }
        check.one_of(rules, "selectPolicy", &path, &["Disabled", "Max", "Min"]);
        let field = format!("{path}.policies");
        // None at all are not the same as not a word of them, for which there are defaults.
        let none_sent = check.empties.restored(&Value::Null, &field).is_array();
        if none_sent || rules["policies"].as_array().is_none_or(Vec::is_empty) {
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
                .filter(|seconds| *seconds > PERIOD)
            {
                let detail = format!("must be less than or equal to {PERIOD}");
                let field = format!("{path}.periodSeconds");
                check.push(FieldError::invalid(&field, seconds, detail));
            }
        }
        if amount(&rules["tolerance"]).is_some_and(|share| share < 0.0) {
            let detail = "must be greater than or equal to 0";
            let field = format!("{path}.tolerance");
            check.push(FieldError::invalid(&field, rules["tolerance"].clone(), detail));
        }
    }
}
