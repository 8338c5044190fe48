//! The controller of Node.

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::core::v1::Pod;
use kubewright::prelude::*;
use kubewright::tracing;

use crate::api::backup_plan::BackupPlan;

/// The reconciler's listers, which read from the informers' cache. Add typed clients for what it writes: `kubewright generate` grants the
/// verbs that their types name.
pub struct NodeController {
    nodes: Lister<Node>,
    pods: Lister<Pod>,
    backup_plans: Lister<BackupPlan>,
}

impl NodeController {
    /// Registers the controller with its watches. Does no I/O.
    pub fn register(setup: &mut Setup) {
        let nodes = setup.informers().of::<Node>();
        let pods = setup.informers().of::<Pod>();
        let backup_plans = setup.informers().custom::<BackupPlan>();
        let reconciler = Self {
            nodes: nodes.lister(),
            pods: pods.lister(),
            backup_plans: backup_plans.lister(),
        };
        setup
            .controller("node", reconciler)
            .reconciles(&nodes)
            .owns(&pods)
            .owns(&backup_plans);
    }
}

impl Reconciler for NodeController {
    /// Called after changes of the Node, and of the objects that it owns; retried with backoff on errors.
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let node = match self.nodes.get(key) {
            Ok(node) => node,
            // Deleted: the garbage collector deletes what it owned.
            Err(LookupError::NotFound { .. }) => return Ok(Action::await_change()),
            Err(error) => return Err(error.into()),
        };
        if node.metadata.deletion_timestamp.is_some() {
            // It is deleted when its last finalizer is removed. A controller with a finalizer cleans up here.
            return Ok(Action::await_change());
        }
        let pods = self.pods.owned_by(node.as_ref())?.len();
        let backup_plans = self.backup_plans.owned_by(node.as_ref())?.len();
        tracing::debug!(%key, pods, backup_plans, version = ?node.metadata.resource_version, "Node changed");
        Ok(Action::await_change())
    }
}
