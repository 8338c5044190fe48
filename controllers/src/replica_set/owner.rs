//! What ReplicaSets and ReplicationControllers have in common.

use k8s_openapi::api::{
    apps::v1::{ReplicaSet, ReplicaSetCondition, ReplicaSetStatus},
    core::v1::{
        PodTemplateSpec, ReplicationController, ReplicationControllerCondition, ReplicationControllerStatus,
    },
};
use kubewright::{Kind, WithStatus};
use serde::Serialize;

use super::status::ReplicaStatus;
use crate::{
    Options,
    shared::{
        label_matcher::{InvalidSelector, LabelMatcher},
        orphans::Selects,
    },
};

/// A kind that owns replicas of one pod.
pub(super) trait ReplicaOwner:
    Kind + Selects + WithStatus + kube::Resource<DynamicType = ()> + Serialize + Clone
{
    /// The controller's name.
    const CONTROLLER: &'static str;
    /// What its events name as the reporting controller.
    const REPORTING_CONTROLLER: &'static str = Self::CONTROLLER;
    /// The first part of the names of its metrics. Upstream has those of ReplicaSets alone, which count ReplicationControllers, too.
    const SUBSYSTEM: &'static str;
    /// Whether the status has a count of terminating replicas.
    const COUNTS_TERMINATING: bool;
    /// Whether the pods of owners with the same controller are related, as those of a Deployment's ReplicaSets.
    const HAS_SIBLINGS: bool;

    /// The number of workers.
    fn workers(options: &Options) -> usize;

    fn replicas(&self) -> i32;

    fn min_ready_seconds(&self) -> i32;

    fn template(&self) -> Option<&PodTemplateSpec>;

    fn replica_status(&self) -> ReplicaStatus;

    #[must_use]
    fn with_replica_status(&self, status: ReplicaStatus) -> Self;
}

impl ReplicaOwner for ReplicaSet {
    const CONTROLLER: &'static str = "replicaset-controller";
    const SUBSYSTEM: &'static str = "replicaset_controller";
    const COUNTS_TERMINATING: bool = true;
    const HAS_SIBLINGS: bool = true;

    fn workers(options: &Options) -> usize {
        options.concurrent_replicaset_syncs
    }

    fn replicas(&self) -> i32 {
        self.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
    }

    fn min_ready_seconds(&self) -> i32 {
        self.spec
            .as_ref()
            .and_then(|spec| spec.min_ready_seconds)
            .unwrap_or(0)
    }

    fn template(&self) -> Option<&PodTemplateSpec> {
        self.spec.as_ref()?.template.as_ref()
    }

    fn replica_status(&self) -> ReplicaStatus {
        let status = self.status.clone().unwrap_or_default();
        ReplicaStatus {
            replicas: status.replicas,
            fully_labeled: status.fully_labeled_replicas.unwrap_or(0),
            ready: status.ready_replicas.unwrap_or(0),
            available: status.available_replicas.unwrap_or(0),
            terminating: status.terminating_replicas,
            observed_generation: status.observed_generation.unwrap_or(0),
            conditions: status.conditions.unwrap_or_default(),
        }
    }

    fn with_replica_status(&self, status: ReplicaStatus) -> Self {
        let mut replica_set = self.clone();
        replica_set.status = Some(ReplicaSetStatus {
            replicas: status.replicas,
            fully_labeled_replicas: Some(status.fully_labeled),
            ready_replicas: Some(status.ready),
            available_replicas: Some(status.available),
            terminating_replicas: status.terminating,
            observed_generation: Some(status.observed_generation),
            conditions: Some(status.conditions).filter(|conditions| !conditions.is_empty()),
        });
        replica_set
    }
}

impl Selects for ReplicaSet {
    fn selector(&self) -> Result<Option<LabelMatcher>, InvalidSelector> {
        let spec = self.spec.as_ref();
        spec.map(|spec| LabelMatcher::new(&spec.selector)).transpose()
    }
}

impl ReplicaOwner for ReplicationController {
    const CONTROLLER: &'static str = "replicationcontroller-controller";
    /// As upstream: users find events by it, as in `kubectl get events --field-selector`.
    const REPORTING_CONTROLLER: &'static str = "replication-controller";
    const SUBSYSTEM: &'static str = "replication_controller";
    const COUNTS_TERMINATING: bool = false;
    const HAS_SIBLINGS: bool = false;

    fn workers(options: &Options) -> usize {
        options.concurrent_rc_syncs
    }

    fn replicas(&self) -> i32 {
        self.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
    }

    fn min_ready_seconds(&self) -> i32 {
        self.spec
            .as_ref()
            .and_then(|spec| spec.min_ready_seconds)
            .unwrap_or(0)
    }

    fn template(&self) -> Option<&PodTemplateSpec> {
        self.spec.as_ref()?.template.as_ref()
    }

    fn replica_status(&self) -> ReplicaStatus {
        let status = self.status.clone().unwrap_or_default();
        let conditions = status.conditions.into_iter().flatten();
        ReplicaStatus {
            replicas: status.replicas,
            fully_labeled: status.fully_labeled_replicas.unwrap_or(0),
            ready: status.ready_replicas.unwrap_or(0),
            available: status.available_replicas.unwrap_or(0),
            terminating: None,
            observed_generation: status.observed_generation.unwrap_or(0),
            conditions: conditions
                .map(|condition| ReplicaSetCondition {
                    last_transition_time: condition.last_transition_time,
                    message: condition.message,
                    reason: condition.reason,
                    status: condition.status,
                    type_: condition.type_,
                })
                .collect(),
        }
    }

    fn with_replica_status(&self, status: ReplicaStatus) -> Self {
        let conditions = status.conditions.into_iter();
        let conditions: Vec<_> = conditions
            .map(|condition| ReplicationControllerCondition {
                last_transition_time: condition.last_transition_time,
                message: condition.message,
                reason: condition.reason,
                status: condition.status,
                type_: condition.type_,
            })
            .collect();
        let mut controller = self.clone();
        controller.status = Some(ReplicationControllerStatus {
            replicas: status.replicas,
            fully_labeled_replicas: Some(status.fully_labeled),
            ready_replicas: Some(status.ready),
            available_replicas: Some(status.available),
            observed_generation: Some(status.observed_generation),
            conditions: Some(conditions).filter(|conditions| !conditions.is_empty()),
        });
        controller
    }
}

impl Selects for ReplicationController {
    fn selector(&self) -> Result<Option<LabelMatcher>, InvalidSelector> {
        let labels = self.spec.as_ref().and_then(|spec| spec.selector.as_ref());
        Ok(labels.map(LabelMatcher::of_labels))
    }
}
