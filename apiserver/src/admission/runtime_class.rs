//! RuntimeClass: overhead, node selector and tolerations of a new pod come from its runtime class, which exists.

use super::Attributes;
use crate::meta;
use crate::quote::quoted;
use crate::status::ApiError;
use crate::types::compare_quantities;
use serde_json::{Map, Value};
use std::cmp::Ordering;

/// Why an overhead beside that of the class is refused.
const DIFFERENT_OVERHEAD: &str = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

pub(super) fn mutate(attributes: &Attributes<'_>, pod: &mut Value) -> Result<(), ApiError> {
    if !attributes.creates("", "Pod") {
        return Ok(());
    }
    let class = runtime_class(attributes, pod)?;
    set_overhead(&class, pod).map_err(|why| attributes.forbidden(pod, why))?;
    merge_node_selector(&class, pod).map_err(|why| attributes.forbidden(pod, why))?;
    merge_tolerations(&class, pod);
    Ok(())
}

/// Refuses an overhead that is not that of the class, which a webhook may have changed.
pub(super) fn validate(attributes: &Attributes<'_>, pod: &Value) -> Result<(), ApiError> {
    if !attributes.creates("", "Pod") {
        return Ok(());
    }
    let class = runtime_class(attributes, pod)?;
    check_overhead(&class, pod).map_err(|why| attributes.forbidden(pod, why))
}

fn check_overhead(class: &Value, pod: &Value) -> Result<(), &'static str> {
    let (overhead, own) = (&class["overhead"], &pod["spec"]["overhead"]);
    if overhead.is_object() {
        let is_same = is_same_overhead(&overhead["podFixed"], own);
        return if is_same { Ok(()) } else { Err(DIFFERENT_OVERHEAD) };
    }
    if own.is_null() {
        return Ok(());
    }
    Err("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
}

/// Returns the runtime class of a pod; null if it names none.
fn runtime_class(attributes: &Attributes<'_>, pod: &Value) -> Result<Value, ApiError> {
    match pod["spec"]["runtimeClassName"].as_str() {
        None => Ok(Value::Null),
        Some("") => Err(ApiError::new(500, "", "resource name may not be empty")),
        Some(name) => {
            let class = attributes.get("node.k8s.io", "runtimeclasses", name);
            class.map(|class| class.value().clone()).ok_or_else(|| {
                let why = format!("pod rejected: RuntimeClass {} not found", quoted(name));
                attributes.forbidden(pod, why)
            })
        }
    }
}

/// Sets the overhead of a class that has one; the pod may have sent the same.
fn set_overhead(class: &Value, pod: &mut Value) -> Result<(), &'static str> {
    let overhead = &class["overhead"];
    if !overhead.is_object() {
        return Ok(());
    }
    let (required, sent) = (&overhead["podFixed"], &pod["spec"]["overhead"]);
    let is_sent = sent.as_object().is_some_and(|sent| !sent.is_empty());
    if is_sent && !is_same_overhead(required, sent) {
        return Err(DIFFERENT_OVERHEAD);
    }
    let spec = meta::entry_mut(pod, "spec");
    if required.is_null() {
        spec.remove("overhead");
    } else {
        spec.insert("overhead".into(), required.clone());
    }
    Ok(())
}

/// Whether two lists have equal amounts of the same resources, in whatever units.
fn is_same_overhead(first: &Value, second: &Value) -> bool {
    let is_within = |list: &Value, other: &Value| {
        let mut amounts = list.as_object().into_iter().flatten();
        amounts.all(|(resource, amount)| is_same_amount(amount, &other[resource]))
    };
    is_within(first, second) && is_within(second, first)
}

fn is_same_amount(first: &Value, second: &Value) -> bool {
    match (first.as_str(), second.as_str()) {
        (Some(first), Some(second)) => compare_quantities(first, second) == Some(Ordering::Equal),
        _ => first == second,
    }
}

fn merge_node_selector(class: &Value, pod: &mut Value) -> Result<(), String> {
    let spec = meta::entry_mut(pod, "spec");
    let required = class["scheduling"]["nodeSelector"].as_object();
    for (key, value) in required.into_iter().flatten() {
        let selector = spec.entry("nodeSelector").or_insert_with(|| Map::new().into());
        if !selector[key].is_null() && selector[key] != *value {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            return Err(format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {}; pod.spec.nodeSelector[{key}] = {}",
                text(value),
                text(&selector[key])
            ));
        }
        selector[key] = value.clone();
    }
    Ok(())
}

fn merge_tolerations(class: &Value, pod: &mut Value) {
    let spec = meta::entry_mut(pod, "spec");
    let present = spec.get("tolerations").and_then(Value::as_array).cloned();
    let mut merged = present.unwrap_or_default();
    let tolerations = class["scheduling"]["tolerations"].as_array();
    for toleration in tolerations.into_iter().flatten() {
        if !merged.contains(toleration) {
            merged.push(toleration.clone());
        }
    }
    if !merged.is_empty() {
        spec.insert("tolerations".into(), merged.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn overheads_are_compared_by_amount_and_refused_without_a_class() {
        let class = json!({ "overhead": { "podFixed": { "cpu": "1", "memory": "1Gi" } } });
        let pod = |overhead: Value| json!({ "spec": { "overhead": overhead } });
        for (sent, is_accepted) in [
            (Value::Null, true),
            (json!({}), true),
            (json!({ "cpu": "1000m", "memory": "1048576Ki" }), true),
            (json!({ "cpu": "1" }), false),
            (json!({ "cpu": "1", "memory": "1Gi", "x.dev/a": "1" }), false),
        ] {
            let mut pod = pod(sent.clone());
            assert_eq!(set_overhead(&class, &mut pod).is_ok(), is_accepted, "{sent}");
            assert_eq!(check_overhead(&class, &pod).is_ok(), is_accepted, "{sent}");
        }
        let mut unclassed = pod(json!({ "cpu": "1" }));
        assert_eq!(set_overhead(&Value::Null, &mut unclassed), Ok(()));
        assert!(check_overhead(&Value::Null, &unclassed).is_err());
        let empty = json!({ "overhead": {} });
        assert_eq!(check_overhead(&empty, &pod(Value::Null)), Ok(()));
        assert_eq!(set_overhead(&empty, &mut unclassed), Err(DIFFERENT_OVERHEAD));
    }
}
