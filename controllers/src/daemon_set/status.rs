//! The status of a DaemonSet: on how many nodes its pods should run, and do.

use k8s_openapi::api::apps::v1::DaemonSetStatus;

use super::{placement::NodeDecision, plan::Observed, pods::seniority};

/// The nodes of a DaemonSet, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NodeCounts {
    /// Nodes on which a pod should run.
    pub(super) desired: usize,
    /// Of these, nodes that have a pod. The other counts are about its oldest one.
    pub(super) current: usize,
    /// Nodes that have a pod and should not.
    pub(super) misscheduled: usize,
    pub(super) ready: usize,
    pub(super) available: usize,
    pub(super) updated: usize,
}

impl NodeCounts {
    pub(super) fn of(observed: &Observed<'_>) -> Self {
        let mut counts = Self::default();
        for (node, decision) in &observed.nodes {
            let is_desired = *decision == NodeDecision::Run;
            counts.desired += usize::from(is_desired);
            let pods = observed.pods.get(node).into_iter().flatten();
            let Some(oldest) = pods.min_by_key(|pod| seniority(pod)) else {
                continue;
            };
            if !is_desired {
                counts.misscheduled += 1;
                continue;
            }
            counts.current += 1;
            counts.ready += usize::from(oldest.view.is_ready());
            counts.available += usize::from(oldest.view.is_ready() && observed.is_available(oldest));
            counts.updated += usize::from(oldest.is_updated);
        }
        counts
    }

    /// Returns the status with these counts. `observed_generation` is none where the spec of the present generation was not acted on.
    pub(super) fn status(
        self,
        before: &DaemonSetStatus,
        observed_generation: Option<i64>,
    ) -> DaemonSetStatus {
        DaemonSetStatus {
            desired_number_scheduled: count(self.desired),
            current_number_scheduled: count(self.current),
            number_misscheduled: count(self.misscheduled),
            number_ready: count(self.ready),
            updated_number_scheduled: Some(count(self.updated)),
            number_available: Some(count(self.available)),
            number_unavailable: Some(count(self.desired - self.available)),
            observed_generation: observed_generation.or(before.observed_generation),
            collision_count: before.collision_count,
            conditions: before.conditions.clone(),
        }
    }
}

/// Whether a status shows the same. Counts that are zero may be absent.
pub(super) fn is_equal(before: &DaemonSetStatus, after: &DaemonSetStatus) -> bool {
    let counts = |status: &DaemonSetStatus| {
        (
            [
                status.desired_number_scheduled,
                status.current_number_scheduled,
                status.number_misscheduled,
                status.number_ready,
            ],
            [
                status.updated_number_scheduled,
                status.number_available,
                status.number_unavailable,
            ]
            .map(Option::unwrap_or_default),
            status.observed_generation.unwrap_or_default(),
        )
    };
    counts(before) == counts(after)
}

fn count(nodes: usize) -> i32 {
    i32::try_from(nodes).unwrap_or(i32::MAX)
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
