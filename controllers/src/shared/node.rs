//! What the controllers read of a node.

use k8s_openapi::api::core::v1::Node;
use kubewright::Projection;

/// The taint that an administrator sets on a node that will not return.
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

/// The values of a node that the controllers read. Name and labels are in the metadata of the cached object.
#[derive(Projection, Clone, Debug, Default, PartialEq)]
#[projection(of = Node)]
pub(crate) struct NodeView {
    #[projection(path = "spec.taints[*].key")]
    pub(crate) taint_keys: Vec<String>,
    #[projection(path = "status.conditions[*].type")]
    pub(crate) condition_types: Vec<Option<String>>,
    #[projection(path = "status.conditions[*].status")]
    pub(crate) condition_statuses: Vec<Option<String>>,
}

impl NodeView {
    /// Whether its condition Ready is true.
    pub(crate) fn is_ready(&self) -> bool {
        let is_ready = |kind: &Option<String>| kind.as_deref() == Some("Ready");
        let position = self.condition_types.iter().position(is_ready);
        let status = position.and_then(|position| self.condition_statuses.get(position)?.as_deref());
        status == Some("True")
    }

    /// Whether its pods may be deleted by force: nothing of them runs any more.
    pub(crate) fn is_out_of_service(&self) -> bool {
        self.taint_keys.iter().any(|key| key == OUT_OF_SERVICE)
    }
}
