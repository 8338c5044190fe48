//! Removes the tracking finalizer from pods that no Job counts: pods without a controller, and those of Jobs that have finished or do not
//! exist any more. Otherwise the finalizer would keep them forever.

use k8s_openapi::api::batch::v1::Job;
use kubewright::{
    NamespacedName,
    cache::{Change, Lister, LookupError, Metadata},
    client::{Patch, TypedClient},
    controller::{Action, ReconcileError, Reconciler},
};

use super::{
    features::Features, finalizers::remove_finalizer, job_pod::has_finalizer, rules::is_managed_externally,
};
use crate::shared::{ended::ended, finished_job::finished_condition, pod::PodView};

/// The controller of orphan pods.
pub(super) struct OrphanPods {
    pub(super) pods: Lister<PodView>,
    pub(super) owners: JobOwners,
    pub(super) pod_patcher: TypedClient<PodView, (Patch,)>,
}

/// The Jobs as owners of pods.
#[derive(Clone)]
pub(super) struct JobOwners {
    pub(super) jobs: Lister<Job>,
    pub(super) features: Features,
}

impl Reconciler for OrphanPods {
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let Some(pod) = self.pods.object(key) else {
            return Ok(Action::await_change());
        };
        if has_finalizer(pod.metadata()) && self.owners.is_orphan(pod.metadata())? {
            remove_finalizer(&self.pod_patcher, key).await?;
        }
        Ok(Action::await_change())
    }
}

impl JobOwners {
    /// Whether no Job counts the pod.
    fn is_orphan(&self, pod: &Metadata) -> Result<bool, LookupError> {
        let Some(controller) = pod.controller() else {
            return Ok(true);
        };
        if &*controller.kind != "Job" || &*controller.api_version != "batch/v1" {
            // The finalizer is its controller's.
            return Ok(false);
        }
        let namespace = pod.name().namespace().unwrap_or_default();
        let name = NamespacedName::namespaced(namespace, controller.name.clone());
        match self.jobs.get(&name) {
            Ok(job) if job.metadata.uid.as_deref() == Some(&*controller.uid) => {
                Ok(finished_condition(&job).is_some() && !is_managed_externally(&job, self.features))
            }
            Ok(_) | Err(LookupError::NotFound { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Whether a changed pod may be an orphan. One of a Job that the cache does not have counts only while it is being deleted: the Job may
    /// have been created just now.
    pub(super) fn may_be_orphan(&self, change: &Change<'_>) -> bool {
        let pod = match change {
            Change::Added { new, .. } | Change::Updated { new, .. } => new,
            Change::Deleted { .. } => return false,
        };
        // The reconcile reports Jobs that do not decode.
        has_finalizer(pod)
            && (pod.controller().is_none() || pod.is_deleting() && self.is_orphan(pod).unwrap_or(true))
    }
}

/// Returns the pods with the finalizer of a Job that was deleted.
pub(super) fn pods_of_deleted_job(pods: &Lister<PodView>, change: &Change<'_>) -> Vec<NamespacedName> {
    ended(change)
        .map(|job| tracked_pods(pods, job))
        .unwrap_or_default()
}

/// Returns the pods with the finalizer that the Job controls.
pub(super) fn tracked_pods(
    pods: &Lister<PodView>,
    job: &impl kubewright::cache::Owner,
) -> Vec<NamespacedName> {
    // A Job has a uid; without one the question cannot be answered.
    let Ok(pods) = pods.owned_by(job) else {
        return Vec::new();
    };
    let pods = pods.objects().filter(|pod| has_finalizer(pod.metadata()));
    pods.map(|pod| pod.name().clone()).collect()
}
