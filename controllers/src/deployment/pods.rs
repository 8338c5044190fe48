//! Pods of a Deployment. Only the strategy Recreate asks for them: it waits until the old ones ended.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use kubewright::{
    NamespacedName,
    cache::{Change, Lister, LookupError, Object, OwnerRef},
};

use crate::shared::pod::{PodPhase, PodView};

/// Reads the pods of Deployments.
#[derive(Clone)]
pub(super) struct DeploymentPods {
    pub(super) deployments: Lister<Deployment>,
    pub(super) replica_sets: Lister<ReplicaSet>,
    pub(super) pods: Lister<PodView>,
}

impl DeploymentPods {
    /// Returns the uids of those ReplicaSets that have pods which did not end. Terminating pods did not.
    pub(super) fn running<'r>(
        &self,
        replica_sets: impl Iterator<Item = &'r Object<ReplicaSet>>,
    ) -> Result<BTreeSet<String>, LookupError> {
        let mut running = BTreeSet::new();
        for replica_set in replica_sets {
            // A pod that does not decode may run.
            let mut pods = self.pods.owned_by(replica_set)?;
            if pods.any(|pod| !pod.is_ok_and(|pod| has_ended(&pod))) {
                running.insert(replica_set.metadata().uid().to_owned());
            }
        }
        Ok(running)
    }

    /// Returns the Deployment to reconcile after a change of pods: one of the strategy Recreate that waited for the deleted pod, and waits for
    /// no other.
    pub(super) fn waiting_for(&self, change: &Change<'_>) -> Option<NamespacedName> {
        let Change::Deleted { old: pod, .. } = change else {
            return None;
        };
        let owner = controller_of_kind(pod.controller(), "ReplicaSet")?;
        let replica_set = self
            .replica_sets
            .object(&pod.name().sibling(owner.name.clone()))?;
        if replica_set.metadata().uid() != &*owner.uid {
            return None;
        }
        let owner = controller_of_kind(replica_set.metadata().controller(), "Deployment")?;
        let name = pod.name().sibling(owner.name.clone());
        let deployment = self.deployments.get(&name).ok()?;
        if deployment.metadata.uid.as_deref() != Some(&owner.uid) || !is_recreated(&deployment) {
            return None;
        }
        let siblings: Vec<_> = self.replica_sets.owned_by(&*deployment).ok()?.objects().collect();
        self.running(siblings.iter()).ok()?.is_empty().then_some(name)
    }
}

/// Whether the pods of a Deployment are all replaced at once.
pub(super) fn is_recreated(deployment: &Deployment) -> bool {
    let strategy = deployment.spec.as_ref().and_then(|spec| spec.strategy.as_ref());
    strategy.is_some_and(|strategy| strategy.type_.as_deref() == Some("Recreate"))
}

fn controller_of_kind<'o>(controller: Option<&'o OwnerRef>, kind: &str) -> Option<&'o OwnerRef> {
    controller.filter(|controller| &*controller.kind == kind)
}

fn has_ended(pod: &PodView) -> bool {
    matches!(pod.phase, PodPhase::Failed | PodPhase::Succeeded)
}
