//! Rolling updates: the new ReplicaSet grows and the old ones shrink, within the limits of surge and unavailable replicas.

use super::{
    desired::{DesiredState, Strategy},
    history,
    plan::Rollout,
    progress,
    replica_sets::{ReplicaSetGroup, TrackedReplicaSet},
    revision,
    scale::resize,
};

/// Takes one step of a rolling update: grows the new ReplicaSet, or else shrinks the old ones.
pub(super) fn roll_out(rollout: &mut Rollout<'_>) {
    revision::sync_or_create(rollout);
    let (desired, group) = (&rollout.desired, &mut rollout.group);
    if scale_new(desired, group) || scale_down_old(desired, group) {
        return;
    }
    if progress::is_complete(rollout, &rollout.status) {
        history::clean_up(rollout);
    }
}

/// Returns the size of the new ReplicaSet: as large as the surge allows, if all of them together have `total` pods.
pub(super) fn size_of_new(desired: &DesiredState, total: i64, size: i64) -> i64 {
    match desired.strategy {
        Strategy::Recreate => desired.replicas,
        Strategy::RollingUpdate { .. } if total >= desired.max_replicas() => size,
        Strategy::RollingUpdate { .. } => {
            let room = desired.max_replicas() - total;
            size + room.min(desired.replicas - size)
        }
    }
}

/// Resizes the new ReplicaSet. Returns whether its size changed.
fn scale_new(desired: &DesiredState, group: &mut ReplicaSetGroup) -> bool {
    let total = group.size();
    let Some(new) = &mut group.new else {
        return false;
    };
    let size = if new.size() > desired.replicas {
        desired.replicas
    } else {
        size_of_new(desired, total, new.size())
    };
    resize(new, size, desired)
}

/// Shrinks the old ReplicaSets: first by pods that are not available, which cost no availability, then by those that the new ReplicaSet
/// replaces. Returns whether a size changed.
///
/// Pods of the new ReplicaSet that are not available count as missing, so that a template whose pods never become available does not use
/// up what is left of the old ones. Nothing shrinks while a status is about a former size: a ReplicaSet that shrank and grew again in quick
/// succession may have lost the pods that its status counts. Upstream has no such rule.
fn scale_down_old(desired: &DesiredState, group: &mut ReplicaSetGroup) -> bool {
    if group.all().any(|one| one.is_active() && !one.is_observed()) {
        return false;
    }
    let unavailable_new = group.new.as_ref().map_or(0, |new| new.size() - new.available());
    let spare = group.size() - desired.min_available() - unavailable_new;
    if spare <= 0 {
        return false;
    }
    let unhealthy = remove_unhealthy(desired, &mut group.old, spare);
    let available = group.all().map(TrackedReplicaSet::available).sum::<i64>();
    let replaced = shrink(desired, &mut group.old, available - desired.min_available());
    unhealthy + replaced > 0
}

/// Removes at most `limit` pods that are not available, of the oldest ReplicaSets first: ReplicaSets delete such pods first. Returns how
/// many.
fn remove_unhealthy(desired: &DesiredState, old: &mut [TrackedReplicaSet], limit: i64) -> i64 {
    shrink_by(desired, old, limit, |replica_set| {
        replica_set.size() - replica_set.available()
    })
}

/// Removes at most `limit` pods, of the oldest ReplicaSets first. Returns how many.
fn shrink(desired: &DesiredState, old: &mut [TrackedReplicaSet], limit: i64) -> i64 {
    shrink_by(desired, old, limit, TrackedReplicaSet::size)
}

fn shrink_by(
    desired: &DesiredState,
    old: &mut [TrackedReplicaSet],
    limit: i64,
    removable: impl Fn(&TrackedReplicaSet) -> i64,
) -> i64 {
    let mut removed = 0;
    for replica_set in old {
        let count = removable(replica_set).min(limit - removed);
        if count > 0 {
            resize(replica_set, replica_set.size() - count, desired);
            removed += count;
        }
    }
    removed
}

#[cfg(test)]
#[path = "rolling_tests.rs"]
mod tests;
