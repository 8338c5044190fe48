//! The pods of a Job: its own, and orphans that its selector matches.

use std::collections::HashSet;

use k8s_openapi::{api::batch::v1::Job, apimachinery::pkg::apis::meta::v1::OwnerReference};
use kubewright::{
    NamespacedName,
    cache::{Metadata, Object},
    controller::{ReconcileError, controller_reference},
};

use super::{
    controller::{JobController, uid},
    job_pod::{JobPod, TRACKING_FINALIZER, has_finalizer},
};
use crate::shared::{
    claim::{ClaimOwner, check_adopter, claim},
    label_matcher::{InvalidSelector, LabelMatcher},
    orphans::Selects,
    pod::PodView,
};

impl Selects for Job {
    fn selector(&self) -> Result<Option<LabelMatcher>, InvalidSelector> {
        let selector = self.spec.as_ref().and_then(|spec| spec.selector.as_ref());
        selector.map(LabelMatcher::new).transpose()
    }
}

impl JobController {
    /// Returns the pods of a Job. Adopts orphans that its selector matches, and releases pods that it no longer matches. A Job without
    /// a usable selector keeps its pods and adopts none.
    pub(super) async fn job_pods(
        &self,
        key: &NamespacedName,
        job: &Job,
    ) -> Result<Vec<JobPod>, ReconcileError> {
        let mut pods: Vec<Object<PodView>> = self.pods.owned_by(job)?.objects().collect();
        let selector = self.selectors.of(job);
        let is_selected = |pod: &Metadata| {
            let selector = selector.as_ref();
            selector.is_none_or(|selector| selector.matches(|key| pod.label(key)))
        };
        if selector.is_some() {
            let namespace = key.namespace().unwrap_or_default();
            let orphans = self.orphans.in_namespace(namespace)?;
            // One that does not decode is not adopted.
            pods.extend(orphans.filter(|pod| is_selected(pod.metadata()) && pod.decode().is_ok()));
        }
        let reference = controller_reference(job);
        let owner = ClaimOwner {
            reference: &reference,
            is_deleting: job.metadata.deletion_timestamp.is_some(),
            finalizers: &[TRACKING_FINALIZER],
        };
        let can_adopt = || self.can_adopt(key, &reference);
        let pods = claim(&owner, pods, is_selected, &self.pod_patcher, can_adopt).await?;
        let cached: HashSet<&str> = pods
            .iter()
            .map(Object::metadata)
            .filter(|pod| has_finalizer(pod))
            .map(Metadata::uid)
            .collect();
        let untracked = self.memory.untracked(uid(job), &cached);
        let pods = pods.iter().map(|pod| {
            let metadata = pod.metadata();
            let is_adopted = metadata.controller().is_none();
            if is_adopted {
                self.memory.remove_untracked(uid(job), metadata.uid());
            }
            let is_tracked = has_finalizer(metadata) && !untracked.contains(metadata.uid());
            // A pod that does not decode is an error: if it were left out, another one would be created.
            Ok(JobPod::decode(pod, is_adopted || is_tracked)?)
        });
        pods.collect()
    }

    async fn can_adopt(&self, key: &NamespacedName, owner: &OwnerReference) -> Result<(), ReconcileError> {
        let fresh = self.job_client.get(key).await?;
        check_adopter(owner, &fresh.metadata)
    }
}
