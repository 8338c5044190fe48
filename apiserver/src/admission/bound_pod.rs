//! What PodResizeValidator and NodeDeclaredFeatureValidator have in common: they check changes to the spec of a pod on a node.

use super::{Attributes, Operation};
use crate::meta::text;
use crate::quote::quoted;
use crate::status::ApiError;
use crate::storage::Object;
use serde_json::Value;
use std::sync::Arc;

/// Returns the pod before an update that changes its spec; None for other writes, and for pods without a node.
pub(super) fn pod_before_spec_change<'a>(attributes: &Attributes<'a>, pod: &Value) -> Option<&'a Value> {
    let Operation::Update { old } = attributes.operation else {
        return None;
    };
    let has_node = !text(&pod["spec"], "nodeName").is_empty();
    // The generation changes with the spec.
    let is_changed = old["metadata"]["generation"] != pod["metadata"]["generation"];
    (attributes.is_kind("", "Pod") && has_node && is_changed).then_some(old)
}

/// Returns the node of a pod.
///
/// # Errors
///
/// 403 if it does not exist.
pub(super) fn node(attributes: &Attributes<'_>, pod: &Value) -> Result<Arc<Object>, ApiError> {
    let name = text(&pod["spec"], "nodeName");
    attributes.get("", "nodes", name).ok_or_else(|| {
        let why = format!("node {} not found", quoted(name));
        attributes.forbidden(pod, why)
    })
}
