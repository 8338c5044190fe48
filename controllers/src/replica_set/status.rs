//! The status of an owner: counts of its pods, and whether creating or deleting some failed.

use k8s_openapi::{
    api::apps::v1::ReplicaSetCondition, apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp,
};

use crate::shared::pod::PodView;

/// The type of the condition that creating or deleting pods failed.
pub(super) const REPLICA_FAILURE: &str = "ReplicaFailure";

/// The status of both kinds of owners. Conditions have the same fields in both.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ReplicaStatus {
    pub(super) replicas: i32,
    pub(super) fully_labeled: i32,
    pub(super) ready: i32,
    pub(super) available: i32,
    /// None where it is not counted.
    pub(super) terminating: Option<i32>,
    pub(super) observed_generation: i64,
    pub(super) conditions: Vec<ReplicaSetCondition>,
}

/// The pods of an owner, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PodCounts {
    active: usize,
    fully_labeled: usize,
    ready: usize,
    available: usize,
}

impl PodCounts {
    /// Counts active pods. Each comes with whether it has all labels of the template.
    pub(super) fn of<'p>(
        pods: impl Iterator<Item = (&'p PodView, bool)>,
        min_ready_seconds: i32,
        now: Timestamp,
    ) -> Self {
        pods.fold(Self::default(), |counts, (pod, is_fully_labeled)| Self {
            active: counts.active + 1,
            fully_labeled: counts.fully_labeled + usize::from(is_fully_labeled),
            ready: counts.ready + usize::from(pod.is_ready()),
            available: counts.available + usize::from(pod.is_available(min_ready_seconds, now)),
        })
    }
}

/// Why pods could not be created or deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// The reason of the condition, also that of events.
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl ReplicaStatus {
    /// Returns the next status. `terminating` is none where it is not counted. While there is a condition of an earlier failure, a further
    /// failure does not change it.
    pub(super) fn next(
        &self,
        pods: PodCounts,
        terminating: Option<usize>,
        failure: Option<&Failure>,
        now: Timestamp,
    ) -> Self {
        let mut conditions = self.conditions.clone();
        match failure {
            None => conditions.retain(|condition| condition.type_ != REPLICA_FAILURE),
            Some(_)
                if conditions
                    .iter()
                    .any(|condition| condition.type_ == REPLICA_FAILURE) => {}
            Some(failure) => conditions.push(ReplicaSetCondition {
                type_: REPLICA_FAILURE.to_owned(),
                status: "True".to_owned(),
                reason: Some(failure.reason.to_owned()),
                message: Some(failure.message.clone()),
                last_transition_time: Some(Time(now)),
            }),
        }
        Self {
            replicas: count(pods.active),
            fully_labeled: count(pods.fully_labeled),
            ready: count(pods.ready),
            available: count(pods.available),
            terminating: terminating.map(count),
            observed_generation: self.observed_generation,
            conditions,
        }
    }
}

fn count(pods: usize) -> i32 {
    i32::try_from(pods).unwrap_or(i32::MAX)
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
