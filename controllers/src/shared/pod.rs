//! What the controllers read of a pod, and what follows from it: active, terminating, ready, available. The informer keeps these values
//! alone, a small part of the object.

use std::{fmt, time::Duration};

use k8s_openapi::{
    api::core::v1::{NodeSelectorRequirement, Pod},
    apimachinery::pkg::apis::meta::v1::Time,
    jiff::{SignedDuration, Timestamp},
};
use kubewright::Projection;
use serde::{Deserialize, Deserializer, de};

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
    #[projection(path = "metadata.deletionGracePeriodSeconds")]
    pub(crate) deletion_grace_seconds: Option<i64>,
    #[projection(path = "metadata.annotations['batch.kubernetes.io/job-completion-index']")]
    pub(crate) completion_index: Option<String>,
    #[projection(path = "metadata.annotations['batch.kubernetes.io/job-index-failure-count']")]
    pub(crate) index_failures: Option<String>,
    #[projection(path = "metadata.annotations['batch.kubernetes.io/job-index-ignored-failure-count']")]
    pub(crate) index_ignored_failures: Option<String>,
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
    #[projection(path = "status.containerStatuses[*].name")]
    pub(crate) container_names: Vec<Option<String>>,
    #[projection(path = "status.containerStatuses[*].restartCount")]
    pub(crate) restarts: Vec<i32>,
    #[projection(path = "status.containerStatuses[*].state.terminated.exitCode")]
    pub(crate) exit_codes: Vec<Option<i32>>,
    #[projection(path = "status.containerStatuses[*].state.terminated.finishedAt")]
    pub(crate) finish_times: Vec<Option<Time>>,
    #[projection(path = "status.initContainerStatuses[*].name")]
    pub(crate) init_statuses: Vec<Option<String>>,
    #[projection(path = "status.initContainerStatuses[*].restartCount")]
    pub(crate) init_restarts: Vec<Option<i32>>,
    #[projection(path = "status.initContainerStatuses[*].state.terminated.exitCode")]
    pub(crate) init_exit_codes: Vec<Option<i32>>,
    #[projection(path = "status.initContainerStatuses[*].state.terminated.finishedAt")]
    pub(crate) init_finish_times: Vec<Option<Time>>,
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConditionType {
    Ready,
    ContainersReady,
    Initialized,
    PodReadyToStartContainers,
    PodScheduled,
    Other(Box<str>),
}

/// The status of a pod's condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) enum ConditionStatus {
    True,
    False,
    #[serde(other)]
    Unknown,
}

impl ConditionType {
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Ready => "Ready",
            Self::ContainersReady => "ContainersReady",
            Self::Initialized => "Initialized",
            Self::PodReadyToStartContainers => "PodReadyToStartContainers",
            Self::PodScheduled => "PodScheduled",
            Self::Other(other) => other,
        }
    }
}

impl From<&str> for ConditionType {
    fn from(text: &str) -> Self {
        // Those that every pod has take no memory.
        let usual = [
            Self::Ready,
            Self::ContainersReady,
            Self::Initialized,
            Self::PodReadyToStartContainers,
            Self::PodScheduled,
        ];
        let known = usual.into_iter().find(|known| known.as_str() == text);
        known.unwrap_or_else(|| Self::Other(text.into()))
    }
}

impl<'de> Deserialize<'de> for ConditionType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl de::Visitor<'_> for Text {
            type Value = ConditionType;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the type of a condition")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ConditionType, E> {
                Ok(text.into())
            }
        }

        deserializer.deserialize_str(Text)
    }
}

impl ConditionStatus {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
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

    /// Returns the restarts of all containers and init containers, while the pod runs or will run.
    pub(crate) fn current_restarts(&self) -> i32 {
        if !matches!(self.phase, PodPhase::Pending | PodPhase::Running) {
            return 0;
        }
        let restarts = self.restarts.iter().chain(self.init_restarts.iter().flatten());
        restarts.fold(0, |sum: i32, restarts| sum.saturating_add(*restarts))
    }

    /// Returns the deletion cost: zero unless the annotation has a number without a plus sign and leading zeros.
    pub(crate) fn deletion_cost(&self) -> i32 {
        let text = self.deletion_cost.as_deref().unwrap_or_default();
        let is_number = text == "0" || text.starts_with(|first| matches!(first, '-' | '1'..='9'));
        if is_number { text.parse().unwrap_or(0) } else { 0 }
    }

    /// Returns since when its condition Ready is false; none if it is not, or the time is unknown.
    pub(crate) fn unready_since(&self) -> Option<Timestamp> {
        let (position, status) = self.ready_status()?;
        let time = self.condition_times.get(position).and_then(Option::as_ref);
        known_time(time).filter(|_| status == ConditionStatus::False)
    }

    /// Returns when it was deleted. The deletion timestamp is the end of the grace period.
    pub(crate) fn deleted_at(&self) -> Option<Timestamp> {
        let end = known_time(self.deleted.as_ref())?;
        let grace = SignedDuration::from_secs(self.deletion_grace_seconds.unwrap_or(0));
        Some(end.saturating_sub(grace).unwrap_or(end))
    }

    /// Returns its conditions, in order.
    pub(crate) fn conditions(&self) -> impl Iterator<Item = (&ConditionType, ConditionStatus)> {
        let conditions = self.condition_types.iter().zip(&self.condition_statuses);
        conditions.filter_map(|(kind, status)| Some((kind.as_ref()?, (*status)?)))
    }

    /// Whether the init container is a sidecar, which is always restarted.
    pub(crate) fn is_sidecar(&self, container: Option<&str>) -> bool {
        let mut policies = self.init_containers.iter().zip(&self.init_restart_policies);
        policies.any(|(name, policy)| name.as_deref() == container && policy.as_deref() == Some("Always"))
    }

    /// Returns the position of condition Ready if it is true.
    fn ready_condition(&self) -> Option<usize> {
        let (position, status) = self.ready_status()?;
        (status == ConditionStatus::True).then_some(position)
    }

    /// Returns position and status of condition Ready. Of several, the first decides.
    fn ready_status(&self) -> Option<(usize, ConditionStatus)> {
        let is_ready = |condition: &Option<ConditionType>| *condition == Some(ConditionType::Ready);
        let position = self.condition_types.iter().position(is_ready)?;
        Some((
            position,
            self.condition_statuses.get(position).copied().flatten()?,
        ))
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
pub(crate) fn known_time(time: Option<&Time>) -> Option<Timestamp> {
    const GO_ZERO_SECOND: i64 = -62_135_596_800;
    time.map(|time| time.0)
        .filter(|time| time.as_second() > GO_ZERO_SECOND)
}

#[cfg(test)]
#[path = "pod_tests.rs"]
mod tests;
