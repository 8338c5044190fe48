//! What only pods have: a binding to a node.

use super::{Bodied, Registry, Target};
use crate::crd::set_condition;
use crate::meta;
use crate::status::ApiError;
use serde_json::{Value, json};

impl Registry {
    /// Puts a pod on the node that a binding names.
    pub fn bind(&self, pod: &Target, binding: &Value, by: Bodied<'_>) -> Result<(), ApiError> {
        let found = self.get(pod)?;
        let taken = found.value()["spec"]["nodeName"].as_str().unwrap_or_default();
        let node = binding["target"]["name"].as_str().unwrap_or_default();
        if !taken.is_empty() {
            let why = format!("pod {} is already assigned to node {taken:?}", pod.name);
            return Err(ApiError::conflict(&pod.kind, &pod.name, why));
        }
        if node.is_empty() {
            let cause = crate::status::Cause::required("target.name", "");
            return Err(ApiError::invalid_of("", "Binding", &pod.name, &[cause]));
        }
        if by.options.dry_run {
            return Ok(());
        }
        self.rewrite(pod, |object| {
            meta::entry_mut(object, "spec").insert("nodeName".into(), json!(node));
            set_condition(object, "PodScheduled", "True", "", "");
            drop_empty(object);
        })?;
        Ok(())
    }
}

/// The condition of a binding has neither reason nor message.
fn drop_empty(pod: &mut Value) {
    let conditions = pod["status"]["conditions"].as_array_mut();
    for condition in conditions.into_iter().flatten() {
        if let Value::Object(condition) = condition {
            condition.retain(|_, value| value != "");
        }
    }
}
