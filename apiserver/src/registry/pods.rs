//! Binding of pods to nodes.

use super::update::failed_precondition;
use super::{Registry, Target, WriteContext};
use crate::admission::topology_labels;
use crate::meta::{self, set_condition};
use crate::quote::quoted;
use crate::status::{ApiError, Cause, details};
use serde_json::{Value, json};

impl Registry {
    /// Binds a pod to the node that the binding names.
    pub fn bind(&self, pod: &Target, binding: &Value, context: WriteContext<'_>) -> Result<(), ApiError> {
        check_target(&binding["target"])?;
        let current = self.get(pod)?;
        check_preconditions(pod, current.value(), binding)?;
        check_bindable(pod, current.value())?;
        let node = binding["target"]["name"].as_str().unwrap_or_default();
        if context.options.dry_run {
            return Ok(());
        }
        let named = |key: &str| binding["metadata"][key].as_object().cloned().unwrap_or_default();
        let (annotations, mut labels) = (named("annotations"), named("labels"));
        if binding["target"]["kind"] == "Node" {
            labels.extend(topology_labels(&self.store, node));
        }
        self.try_update_as_server(pod, |object| {
            check_preconditions(pod, object, binding)?;
            check_bindable(pod, object)?;
            meta::entry_mut(object, "spec").insert("nodeName".into(), json!(node));
            meta::extend_metadata(object, "annotations", &annotations);
            meta::extend_metadata(object, "labels", &labels);
            set_condition(object, "PodScheduled", "True", "", "");
            drop_empty_condition_fields(object);
            Ok(())
        })?;
        Ok(())
    }
}

/// Refuses a binding to anything but a node with a name. As from kube-apiserver, the error is a 500 without a reason.
fn check_target(target: &Value) -> Result<(), ApiError> {
    let mut causes = vec![];
    if !["", "Node"].contains(&meta::text(target, "kind")) {
        causes.push(Cause::not_supported(
            "target.kind",
            &target["kind"],
            &["Node", "<empty>"],
        ));
    }
    if meta::text(target, "name").is_empty() {
        causes.push(Cause::required("target.name", ""));
    }
    if causes.is_empty() {
        return Ok(());
    }
    Err(ApiError::new(500, "", Cause::join(&causes)))
}

/// Refuses a binding with the uid or the resource version of another pod.
fn check_preconditions(target: &Target, pod: &Value, binding: &Value) -> Result<(), ApiError> {
    for (name, key) in [("UID", "uid"), ("ResourceVersion", "resourceVersion")] {
        let wanted = meta::text(&binding["metadata"], key);
        let present = meta::text(&pod["metadata"], key);
        if !wanted.is_empty() && wanted != present {
            return Err(failed_precondition(target, "/registry", name, wanted, present));
        }
    }
    Ok(())
}

/// Refuses to bind a pod that has a node or scheduling gates, or is being deleted.
fn check_bindable(target: &Target, pod: &Value) -> Result<(), ApiError> {
    let (name, node) = (&target.name, pod["spec"]["nodeName"].as_str().unwrap_or_default());
    let why = if meta::is_being_deleted(pod) {
        format!("pod {name} is being deleted, cannot be assigned to a host")
    } else if !node.is_empty() {
        format!("pod {name} is already assigned to node {}", quoted(node))
    } else if pod["spec"]["schedulingGates"]
        .as_array()
        .is_some_and(|gates| !gates.is_empty())
    {
        format!("pod {name} has non-empty .spec.schedulingGates")
    } else {
        return Ok(());
    };
    let message = format!("Operation cannot be fulfilled on pods/binding {name:?}: {why}");
    let details = details(name, "", "pods/binding");
    Err(ApiError::with_details(409, "Conflict", message, details))
}

/// Removes empty fields from the conditions, and sets lastProbeTime to null as kube-apiserver does for a binding.
fn drop_empty_condition_fields(pod: &mut Value) {
    let conditions = pod["status"]["conditions"].as_array_mut();
    for condition in conditions.into_iter().flatten() {
        if let Value::Object(condition) = condition {
            condition.retain(|_, value| value != "");
            condition.entry("lastProbeTime").or_insert(Value::Null);
        }
    }
}
