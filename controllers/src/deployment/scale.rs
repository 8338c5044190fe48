//! Scaling: a Deployment that is scaled during a rollout, or while it is paused, scales its ReplicaSets in proportion, so that a bad template
//! gets no larger part of the pods.

use super::{
    annotations::{self, DESIRED_REPLICAS, MAX_REPLICAS},
    desired::{DesiredState, Strategy},
    plan::Rollout,
    replica_sets::{ReplicaSetGroup, TrackedReplicaSet},
};

/// Whether the Deployment's replicas changed since the size of one of its ReplicaSets did.
///
/// Several ReplicaSets of the strategy Recreate are the rollout's business, which scales as well.
pub(super) fn is_scaling_event(rollout: &Rollout<'_>) -> bool {
    let (desired, group) = (&rollout.desired, &rollout.group);
    if desired.strategy == Strategy::Recreate && active(group).count() > 1 {
        return false;
    }
    active(group).any(|replica_set| has_other_desired(replica_set, desired))
}

fn active(group: &ReplicaSetGroup) -> impl Iterator<Item = &TrackedReplicaSet> {
    group.all().filter(|replica_set| replica_set.is_active())
}

fn has_other_desired(replica_set: &TrackedReplicaSet, desired: &DesiredState) -> bool {
    annotations::recorded_size(replica_set, DESIRED_REPLICAS)
        .is_some_and(|recorded| recorded != desired.replicas)
}

/// Scales the ReplicaSets to the Deployment's replicas.
pub(super) fn scale(rollout: &mut Rollout<'_>) {
    let desired = rollout.desired;
    if let Some(only) = only_active_or_latest(&mut rollout.group) {
        if !resize(only, desired.replicas, &desired) && has_other_desired(only, &desired) {
            // Another program gave it this size. Without the record it would be a scaling event forever, and nothing would be rolled out.
            record_sizes(only, &desired);
        }
    } else if is_saturated(&rollout.group, &desired) {
        for old in &mut rollout.group.old {
            resize(old, 0, &desired);
        }
    } else if desired.strategy != Strategy::Recreate {
        scale_in_proportion(rollout);
    }
}

/// Changes the size of a ReplicaSet, and records the Deployment's. Returns whether the size differs.
pub(super) fn resize(replica_set: &mut TrackedReplicaSet, size: i64, desired: &DesiredState) -> bool {
    if replica_set.size() == size {
        return false;
    }
    replica_set.set_size(size);
    record_sizes(replica_set, desired);
    true
}

fn record_sizes(replica_set: &mut TrackedReplicaSet, desired: &DesiredState) {
    let sizes = annotations::of_sizes(desired);
    if sizes
        .iter()
        .all(|(key, size)| replica_set.annotation(key) == Some(size))
    {
        return;
    }
    let mut annotations = replica_set.annotations();
    annotations.extend(sizes.map(|(key, value)| (key.to_owned(), value)));
    replica_set.set_annotations(annotations);
}

/// Returns the only ReplicaSet that has pods, or the newest if none has; none if several have.
fn only_active_or_latest(group: &mut ReplicaSetGroup) -> Option<&mut TrackedReplicaSet> {
    match active(group).count() {
        0 => group.new.as_mut().or(group.old.last_mut()),
        1 => group.all_mut().find(|replica_set| replica_set.is_active()),
        _ => None,
    }
}

/// Whether the new ReplicaSet has all replicas, and they are available.
fn is_saturated(group: &ReplicaSetGroup, desired: &DesiredState) -> bool {
    group.new.as_ref().is_some_and(|new| {
        let available = new.count(|status| status.available_replicas);
        let recorded = annotations::recorded_size(new, DESIRED_REPLICAS);
        new.size() == desired.replicas && recorded == Some(desired.replicas) && available == desired.replicas
    })
}

/// Distributes the pods that are to be added or removed over the ReplicaSets that have pods, in proportion to their sizes. What rounding
/// leaves over goes to the largest. Of two of the same size the newer is scaled up first, and the older down.
fn scale_in_proportion(rollout: &mut Rollout<'_>) {
    let desired = rollout.desired;
    let status_replicas = i64::from(rollout.status.replicas.unwrap_or_default());
    let mut active: Vec<_> = rollout.group.all_mut().filter(|one| one.is_active()).collect();
    let total: i64 = active.iter().map(|one| one.size()).sum();
    let allowed = if desired.replicas > 0 {
        desired.max_replicas()
    } else {
        0
    };
    let to_add = allowed - total;
    active.sort_by(|left, right| {
        let age = left.by_age(right);
        let largest_first = right.size().cmp(&left.size());
        largest_first.then(if to_add > 0 { age.reverse() } else { age })
    });
    let mut added = 0;
    let mut sizes: Vec<i64> = Vec::with_capacity(active.len());
    for replica_set in &active {
        let part = proportion(replica_set, &desired, status_replicas, to_add, added);
        sizes.push(replica_set.size() + part);
        added += part;
    }
    if let Some(largest) = sizes.first_mut() {
        *largest = (*largest + to_add - added).max(0);
    }
    for (replica_set, size) in active.into_iter().zip(sizes) {
        resize(replica_set, size, &desired);
        record_sizes(replica_set, &desired);
    }
}

/// Returns a ReplicaSet's part of the pods that are to be added, or removed if it is negative: no more than are left of them.
fn proportion(
    replica_set: &TrackedReplicaSet,
    desired: &DesiredState,
    status_replicas: i64,
    to_add: i64,
    added: i64,
) -> i64 {
    let left = to_add - added;
    if left == 0 {
        return 0;
    }
    let fraction = fraction(replica_set, desired, status_replicas);
    if to_add > 0 {
        fraction.min(left)
    } else {
        fraction.max(left)
    }
}

/// Returns how a ReplicaSet's size changes if it keeps its part of all pods.
fn fraction(replica_set: &TrackedReplicaSet, desired: &DesiredState, status_replicas: i64) -> i64 {
    let size = replica_set.size();
    if desired.replicas == 0 {
        return -size;
    }
    // Without the record, which another program may remove, the pods that exist are the base.
    let recorded = annotations::recorded_size(replica_set, MAX_REPLICAS).filter(|recorded| *recorded != 0);
    let base = recorded.unwrap_or(status_replicas);
    if base <= 0 {
        return 0;
    }
    rounded_quotient(size, desired.max_replicas(), base) - size
}

/// Returns `size * factor / divisor`, rounded to the nearest number.
fn rounded_quotient(size: i64, factor: i64, divisor: i64) -> i64 {
    let doubled = 2 * i128::from(size) * i128::from(factor) + i128::from(divisor);
    i64::try_from(doubled / (2 * i128::from(divisor))).unwrap_or(i64::MAX)
}

#[cfg(test)]
#[path = "scale_tests.rs"]
mod tests;
