//! Deletion order: which pods of an owner are deleted first.

use std::{
    cmp::{Ordering, Reverse},
    collections::HashMap,
};

use k8s_openapi::jiff::Timestamp;

use super::pod::{PodPhase, PodView};

/// The rank of a pod: lower ranks are deleted first. The first rule that tells two pods apart decides:
///
/// 1. Pods without a node.
/// 2. Pending, then unknown, then running pods.
/// 3. Pods that are not ready.
/// 4. The lower deletion cost.
/// 5. More related pods on the same node.
/// 6. Pods that have been ready for a shorter time.
/// 7. More restarts of a container, then of a sidecar.
/// 8. Younger pods.
///
/// Times are compared on a logarithmic scale. Of two pods that have been ready for 5 and 7 hours, the one with the lower uid is deleted
/// first, which is a random choice.
#[derive(Clone, Debug)]
pub(crate) struct DeletionRank<'p> {
    is_assigned: bool,
    phase: u8,
    is_ready: bool,
    cost: i32,
    neighbours: Reverse<usize>,
    ready: Age<'p>,
    restarts: Reverse<(i32, i32)>,
    created: Age<'p>,
}

/// A time, and how long ago it was, as a power of two.
#[derive(Clone, Debug)]
struct Age<'p> {
    since: Option<Timestamp>,
    magnitude: Option<u32>,
    uid: &'p str,
}

impl<'p> DeletionRank<'p> {
    /// Ranks a pod. `neighbours` is the number of related active pods on its node.
    pub(crate) fn new(
        pod: &PodView,
        uid: &'p str,
        neighbours: usize,
        uses_deletion_cost: bool,
        now: Timestamp,
    ) -> Self {
        Self {
            is_assigned: !pod.node.is_empty(),
            phase: phase_rank(pod.phase),
            is_ready: pod.is_ready(),
            cost: if uses_deletion_cost {
                pod.deletion_cost()
            } else {
                0
            },
            neighbours: Reverse(neighbours),
            ready: Age::new(pod.ready_since(), uid, now),
            restarts: Reverse(pod.max_restarts()),
            created: Age::new(pod.created_at(), uid, now),
        }
    }

    /// Compares two ranks. Not a total order: pods with equal times are compared by their restarts, pods with times of the same magnitude
    /// by uid, which is not transitive. Do not pass it to `sort`, which may panic.
    fn compare(&self, other: &Self) -> Ordering {
        let key = |rank: &Self| {
            (
                rank.is_assigned,
                rank.phase,
                rank.is_ready,
                rank.cost,
                rank.neighbours,
            )
        };
        key(self)
            .cmp(&key(other))
            .then_with(|| self.ready.compare(&other.ready))
            .then_with(|| self.restarts.cmp(&other.restarts))
            .then_with(|| self.created.compare(&other.created))
    }
}

impl<'p> Age<'p> {
    fn new(since: Option<Timestamp>, uid: &'p str, now: Timestamp) -> Self {
        let age = since.map(|since| now.duration_since(since).as_nanos());
        Self {
            since,
            // None for a time in the future: less than any magnitude.
            magnitude: age.and_then(|age| u128::try_from(age).ok()?.checked_ilog2()),
            uid,
        }
    }

    /// Compares ages, the shortest first. An unknown time is the shortest.
    fn compare(&self, other: &Self) -> Ordering {
        match (self.since, other.since) {
            (one, two) if one == two => Ordering::Equal,
            (None, _) => Ordering::Less,
            (_, None) => Ordering::Greater,
            _ => self
                .magnitude
                .cmp(&other.magnitude)
                .then_with(|| self.uid.cmp(other.uid)),
        }
    }
}

/// The rank of a phase: pending, then unknown, then running pods.
pub(crate) fn phase_rank(phase: PodPhase) -> u8 {
    match phase {
        PodPhase::Running => 2,
        PodPhase::Unknown => 1,
        PodPhase::Pending | PodPhase::Succeeded | PodPhase::Failed | PodPhase::Unset => 0,
    }
}

/// Returns the `count` items with the lowest ranks, in order.
pub(crate) fn choose<'p, T>(ranked: impl IntoIterator<Item = (DeletionRank<'p>, T)>, count: usize) -> Vec<T> {
    let mut first: Vec<(DeletionRank<'p>, T)> = Vec::with_capacity(count + 1);
    for (rank, item) in ranked {
        let position = first.partition_point(|(other, _)| other.compare(&rank).is_le());
        if position < count {
            first.insert(position, (rank, item));
            first.truncate(count);
        }
    }
    first.into_iter().map(|(_, item)| item).collect()
}

/// Counts the active pods of each node. Those without a node count together.
pub(crate) fn count_by_node<'p>(pods: impl Iterator<Item = &'p PodView>) -> HashMap<&'p str, usize> {
    let mut counts = HashMap::new();
    for pod in pods.filter(|pod| pod.is_active()) {
        *counts.entry(&*pod.node).or_default() += 1;
    }
    counts
}

#[cfg(test)]
#[path = "active_pods_tests.rs"]
mod tests;
