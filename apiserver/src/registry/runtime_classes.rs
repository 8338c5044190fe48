//! Admission plugin RuntimeClass: overhead and scheduling of a pod come from its runtime class.

use super::Registry;
use crate::kinds::Kind;
use crate::meta;
use crate::quote::quoted;
use crate::status::ApiError;
use serde_json::{Map, Value};

impl Registry {
    /// Copies overhead, node selector and tolerations of the runtime class to a new pod.
    pub(super) fn admit_runtime_class(&self, kind: &Kind, pod: &mut Value) -> Result<(), ApiError> {
        let pod_name = meta::name(pod).to_owned();
        let forbid = |why: String| Err(ApiError::forbidden(kind, &pod_name, why));
        let class = match pod["spec"]["runtimeClassName"].as_str() {
            None => Value::Null,
            Some("") => return Err(ApiError::new(500, "", "resource name may not be empty")),
            Some(name) => match self.runtime_class(name) {
                Some(class) => class,
                None => return forbid(format!("pod rejected: RuntimeClass {} not found", quoted(name))),
            },
        };
        let (overhead, spec) = (&class["overhead"], meta::entry_mut(pod, "spec"));
        let sent = spec
            .get("overhead")
            .and_then(Value::as_object)
            .filter(|sent| !sent.is_empty());
        if overhead.is_object() {
            if sent.is_some_and(|sent| overhead["podFixed"].as_object() != Some(sent)) {
                let why = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
                return forbid(why.to_owned());
            }
            spec.insert("overhead".into(), overhead["podFixed"].clone());
        } else if sent.is_some() {
            let why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";
            return forbid(why.to_owned());
        }
        let scheduling = &class["scheduling"];
        for (key, value) in scheduling["nodeSelector"].as_object().into_iter().flatten() {
            let selector = spec.entry("nodeSelector").or_insert_with(|| Map::new().into());
            if !selector[key].is_null() && selector[key] != *value {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                return forbid(format!(
                    "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {}; pod.spec.nodeSelector[{key}] = {}",
                    text(value),
                    text(&selector[key])
                ));
            }
            selector[key] = value.clone();
        }
        let tolerations = scheduling["tolerations"].as_array().into_iter().flatten();
        let present = spec.get("tolerations").and_then(Value::as_array).cloned();
        let mut merged = present.unwrap_or_default();
        for toleration in tolerations {
            if !merged.contains(toleration) {
                merged.push(toleration.clone());
            }
        }
        if !merged.is_empty() {
            spec.insert("tolerations".into(), merged.into());
        }
        Ok(())
    }

    fn runtime_class(&self, name: &str) -> Option<Value> {
        let classes = self.resource("node.k8s.io", "runtimeclasses").ok()?;
        let class = self.store.get(&classes.table(), name)?;
        Some(class.value().clone())
    }
}
