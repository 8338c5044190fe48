//! The status: counts of the ReplicaSets' statuses, and whether enough replicas are available.

use k8s_openapi::api::apps::v1::{DeploymentStatus, ReplicaSetStatus};

use super::{
    conditions::{self, AVAILABLE, reason},
    plan::Rollout,
    replica_sets::{ReplicaSetGroup, TrackedReplicaSet},
};

/// Returns the status of a Deployment whose ReplicaSets are as the plan leaves them.
pub(super) fn calculate(rollout: &Rollout<'_>) -> DeploymentStatus {
    let (group, desired) = (&rollout.group, &rollout.desired);
    let replicas = |status: &ReplicaSetStatus| Some(status.replicas);
    let available = group.total(|status| status.available_replicas);
    let updated = group.new.as_ref().map_or(0, |new| new.count(replicas));
    let mut status = DeploymentStatus {
        observed_generation: rollout
            .deployment
            .metadata
            .generation
            .filter(|generation| *generation != 0),
        replicas: count(group.total(replicas)),
        updated_replicas: count(updated),
        ready_replicas: count(group.total(|status| status.ready_replicas)),
        available_replicas: count(available),
        unavailable_replicas: count(group.size() - available),
        terminating_replicas: rollout.counts_terminating.then(|| terminating(group)).flatten(),
        collision_count: rollout.status.collision_count,
        conditions: rollout.status.conditions.clone(),
    };
    let (holds, reason, message) = if available >= desired.min_available() {
        (
            "True",
            reason::MINIMUM_AVAILABLE,
            "Deployment has minimum availability.",
        )
    } else {
        (
            "False",
            reason::MINIMUM_UNAVAILABLE,
            "Deployment does not have minimum availability.",
        )
    };
    let condition = conditions::condition(AVAILABLE, holds, reason, message, rollout.now);
    conditions::set(&mut status, condition);
    status
}

/// Returns a count as the API server stores it: zero is absent. There are no negative ones: more pods than desired may be available.
fn count(number: i64) -> Option<i32> {
    let number = i32::try_from(number).unwrap_or(i32::MAX);
    (number > 0).then_some(number)
}

/// Returns the number of terminating pods. Unknown if a ReplicaSet whose controller saw it does not report it.
fn terminating(group: &ReplicaSetGroup) -> Option<i32> {
    let counts = group.all().map(|replica_set| {
        let status = replica_set.object().status.as_ref();
        let is_observed = status
            .and_then(|status| status.observed_generation)
            .is_some_and(|seen| seen != 0);
        let terminating = status.and_then(|status| status.terminating_replicas);
        if is_observed {
            terminating
        } else {
            Some(terminating.unwrap_or(0))
        }
    });
    let sum: i64 = counts.map(|count| count.map(i64::from)).sum::<Option<_>>()?;
    Some(i32::try_from(sum).unwrap_or(i32::MAX))
}

/// Returns the condition of a ReplicaSet that could not create or delete pods: the new one's, or else that of another.
pub(super) fn replica_failure(
    group: &ReplicaSetGroup,
) -> Option<k8s_openapi::api::apps::v1::DeploymentCondition> {
    let failure = |replica_set: &TrackedReplicaSet| {
        let status = replica_set.object().status.as_ref()?;
        let mut conditions = status.conditions.iter().flatten();
        let failure = conditions.find(|condition| condition.type_ == conditions::REPLICA_FAILURE)?;
        Some(conditions::of_replica_set(failure))
    };
    group.new.iter().chain(&group.old).find_map(failure)
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
