//! How many pods to create or delete, and which ones to delete.

use std::collections::HashMap;

use k8s_openapi::jiff::Timestamp;

use crate::shared::{
    active_pods::{DeletionRank, choose, count_by_node},
    pod::PodView,
};

/// How an owner gets the number of pods that it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scaling {
    /// It has them.
    Keep,
    /// Create so many pods.
    Create(usize),
    /// Delete so many pods.
    Delete(usize),
}

/// Plans the change from the number of active pods to that of wanted ones. At most `burst` pods are created or deleted at once; the next
/// reconcile continues.
pub(super) fn scaling(wanted: i32, active: usize, burst: usize) -> Scaling {
    let wanted = usize::try_from(wanted).unwrap_or(0);
    let limited = |count: usize| count.min(burst);
    match (wanted.saturating_sub(active), active.saturating_sub(wanted)) {
        (0, 0) => Scaling::Keep,
        (missing, 0) => Scaling::Create(limited(missing)),
        (_, surplus) => Scaling::Delete(limited(surplus)),
    }
}

/// A pod of the owner that may be deleted.
pub(super) trait Deletable {
    fn uid(&self) -> &str;
    fn view(&self) -> &PodView;
}

/// Returns the `count` pods to delete. `related` are the pods of the same application, including the owner's: among otherwise equal pods,
/// those with more related pods on their node are deleted first.
pub(super) fn pods_to_delete<'p, P: Deletable>(
    pods: &'p [P],
    related: impl IntoIterator<Item = &'p PodView>,
    count: usize,
    uses_deletion_cost: bool,
    now: Timestamp,
) -> Vec<&'p P> {
    if count >= pods.len() {
        return pods.iter().collect();
    }
    let neighbours: HashMap<&str, usize> = count_by_node(related.into_iter());
    let ranked = pods.iter().map(|pod| {
        let neighbours = neighbours.get(&*pod.view().node).copied().unwrap_or(0);
        let rank = DeletionRank::new(pod.view(), pod.uid(), neighbours, uses_deletion_cost, now);
        (rank, pod)
    });
    choose(ranked, count)
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
