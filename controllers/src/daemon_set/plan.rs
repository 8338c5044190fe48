//! The plan of a reconcile: which pods to create and which to delete.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::jiff::Timestamp;

use super::{
    desired::{DesiredState, RolloutLimits, UpdateStrategy},
    nodes,
    placement::NodeDecision,
    pods::{DaemonPod, PodsByNode},
    rolling,
};
use crate::shared::int_or_percent::InvalidLimit;

/// How many pods of a DaemonSet are created, and how many deleted, at once. More could overload the image registry.
const BURST_REPLICAS: usize = 250;

/// What the caches show.
pub(super) struct Observed<'o> {
    pub(super) desired: &'o DesiredState,
    /// The decision about each node that exists.
    pub(super) nodes: BTreeMap<&'o str, NodeDecision>,
    pub(super) pods: PodsByNode<'o>,
    pub(super) now: Timestamp,
}

/// What a reconcile does.
#[derive(Debug, Default)]
pub(super) struct Plan<'o> {
    /// The nodes that get a pod.
    pub(super) create: Vec<&'o str>,
    pub(super) delete: Vec<DaemonPod<'o>>,
    /// Deleted pods that had ended, of which events are recorded.
    pub(super) ended: Vec<EndedPod<'o>>,
    /// When the first failed pod may be deleted that has to wait.
    pub(super) next_check: Option<Duration>,
    /// There is no rolling update, because a limit is invalid.
    pub(super) invalid: Option<InvalidLimit>,
}

/// A pod that ended, and its node.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndedPod<'o> {
    pub(super) pod: DaemonPod<'o>,
    pub(super) node: &'o str,
}

impl Observed<'_> {
    pub(super) fn decision(&self, node: &str) -> Option<NodeDecision> {
        self.nodes.get(node).copied()
    }

    /// Returns the nodes on which a pod has to run.
    pub(super) fn desired_nodes(&self) -> impl Iterator<Item = &str> {
        let nodes = self.nodes.iter();
        nodes
            .filter(|(_, decision)| **decision == NodeDecision::Run)
            .map(|(node, _)| *node)
    }

    pub(super) fn is_available(&self, pod: &DaemonPod<'_>) -> bool {
        pod.view.is_available(self.desired.min_ready_seconds, self.now)
    }
}

/// Plans a reconcile. Pods of old revisions are replaced once no node misses a pod or has one too many. `failed_pod_delay` returns how long
/// a failed pod on a node has to stay.
pub(super) fn plan<'o>(
    observed: &Observed<'o>,
    failed_pod_delay: impl Fn(&str) -> Option<Duration>,
) -> Plan<'o> {
    let mut plan = Plan::default();
    for (node, decision) in &observed.nodes {
        nodes::plan_node(&mut plan, observed, node, *decision, &failed_pod_delay);
    }
    nodes::plan_missing_nodes(&mut plan, observed);
    if plan.create.is_empty() && plan.delete.is_empty() {
        plan_rollout(&mut plan, observed);
    }
    plan.create.truncate(BURST_REPLICAS);
    plan.delete.truncate(BURST_REPLICAS);
    plan
}

fn plan_rollout<'o>(plan: &mut Plan<'o>, observed: &Observed<'o>) {
    let UpdateStrategy::RollingUpdate {
        max_surge,
        max_unavailable,
    } = &observed.desired.strategy
    else {
        return;
    };
    match RolloutLimits::resolve(max_surge, max_unavailable, observed.desired_nodes().count()) {
        Ok(limits) if limits.surge == 0 => rolling::replace(plan, observed, limits),
        Ok(limits) => rolling::surge(plan, observed, limits),
        Err(invalid) => plan.invalid = Some(invalid),
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
