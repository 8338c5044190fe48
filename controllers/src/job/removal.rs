//! Which active pods to delete when there are too many.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashSet},
};

use k8s_openapi::jiff::Timestamp;

use super::{job_pod::JobPod, rules::JobRules};
use crate::shared::active_pods::phase_rank;

/// The order of deletion, the first first: pods without a node; pending, then unknown, then running ones; those that are not ready;
/// those that became ready last; those with more restarts; the youngest.
type RemovalOrder = (
    bool,
    u8,
    bool,
    Option<Reverse<Timestamp>>,
    Reverse<(i32, i32)>,
    Option<Reverse<Timestamp>>,
);

fn removal_order(pod: &JobPod) -> RemovalOrder {
    let view = &pod.view;
    (
        !view.node.is_empty(),
        phase_rank(view.phase),
        view.is_ready(),
        view.ready_since().map(Reverse),
        Reverse(view.max_restarts()),
        view.created_at().map(Reverse),
    )
}

/// Returns the active pods to delete: at least `surplus`, and all that have no valid index, or an index of which another pod is kept.
pub(super) fn pods_to_remove<'p>(
    rules: &JobRules<'_>,
    active: &[&'p JobPod],
    surplus: usize,
) -> Vec<&'p JobPod> {
    let mut ordered = active.to_vec();
    ordered.sort_by_cached_key(|pod| removal_order(pod));
    let mut removed = Vec::new();
    if rules.indexes.is_some() {
        // The last pod of each index stays.
        let kept: BTreeMap<u32, &str> = ordered
            .iter()
            .filter_map(|pod| Some((pod.valid_index(rules)?, &*pod.uid)))
            .collect();
        let kept: HashSet<&str> = kept.into_values().collect();
        (ordered, removed) = ordered.into_iter().partition(|pod| kept.contains(&*pod.uid));
    }
    let more = surplus.saturating_sub(removed.len());
    removed.extend(ordered.into_iter().take(more));
    removed
}

#[cfg(test)]
#[path = "removal_tests.rs"]
mod tests;
