//! RuntimeClass: overhead, node selector and tolerations of a new pod come from its runtime class, which exists.

use super::Attributes;
use crate::meta;
use crate::quote::quoted;
use crate::status::ApiError;
use serde_json::{Map, Value};

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

fn set_overhead(class: &Value, pod: &mut Value) -> Result<(), &'static str> {
    let (overhead, spec) = (&class["overhead"], meta::entry_mut(pod, "spec"));
    let sent = spec.get("overhead").and_then(Value::as_object);
    let sent = sent.filter(|sent| !sent.is_empty());
    if overhead.is_object() {
        if sent.is_some_and(|sent| overhead["podFixed"].as_object() != Some(sent)) {
            return Err("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
        }
        spec.insert("overhead".into(), overhead["podFixed"].clone());
    } else if sent.is_some() {
        return Err("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead");
    }
    Ok(())
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
