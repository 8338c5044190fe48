//! Carries a step out: creates and deletes pods.

use std::{
    collections::HashMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures::{StreamExt as _, stream};
use k8s_openapi::api::{batch::v1::Job, scheduling::v1alpha2::PodGroup};
use kubewright::{NamespacedName, client::ClientError, controller::ReconcileError};

use super::{
    controller::JobController,
    finalizers::remove_finalizer,
    job_pod::JobPod,
    new_pod::{NewIndex, NewPods},
    plan::{Assessment, PodStep},
    progress::PodChanges,
};
use crate::shared::pod_control::{PodBatch, is_outcome_unknown};

/// How many pods of an ended Job are deleted concurrently.
const MAX_CONCURRENT_DELETIONS: usize = 32;

impl JobController {
    /// Carries a step out. Returns what changed, and the first error.
    pub(super) async fn carry_out(
        &self,
        key: &NamespacedName,
        job: &Job,
        assessment: &Assessment<'_>,
        step: &PodStep<'_>,
        group: Option<&PodGroup>,
    ) -> (PodChanges, Option<ReconcileError>) {
        match step {
            PodStep::End(pods) => self.end_pods(job, pods).await,
            PodStep::Remove(pods) => self.remove_pods(key, job, pods).await,
            PodStep::Create(indexes) if !indexes.is_empty() => {
                let indexes: Vec<_> = indexes
                    .iter()
                    .map(|index| new_index(assessment, *index))
                    .collect();
                self.create_pods(key, job, &indexes, group).await
            }
            PodStep::Create(_) | PodStep::Wait(_) | PodStep::Keep | PodStep::Await => {
                (PodChanges::default(), None)
            }
        }
    }

    async fn create_pods(
        &self,
        key: &NamespacedName,
        job: &Job,
        indexes: &[Option<NewIndex>],
        group: Option<&PodGroup>,
    ) -> (PodChanges, Option<ReconcileError>) {
        let pods = match NewPods::of(job, group) {
            Ok(pods) => &pods.clone(),
            Err(error) => return (PodChanges::default(), Some(error.into())),
        };
        let (created, failed) = (&AtomicUsize::new(0), &AtomicUsize::new(0));
        let batch = &self.pod_control.batch(job);
        let create = |position: usize| {
            let pod = pods.pod(indexes.get(position).copied().flatten());
            async move {
                match batch.create(&pod).await {
                    Ok(()) => {}
                    // Still expected: otherwise each pod that is deleted with the namespace would cause another attempt.
                    Err(error) if error.is_namespace_terminating() => {}
                    Err(error) => {
                        failed.fetch_add(1, Ordering::Relaxed);
                        return Err(error);
                    }
                }
                created.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
        };
        let result = self.expectations.create(key, indexes.len(), create).await;
        let changes = PodChanges {
            created: created.load(Ordering::Relaxed),
            failed_creations: failed.load(Ordering::Relaxed),
            ..PodChanges::default()
        };
        (changes, result.err().map(Into::into))
    }

    /// Deletes pods that must not be counted: without their finalizers.
    async fn remove_pods(
        &self,
        key: &NamespacedName,
        job: &Job,
        pods: &[&JobPod],
    ) -> (PodChanges, Option<ReconcileError>) {
        let uid = job.metadata.uid.as_deref().unwrap_or_default();
        let by_uid: HashMap<&str, &JobPod> = pods.iter().map(|pod| (&*pod.uid, *pod)).collect();
        let deleted = &Mutex::new(PodChanges::default());
        let batch = &self.pod_control.batch(job);
        let delete = |pod_uid: &str| {
            let pod = by_uid.get(pod_uid).copied();
            async move {
                let Some(pod) = pod else { return Ok(()) };
                let result = self.remove_pod(batch, uid, pod).await;
                if result.as_ref().is_err_and(is_outcome_unknown) {
                    self.expectations.deletion_observed(key, &pod.uid);
                }
                if is_gone(&result) {
                    add_deleted(&mut deleted.lock().unwrap_or_else(PoisonError::into_inner), pod);
                }
                result
            }
        };
        let uids = pods.iter().map(|pod| &*pod.uid);
        let result = self.expectations.delete(key, uids, delete).await;
        let changes = *deleted.lock().unwrap_or_else(PoisonError::into_inner);
        (changes, result.err().map(Into::into))
    }

    async fn remove_pod(&self, batch: &PodBatch<'_>, uid: &str, pod: &JobPod) -> Result<(), ClientError> {
        if pod.is_tracked {
            self.memory.add_untracked(uid, [&*pod.uid]);
            if let Err(error) = remove_finalizer(&self.pod_patcher, &pod.name).await {
                self.memory.remove_untracked(uid, &pod.uid);
                return Err(error);
            }
        }
        batch.delete(&pod.name).await
    }

    /// Deletes the active pods of a Job that has ended. They keep their finalizers until they are counted.
    async fn end_pods(&self, job: &Job, pods: &[&JobPod]) -> (PodChanges, Option<ReconcileError>) {
        let batch = &self.pod_control.batch(job);
        let deletions: Vec<_> = pods
            .iter()
            .map(|pod| async move { (*pod, batch.delete(&pod.name).await) })
            .collect();
        let mut deletions = stream::iter(deletions).buffer_unordered(MAX_CONCURRENT_DELETIONS);
        let (mut changes, mut failed) = (PodChanges::default(), None);
        while let Some((pod, deleted)) = deletions.next().await {
            if is_gone(&deleted) {
                add_deleted(&mut changes, pod);
            }
            if let Err(error) = deleted
                && !error.is_not_found()
            {
                failed.get_or_insert(error);
            }
        }
        (changes, failed.map(Into::into))
    }
}

fn new_index(assessment: &Assessment<'_>, index: Option<u32>) -> Option<NewIndex> {
    let rules = assessment.rules;
    index.map(|index| NewIndex {
        index,
        failures: rules
            .backoff_limit_per_index
            .map(|_| assessment.indexes.failures(rules, index)),
    })
}

fn is_gone(deleted: &Result<(), ClientError>) -> bool {
    deleted.as_ref().err().is_none_or(ClientError::is_not_found)
}

fn add_deleted(changes: &mut PodChanges, pod: &JobPod) {
    changes.deleted += 1;
    changes.deleted_ready += usize::from(pod.view.is_ready());
}
