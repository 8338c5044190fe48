//! Creates missing pods and deletes surplus ones.

use std::{collections::HashMap, sync::Arc};

use kubewright::{
    NamespacedName,
    cache::{Items, Metadata, Owner},
    controller::{ReconcileError, controller_reference},
};

use super::{
    controller::ReplicaController,
    owner::ReplicaOwner,
    plan::{Deletable as _, Scaling, pods_to_delete, scaling},
    replica_pod::{ReplicaPod, is_selected},
    status::Failure,
};
use crate::shared::{
    pod::PodView,
    pod_control::{is_outcome_unknown, message, pod_from_template, reasons},
};

/// The first error of creating or deleting pods, and its condition in the status.
pub(super) struct ScalingError {
    pub(super) failure: Failure,
    pub(super) error: ReconcileError,
}

impl ScalingError {
    fn new(reason: &'static str, message: String, error: impl Into<ReconcileError>) -> Self {
        Self {
            failure: Failure { reason, message },
            error: error.into(),
        }
    }
}

impl<O: ReplicaOwner> ReplicaController<O> {
    /// Creates missing pods, or deletes surplus ones.
    pub(super) async fn scale(
        &self,
        key: &NamespacedName,
        owner: &O,
        active: &[ReplicaPod],
    ) -> Result<(), ScalingError> {
        match scaling(owner.replicas(), active.len(), self.burst) {
            Scaling::Keep => Ok(()),
            Scaling::Create(count) => self.create_pods(key, owner, count).await,
            Scaling::Delete(count) => {
                // If all go, their order does not matter.
                let is_ordered = count < active.len();
                let related = if is_ordered {
                    self.related_pods(owner)
                } else {
                    Vec::new()
                };
                let related = related.iter().map(|pod| &**pod);
                let now = self.clock.now();
                let chosen = pods_to_delete(active, related, count, self.uses_deletion_cost, now);
                if is_ordered {
                    let views = active.iter().map(|pod| &*pod.view);
                    self.age_ratio
                        .observe(views, chosen.iter().map(|pod| &*pod.view), now);
                }
                self.delete_pods(key, owner, &chosen).await
            }
        }
    }

    async fn create_pods(&self, key: &NamespacedName, owner: &O, count: usize) -> Result<(), ScalingError> {
        let pod = pod_from_template(owner.template(), key.namespace(), controller_reference(owner));
        let pod = pod.map_err(|error| ScalingError::new(reasons::FAILED_CREATE, error.to_string(), error))?;
        let (pod, batch) = (&pod, &self.pod_control.batch(owner));
        let create = |_| async move {
            match batch.create(pod).await {
                Ok(()) => Ok(()),
                // Still expected: otherwise each pod that is deleted with the namespace would cause another attempt.
                Err(error) if error.is_namespace_terminating() => Ok(()),
                Err(error) => {
                    if is_outcome_unknown(&error) {
                        self.expectations.creation_observed(key);
                    }
                    Err(error)
                }
            }
        };
        let created = self.expectations.create(key, count, create).await;
        created
            .map(drop)
            .map_err(|error| ScalingError::new(reasons::FAILED_CREATE, message(&error), error))
    }

    async fn delete_pods(
        &self,
        key: &NamespacedName,
        owner: &O,
        pods: &[&ReplicaPod],
    ) -> Result<(), ScalingError> {
        let by_uid: HashMap<&str, &ReplicaPod> = pods.iter().map(|pod| (pod.uid(), *pod)).collect();
        let batch = &self.pod_control.batch(owner);
        let delete = |uid: &str| {
            let pod = by_uid.get(uid).copied();
            async move {
                let Some(pod) = pod else { return Ok(()) };
                let deleted = batch.delete(pod.object.name()).await;
                if deleted.as_ref().is_err_and(is_outcome_unknown) {
                    self.expectations.deletion_observed(key, pod.uid());
                }
                deleted
            }
        };
        let uids = pods.iter().map(|pod| pod.uid());
        let deleted = self.expectations.delete(key, uids, delete).await;
        deleted.map_err(|error| {
            let text = format!("unable to delete pods: {}", message(&error));
            ScalingError::new(reasons::FAILED_DELETE, text, error)
        })
    }

    /// Returns the pods that match the selector of any owner with the same controller, as of any ReplicaSet of a Deployment. Empty for owners
    /// without a controller.
    fn related_pods(&self, owner: &O) -> Vec<Arc<PodView>> {
        let Some(controller) = ControllerOf::of(owner).filter(|_| O::HAS_SIBLINGS) else {
            return Vec::new();
        };
        let siblings = self
            .owners
            .owned_by(&controller)
            .into_iter()
            .flat_map(Items::objects);
        let selectors: Vec<_> = siblings
            .filter_map(|sibling| self.selectors.of_cached(&sibling))
            .collect();
        let is_related = |pod: &Metadata| selectors.iter().any(|selector| is_selected(selector, pod));
        let namespace = controller.name.namespace().unwrap_or_default();
        let pods = self.pods.namespace(namespace).list().objects();
        let related = pods.filter(|pod| is_related(pod.metadata()));
        related.filter_map(|pod| pod.decode().ok()).collect()
    }
}

/// The controller of an owner, such as the Deployment of a ReplicaSet.
struct ControllerOf {
    uid: String,
    name: NamespacedName,
}

impl ControllerOf {
    fn of(owner: &impl kube::Resource) -> Option<Self> {
        let references = owner.meta().owner_references.iter().flatten();
        let controller = references
            .into_iter()
            .find(|reference| reference.controller == Some(true))?;
        let namespace = owner.meta().namespace.as_deref()?;
        Some(Self {
            uid: controller.uid.clone(),
            name: NamespacedName::namespaced(namespace, controller.name.clone()),
        })
    }
}

impl Owner for ControllerOf {
    fn owner_uid(&self) -> Option<&str> {
        Some(&self.uid)
    }

    fn owner_name(&self) -> NamespacedName {
        self.name.clone()
    }
}

#[cfg(test)]
#[path = "scale_tests.rs"]
mod tests;
