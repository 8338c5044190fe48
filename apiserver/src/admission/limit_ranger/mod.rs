//! LimitRanger: default requests and limits of containers, and bounds for containers, pods and claims.

mod limits;

use super::{Attributes, Operation};
use crate::builtin;
use crate::meta;
use crate::status::ApiError;
use crate::storage::Object;
use crate::types;
use limits::{default_container_resources, limit_range_errors};
use serde_json::Value;
use std::sync::Arc;

/// Sets the defaults of the namespace's limit ranges in the containers of a new pod.
pub(super) fn mutate(attributes: &Attributes<'_>, object: &mut Value) {
    if attributes.creates("", "Pod") {
        for range in limit_ranges(attributes) {
            default_container_resources(object, range.value());
        }
        default_pod_level_requests(object);
    }
}

/// Derives pod-level requests from what the containers now request. kube-apiserver does so with all defaults when it reads the pod from its
/// storage; a pod that no limit range changes has the defaults already.
fn default_pod_level_requests(pod: &mut Value) {
    let has_own = pod["spec"]["resources"].is_object();
    if let Some(ty) = types::builtin("v1", "Pod").filter(|_| has_own) {
        builtin::apply_defaults(pod, ty);
    }
}

/// Refuses a pod or a claim with requests outside of a limit range, when it is created, a claim is updated or a pod is resized.
pub(super) fn validate(attributes: &Attributes<'_>, object: &Value) -> Result<(), ApiError> {
    let is_checked = match attributes.operation {
        Operation::Update { old } if meta::is_being_deleted(old) => false,
        Operation::Update { .. } if attributes.subresource == "resize" => attributes.is_kind("", "Pod"),
        Operation::Update { .. } => attributes.is_object("", "PersistentVolumeClaim"),
        _ => attributes.is_kind("", "Pod") || attributes.is_kind("", "PersistentVolumeClaim"),
    };
    if !is_checked {
        return Ok(());
    }
    for range in limit_ranges(attributes) {
        let why = match limit_range_errors(&attributes.kind.kind, object, range.value()).as_slice() {
            [] => continue,
            [fault] => fault.clone(),
            faults => format!("[{}]", faults.join(", ")),
        };
        return Err(attributes.forbidden(object, why));
    }
    Ok(())
}

fn limit_ranges(attributes: &Attributes<'_>) -> Vec<Arc<Object>> {
    attributes.list("", "limitranges", attributes.namespace)
}
