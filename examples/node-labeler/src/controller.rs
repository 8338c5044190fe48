//! The controller: keeps the label of each Node.

use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kubewright::{
    controller::{OwnEvents, Source, predicates::labels_changed},
    prelude::*,
};
use serde_json::json;

use crate::size_class::size_class;

/// The label that the controller owns.
pub const SIZE_CLASS: &str = "example.kubewright.dev/size-class";

/// How long until a Node without a capacity is read again: its status enqueues nothing.
const CAPACITY_POLL_INTERVAL: Duration = Duration::from_secs(10);

// ANCHOR: register
/// Reconciles Nodes.
pub struct NodeLabeler {
    nodes: Lister<Node>,
    node_writer: TypedClient<Node, (Apply,)>,
}

impl NodeLabeler {
    /// Registers the controller with an operator.
    pub fn register(setup: &mut Setup) {
        let nodes = setup.informers().of::<Node>();
        let reconciler = Self {
            nodes: nodes.lister(),
            node_writer: setup.client(),
        };
        // Nodes have no generation, and the kubelet updates their status all the time. Labels change rarely, and a change of the size
        // class needs another machine, which is another Node.
        setup
            .controller("node-labeler", reconciler)
            .reconciles(Source::of(&nodes).with_predicate(labels_changed))
            // One call does everything: the event of its own apply needs no extra call.
            .own_events(OwnEvents::Ignore);
    }
}
// ANCHOR_END: register

// ANCHOR: reconcile
impl Reconciler for NodeLabeler {
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let node = match self.nodes.get(key) {
            Ok(node) => node,
            Err(LookupError::NotFound { .. }) => return Ok(Action::await_change()),
            Err(error) => return Err(error.into()),
        };
        let capacity = node
            .status
            .as_ref()
            .and_then(|status| status.capacity.as_ref()?.get("cpu"));
        let Some(wanted) = capacity.and_then(size_class) else {
            // The kubelet has not reported a capacity yet.
            tracing::debug!(%key, "the node has no CPU capacity");
            return Ok(Action::requeue_after(CAPACITY_POLL_INTERVAL));
        };
        let labels = node.metadata.labels.as_ref();
        if labels
            .and_then(|labels| labels.get(SIZE_CLASS))
            .map(String::as_str)
            != Some(wanted)
        {
            // The intent is one label: the operator owns this field of the Node, and no other.
            let intent = json!({"metadata": {"name": key.name(), "labels": {SIZE_CLASS: wanted}}});
            self.node_writer.apply(&intent).await?;
        }
        Ok(Action::await_change())
    }
}
// ANCHOR_END: reconcile
