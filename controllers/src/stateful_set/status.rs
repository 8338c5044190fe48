//! The status: counts of the pods, and the names of revisions.

use k8s_openapi::{
    api::apps::v1::{StatefulSet, StatefulSetStatus},
    jiff::Timestamp,
};

use super::{
    desired::{DesiredSet, UpdateStrategy},
    plan::StatefulPod,
};
use crate::shared::pod::PodPhase;

/// The names of the current revision and of the one to which the set is updated.
#[derive(Clone, Copy, Debug)]
pub(super) struct RevisionNames<'r> {
    pub(super) current: &'r str,
    pub(super) update: &'r str,
}

/// The pods of a set, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ReplicaCounts {
    pub(super) replicas: i32,
    pub(super) ready: i32,
    pub(super) available: i32,
    /// Of the current revision, and not being deleted.
    pub(super) current: i32,
    /// Of the revision to which the set is updated, and not being deleted.
    pub(super) updated: i32,
}

impl ReplicaCounts {
    pub(super) fn of<'p>(
        pods: impl Iterator<Item = &'p StatefulPod>,
        revisions: RevisionNames<'_>,
        min_ready_seconds: i32,
        now: Timestamp,
    ) -> Self {
        pods.fold(Self::default(), |counts, pod| {
            let view = &pod.view;
            let is_created = view.phase != PodPhase::Unset;
            let is_ready = view.phase == PodPhase::Running && view.is_ready();
            let is_available = is_ready && view.is_available(min_ready_seconds, now);
            let is_of = |name| {
                is_created && view.deleted.is_none() && pod.revision.as_deref().unwrap_or_default() == name
            };
            Self {
                replicas: counts.replicas + i32::from(is_created),
                ready: counts.ready + i32::from(is_ready),
                available: counts.available + i32::from(is_available),
                current: counts.current + i32::from(is_of(revisions.current)),
                updated: counts.updated + i32::from(is_of(revisions.update)),
            }
        })
    }
}

/// Returns the next status. When all replicas are ready and of the new revision, that becomes the current one.
pub(super) fn next(
    set: &StatefulSet,
    desired: &DesiredSet,
    counts: ReplicaCounts,
    revisions: RevisionNames<'_>,
    collision_count: i32,
) -> StatefulSetStatus {
    let old = set.status.as_ref();
    let replicas = i32::try_from(desired.replicas).unwrap_or(i32::MAX);
    let is_rolling = matches!(desired.strategy, UpdateStrategy::RollingUpdate { .. });
    let is_complete = is_rolling
        && [counts.updated, counts.ready, counts.replicas]
            .iter()
            .all(|count| *count == replicas);
    let (current_revision, current) = if is_complete {
        (revisions.update, counts.updated)
    } else {
        (revisions.current, counts.current)
    };
    StatefulSetStatus {
        observed_generation: set.metadata.generation,
        replicas: counts.replicas,
        ready_replicas: Some(counts.ready),
        available_replicas: Some(counts.available),
        current_replicas: Some(current.max(0)),
        updated_replicas: Some(counts.updated),
        current_revision: Some(current_revision.to_owned()),
        update_revision: Some(revisions.update.to_owned()),
        collision_count: Some(collision_count),
        // Others wrote them: upstream writes none, and drops those of others.
        conditions: old.and_then(|status| status.conditions.clone()),
    }
}

/// Whether the status must be written. The count of collisions alone is not a reason, as upstream: it follows from a new revision.
pub(super) fn is_changed(old: Option<&StatefulSetStatus>, new: &StatefulSetStatus) -> bool {
    let default = StatefulSetStatus::default();
    let key = |status: &StatefulSetStatus| {
        let number = |number: Option<i32>| number.unwrap_or(0);
        let name = |name: &Option<String>| name.clone().unwrap_or_default();
        (
            [
                status.replicas,
                number(status.ready_replicas),
                number(status.available_replicas),
                number(status.current_replicas),
                number(status.updated_replicas),
            ],
            [name(&status.current_revision), name(&status.update_revision)],
        )
    };
    let old = old.unwrap_or(&default);
    new.observed_generation.unwrap_or(0) > old.observed_generation.unwrap_or(0) || key(old) != key(new)
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
