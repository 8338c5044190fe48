//! The history of a DaemonSet: the revision of its template, former ones, and when these are deleted.

use std::{collections::HashSet, sync::Arc};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::{
    api::apps::v1::{ControllerRevision, DaemonSet},
    apimachinery::pkg::apis::meta::v1::OwnerReference,
};
use kubewright::{
    NamespacedName,
    client::{ClientError, PatchBody},
    controller::ReconcileError,
};
use serde_json::json;

use super::{
    controller::{DaemonSetController, is_selected},
    pod_template::HASH_LABEL,
    pods::{CachedPod, Revision},
};
use crate::shared::{
    claim::Claimable as _,
    controller_revisions::{Proposal, Unselected, next_number, oldest_unused},
    label_matcher::LabelMatcher,
};

/// How many pods of a DaemonSet are labeled concurrently.
const MAX_CONCURRENT_PATCHES: usize = 16;

/// The history of a DaemonSet.
pub(super) struct History {
    /// The revision of the present template.
    pub(super) revision: Revision,
    /// The other revisions, the lowest number first.
    old: Vec<Arc<ControllerRevision>>,
}

impl DaemonSetController {
    /// Finds or creates the revision of the template. [`None`] if the next reconcile has to continue with what was changed.
    pub(super) async fn history(
        &self,
        key: &NamespacedName,
        daemon_set: &DaemonSet,
        owner: &OwnerReference,
        selector: &LabelMatcher,
        pods: &[CachedPod],
    ) -> Result<Option<History>, ReconcileError> {
        let claimed = self.revisions.claim(
            daemon_set,
            |revision| is_selected(selector, revision),
            Unselected::Release,
            || self.can_adopt(key, owner),
        );
        let revisions = self.with_hash_labels(claimed.await?).await?;
        let template = daemon_set.spec.as_ref().map(|spec| &spec.template);
        let proposal = Proposal::new(daemon_set, template, HASH_LABEL);
        let (current, old): (Vec<_>, Vec<_>) = revisions
            .into_iter()
            .partition(|revision| proposal.find_equal(std::slice::from_ref(revision)).is_some());
        let number = next_number(&old);
        let current = match current.split_last() {
            Some((kept, [])) => kept.clone(),
            Some((kept, duplicates)) => {
                self.merge(kept, duplicates, pods).await?;
                return Ok(None);
            }
            None => {
                let proposed = proposal.revision(number, collision_count(daemon_set));
                let Some(created) = self.revisions.create(&proposed).await? else {
                    self.resolve_collision(key, daemon_set).await?;
                    return Ok(None);
                };
                Arc::new(created)
            }
        };
        if current.revision < number {
            let set_number = |revision: &mut ControllerRevision| revision.revision = number;
            self.revisions.update(&current, set_number).await?;
        }
        let hash = hash(&current).unwrap_or_default().to_owned();
        let revision = Revision::new(daemon_set, hash);
        Ok(Some(History { revision, old }))
    }

    /// Deletes the oldest revisions beyond the limit that no pod has.
    pub(super) async fn clean_up(
        &self,
        history: &History,
        limit: usize,
        pods: &[CachedPod],
    ) -> Result<(), ClientError> {
        let excess = history.old.len().saturating_sub(limit);
        let used: HashSet<&str> = pods.iter().filter_map(CachedPod::hash).collect();
        let is_used = |revision: &ControllerRevision| hash(revision).is_some_and(|hash| used.contains(hash));
        for revision in oldest_unused(&history.old, excess, is_used) {
            self.revisions.delete(revision).await?;
        }
        Ok(())
    }

    /// Adds the hash label to revisions that lack it. Their name is as unique as a hash.
    async fn with_hash_labels(
        &self,
        mut revisions: Vec<Arc<ControllerRevision>>,
    ) -> Result<Vec<Arc<ControllerRevision>>, ClientError> {
        for revision in &mut revisions {
            if hash(revision).is_none() {
                let add_label = |revision: &mut ControllerRevision| {
                    let name = revision.metadata.name.clone().unwrap_or_default();
                    let labels = revision.metadata.labels.get_or_insert_default();
                    labels.insert(HASH_LABEL.to_owned(), name);
                };
                *revision = Arc::new(self.revisions.update(revision, add_label).await?);
            }
        }
        Ok(revisions)
    }

    /// Keeps one of several revisions with the same template: the pods get its label, then the others are deleted.
    async fn merge(
        &self,
        kept: &ControllerRevision,
        duplicates: &[Arc<ControllerRevision>],
        pods: &[CachedPod],
    ) -> Result<(), ClientError> {
        let hash = hash(kept);
        let mut patches = Vec::new();
        for pod in pods.iter().filter(|pod| pod.hash() != hash) {
            patches.push(self.label_pod(pod, hash));
        }
        let patches = stream::iter(patches).buffer_unordered(MAX_CONCURRENT_PATCHES);
        patches.try_collect::<()>().await?;
        for duplicate in duplicates {
            self.revisions.delete(duplicate).await?;
        }
        Ok(())
    }

    /// Sets the hash label of a pod. A pod that is gone needs none.
    async fn label_pod(&self, pod: &CachedPod, hash: Option<&str>) -> Result<(), ClientError> {
        let metadata = pod.metadata();
        // The uid is a precondition.
        let patch = json!({"metadata": {"uid": metadata.uid(), "labels": {HASH_LABEL: hash}}});
        let patched = self.pod_patcher.patch(metadata.name(), &PatchBody::Merge(patch));
        match patched.await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    /// Increments the count of collisions: the name that follows from the template belongs to a revision with other data. Not if another
    /// reconcile did so, which the cache will show.
    async fn resolve_collision(
        &self,
        key: &NamespacedName,
        daemon_set: &DaemonSet,
    ) -> Result<(), ClientError> {
        let mut fresh = self.daemon_sets_client.get(key).await?;
        let is_same = fresh.metadata.uid == daemon_set.metadata.uid;
        if is_same && collision_count(&fresh) == collision_count(daemon_set) {
            let count = &mut fresh.status.get_or_insert_default().collision_count;
            *count = Some(count.unwrap_or_default().wrapping_add(1));
            tracing::debug!(%key, ?count, "the name of the revision belongs to another template");
            self.daemon_sets_client.update_status(&fresh).await?;
        }
        Ok(())
    }
}

fn hash(revision: &ControllerRevision) -> Option<&str> {
    let labels = revision.metadata.labels.as_ref()?;
    labels.get(HASH_LABEL).map(String::as_str)
}

fn collision_count(daemon_set: &DaemonSet) -> Option<i32> {
    daemon_set.status.as_ref()?.collision_count
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
