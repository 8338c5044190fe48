//! What the controllers read of a node, and where pods may run.

use k8s_openapi::api::core::v1::{Node, Taint};
use kubewright::Projection;

/// The values of a node that the controllers read. Name and labels are in the metadata of the cached object.
#[derive(Projection, Clone, Debug, Default, PartialEq)]
#[projection(of = Node)]
pub(crate) struct NodeView {
    #[projection(path = "spec.taints", default)]
    pub(crate) taints: Vec<Taint>,
}
