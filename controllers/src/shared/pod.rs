//! What the controllers read of a pod, and what follows from it: active, terminating, ready, available. The informer keeps these values
//! alone, a small part of the object.

use std::time::Duration;

use k8s_openapi::{
    api::core::v1::{NodeSelectorRequirement, Pod},
    apimachinery::pkg::apis::meta::v1::Time,
    jiff::{SignedDuration, Timestamp},
};
use kubewright::Projection;
use serde::Deserialize;

use super::node_affinity::NAME_FIELD;

/// The values of a pod that the controllers read. Names, labels and owners are in the metadata of the cached object.
#[derive(Projection, Clone, Debug, Default, PartialEq)]
#[projection(of = Pod)]
pub(crate) struct PodView {
    #[projection(path = "metadata.creationTimestamp")]
    pub(crate) created: Option<Time>,
    #[projection(path = "metadata.deletionTimestamp")]
    pub(crate) deleted: Option<Time>,
    #[projection(path = "metadata.annotations['controller.kubernetes.io/pod-deletion-cost']")]
    pub(crate) deletion_cost: Option<String>,
    #[projection(path = "spec.nodeName", default)]
    pub(crate) node: String,
    /// The node fields that the pod requires. Those of all terms, of which one must match.
    #[projection(
        path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[*].matchFields[*]"
    )]
    pub(crate) node_fields: Vec<NodeSelectorRequirement>,
    #[projection(path = "spec.initContainers[*].name")]
    pub(crate) init_containers: Vec<Option<String>>,
    #[projection(path = "spec.initContainers[*].restartPolicy")]
    pub(crate) init_restart_policies: Vec<Option<String>>,
    /// The names of the claims that it mounts.
    #[projection(path = "spec.volumes[*].persistentVolumeClaim.claimName")]
    pub(crate) claims: Vec<String>,
    #[projection(path = "status.phase", default)]
    pub(crate) phase: PodPhase,
    #[projection(path = "status.reason")]
    pub(crate) reason: Option<String>,
    #[projection(path = "status.conditions[*].type")]
    pub(crate) condition_types: Vec<Option<ConditionType>>,
    #[projection(path = "status.conditions[*].status")]
    pub(crate) condition_statuses: Vec<Option<ConditionStatus>>,
    #[projection(path = "status.conditions[*].lastTransitionTime")]
    pub(crate) condition_times: Vec<Option<Time>>,
    #[projection(path = "status.containerStatuses[*].restartCount")]
    pub(crate) restarts: Vec<i32>,
    #[projection(path = "status.initContainerStatuses[*].name")]
    pub(crate) init_statuses: Vec<Option<String>>,
    #[projection(path = "status.initContainerStatuses[*].restartCount")]
    pub(crate) init_restarts: Vec<Option<i32>>,
}

/// The phase of a pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) enum PodPhase {
    Pending,
    Running,
    Succeeded,
    Failed,
    Unknown,
    /// Empty, or unknown to this library.
    #[default]
    #[serde(other)]
    Unset,
}

/// The type of a pod's condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) enum ConditionType {
    Ready,
    #[serde(other)]
    Other,
}

/// The status of a pod's condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) enum ConditionStatus {
    True,
    #[serde(other)]
    NotTrue,
}

impl PodView {
    /// Whether its containers have terminated and will not restart.
    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self.phase, PodPhase::Succeeded | PodPhase::Failed)
    }

    /// Whether it counts as a replica: it is neither terminal nor being deleted.
    pub(crate) fn is_active(&self) -> bool {
        !self.is_terminal() && self.deleted.is_none()
    }

    /// Whether it is being deleted, and its containers may still run.
    pub(crate) fn is_terminating(&self) -> bool {
        !self.is_terminal() && self.deleted.is_some()
    }

    /// Whether its kubelet ended it because the node was short of something.
    pub(crate) fn is_evicted(&self) -> bool {
        self.phase == PodPhase::Failed && self.reason.as_deref() == Some("Evicted")
    }

    /// Returns the node that it runs on, or that it is made for. Only pods of DaemonSets are made for a node.
    pub(crate) fn target_node(&self) -> Option<&str> {
        if !self.node.is_empty() {
            return Some(&self.node);
        }
        let is_name = |field: &&NodeSelectorRequirement| field.key == NAME_FIELD && field.operator == "In";
        match self.node_fields.iter().find(is_name)?.values.as_deref()? {
            [node] => Some(node),
            _ => None,
        }
    }

    /// Whether its condition Ready is true.
    pub(crate) fn is_ready(&self) -> bool {
        self.ready_condition().is_some()
    }

    /// Returns since when it is ready; none if it is not ready, or the time is unknown.
    pub(crate) fn ready_since(&self) -> Option<Timestamp> {
        let position = self.ready_condition()?;
        known_time(self.condition_times.get(position)?.as_ref())
    }

    /// Returns when it was created.
    pub(crate) fn created_at(&self) -> Option<Timestamp> {
        known_time(self.created.as_ref())
    }

    /// Whether it has been ready for `min_ready_seconds`.
    pub(crate) fn is_available(&self, min_ready_seconds: i32, now: Timestamp) -> bool {
        if min_ready_seconds == 0 {
            return self.is_ready();
        }
        self.ready_since()
            .is_some_and(|since| now.duration_since(since) >= seconds(min_ready_seconds))
    }

    /// Returns after which time it becomes available, if it is ready and not available yet.
    pub(crate) fn available_after(&self, min_ready_seconds: i32, now: Timestamp) -> Option<Duration> {
        if min_ready_seconds <= 0 {
            return None;
        }
        let remaining = seconds(min_ready_seconds).checked_sub(now.duration_since(self.ready_since()?))?;
        Duration::try_from(remaining)
            .ok()
            .filter(|remaining| !remaining.is_zero())
    }

    /// Returns the most restarts of a container, and of a sidecar: an init container that is always restarted.
    pub(crate) fn max_restarts(&self) -> (i32, i32) {
        let of_containers = self.restarts.iter().copied().max();
        let policies = self.init_containers.iter().zip(&self.init_restart_policies);
        let sidecars: Vec<_> = policies
            .filter(|(_, policy)| policy.as_deref() == Some("Always"))
            .map(|(name, _)| name)
            .collect();
        let statuses = self.init_statuses.iter().zip(&self.init_restarts);
        let of_sidecars = statuses
            .filter(|(name, _)| sidecars.contains(name))
            .filter_map(|(_, restarts)| *restarts)
            .max();
        (of_containers.unwrap_or(0).max(0), of_sidecars.unwrap_or(0).max(0))
    }

    /// Returns the deletion cost: zero unless the annotation has a number without a plus sign and leading zeros.
    pub(crate) fn deletion_cost(&self) -> i32 {
        let text = self.deletion_cost.as_deref().unwrap_or_default();
        let is_number = text == "0" || text.starts_with(|first| matches!(first, '-' | '1'..='9'));
        if is_number { text.parse().unwrap_or(0) } else { 0 }
    }

    /// The first condition Ready decides. Returns its position if it is true.
    fn ready_condition(&self) -> Option<usize> {
        let is_ready = |condition: &Option<ConditionType>| *condition == Some(ConditionType::Ready);
        let position = self.condition_types.iter().position(is_ready)?;
        let status = self.condition_statuses.get(position).copied().flatten();
        (status == Some(ConditionStatus::True)).then_some(position)
    }
}

/// Returns the time until the next pod becomes available, of those that are ready and were not available at `now`, the time of the status
/// calculation. It is measured from `later`; zero if it has passed by then.
pub(crate) fn next_availability_check<'p>(
    pods: impl Iterator<Item = &'p PodView>,
    min_ready_seconds: i32,
    now: Timestamp,
    later: Timestamp,
) -> Option<Duration> {
    let waits = pods.filter_map(|pod| Some((pod.available_after(min_ready_seconds, now)?, pod)));
    let (_, first) = waits.min_by_key(|(wait, _)| *wait)?;
    Some(
        first
            .available_after(min_ready_seconds, later)
            .unwrap_or_default(),
    )
}

fn seconds(count: i32) -> SignedDuration {
    SignedDuration::from_secs(i64::from(count))
}

/// Go's zero time, which it writes where it has none, counts as none.
fn known_time(time: Option<&Time>) -> Option<Timestamp> {
    const GO_ZERO_SECOND: i64 = -62_135_596_800;
    time.map(|time| time.0)
        .filter(|time| time.as_second() > GO_ZERO_SECOND)
}

#[cfg(test)]
#[path = "pod_tests.rs"]
mod tests;
