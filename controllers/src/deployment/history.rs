//! The history: old ReplicaSets without pods, which a Deployment can be rolled back to. The oldest revisions are deleted when it is full.

use super::{plan::Rollout, replica_sets::TrackedReplicaSet, revision::revision_of};

/// Deletes the old ReplicaSets that exceed the limit. Those that have pods, or may have, stay, and count.
pub(super) fn clean_up(rollout: &mut Rollout<'_>) {
    let Some(limit) = rollout.desired.history_limit else {
        return;
    };
    let old = rollout.group.old.iter();
    let mut kept: Vec<_> = old
        .filter(|old| old.object().metadata.deletion_timestamp.is_none())
        .collect();
    let excess = kept.len().saturating_sub(limit);
    kept.sort_by(|left, right| {
        let revision = |old| revision_of(old).unwrap_or(0);
        revision(left)
            .cmp(&revision(right))
            .then_with(|| left.by_age(right))
    });
    let unused = kept.into_iter().take(excess).filter(|old| is_unused(old));
    rollout.expired = unused.map(|old| old.object().clone()).collect();
}

/// Whether a ReplicaSet has no pods, and its status is up to date about that.
fn is_unused(replica_set: &TrackedReplicaSet) -> bool {
    replica_set.is_observed()
        && replica_set.size() == 0
        && replica_set.count(|status| Some(status.replicas)) == 0
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
