//! Which pods to delete, and why.

use std::collections::{HashMap, HashSet};

use k8s_openapi::jiff::Timestamp;
use kubewright::NamespacedName;

use crate::shared::{
    node::NodeView,
    pod::{PodPhase, PodView},
};

/// A cached pod.
#[derive(Clone, Debug)]
pub(super) struct PodFacts<'a> {
    pub(super) name: &'a NamespacedName,
    pub(super) view: &'a PodView,
}

/// Why a pod is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// More pods have ended than are kept.
    Terminated,
    /// It is being deleted on a node that is out of service.
    OutOfService,
    /// Its node is gone.
    Orphaned,
    /// It is being deleted and was never scheduled.
    Unscheduled,
}

impl Reason {
    /// Returns upstream's name of the reason, in metrics.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Terminated => "terminated",
            Self::OutOfService => "out-of-service",
            Self::Orphaned => "orphaned",
            Self::Unscheduled => "unscheduled",
        }
    }
}

/// Returns the nodes that pods name and that do not exist.
pub(super) fn missing_nodes(pods: &[PodFacts<'_>], exists: impl Fn(&str) -> bool) -> HashSet<String> {
    let nodes = pods.iter().map(|pod| pod.view.node.as_str());
    nodes
        .filter(|node| !node.is_empty() && !exists(node))
        .map(str::to_owned)
        .collect()
}

/// Returns the positions of the pods to delete, each once, with the reason. `threshold` is how many ended pods are kept; zero: all.
pub(super) fn plan(
    pods: &[PodFacts<'_>],
    nodes: &HashMap<String, NodeView>,
    gone_nodes: &HashSet<String>,
    threshold: usize,
) -> Vec<(usize, Reason)> {
    let surplus: HashSet<usize> = surplus(pods, threshold).into_iter().collect();
    let reason = |(position, pod): (usize, &PodFacts<'_>)| {
        let PodView { node, deleted, .. } = pod.view;
        let is_out_of_service = || {
            nodes
                .get(node)
                .is_some_and(|node| !node.is_ready() && node.is_out_of_service())
        };
        let reason = if surplus.contains(&position) {
            Reason::Terminated
        } else if deleted.is_some() && is_out_of_service() {
            Reason::OutOfService
        } else if gone_nodes.contains(node) {
            Reason::Orphaned
        } else if deleted.is_some() && node.is_empty() {
            Reason::Unscheduled
        } else {
            return None;
        };
        Some((position, reason))
    };
    pods.iter().enumerate().filter_map(reason).collect()
}

/// Returns the ended pods beyond the threshold: evicted pods first, then the oldest.
fn surplus(pods: &[PodFacts<'_>], threshold: usize) -> Vec<usize> {
    if threshold == 0 {
        return Vec::new();
    }
    let has_ended = |pod: &PodFacts<'_>| {
        !matches!(
            pod.view.phase,
            PodPhase::Pending | PodPhase::Running | PodPhase::Unknown
        )
    };
    let ended = pods.iter().enumerate().filter(|(_, pod)| has_ended(pod));
    let mut ended: Vec<usize> = ended.map(|(position, _)| position).collect();
    let count = ended.len().saturating_sub(threshold);
    ended.sort_by_key(|position| {
        let pod = &pods[*position];
        let created = pod.view.created_at().unwrap_or(Timestamp::MIN);
        (!pod.view.is_evicted(), created, pod.name.name())
    });
    ended.truncate(count);
    ended
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
