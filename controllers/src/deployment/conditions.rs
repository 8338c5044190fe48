//! Conditions of a Deployment's status. They have two times: of the last update and of the last change of status.

use k8s_openapi::{
    api::apps::v1::{DeploymentCondition, DeploymentStatus, ReplicaSetCondition},
    apimachinery::pkg::apis::meta::v1::Time,
    jiff::Timestamp,
};

pub(super) const AVAILABLE: &str = "Available";
pub(super) const PROGRESSING: &str = "Progressing";
/// Of Deployments and of ReplicaSets.
pub(super) const REPLICA_FAILURE: &str = "ReplicaFailure";

/// Reasons.
pub(super) mod reason {
    pub(in crate::deployment) const MINIMUM_AVAILABLE: &str = "MinimumReplicasAvailable";
    pub(in crate::deployment) const MINIMUM_UNAVAILABLE: &str = "MinimumReplicasUnavailable";
    pub(in crate::deployment) const CREATE_FAILED: &str = "ReplicaSetCreateError";
    pub(in crate::deployment) const CREATED: &str = "NewReplicaSetCreated";
    pub(in crate::deployment) const FOUND: &str = "FoundNewReplicaSet";
    pub(in crate::deployment) const UPDATED: &str = "ReplicaSetUpdated";
    pub(in crate::deployment) const COMPLETE: &str = "NewReplicaSetAvailable";
    pub(in crate::deployment) const TIMED_OUT: &str = "ProgressDeadlineExceeded";
    pub(in crate::deployment) const PAUSED: &str = "DeploymentPaused";
    pub(in crate::deployment) const RESUMED: &str = "DeploymentResumed";
}

/// Returns a condition whose times are `now`.
pub(super) fn condition(
    type_: &str,
    status: &str,
    reason: &str,
    message: impl Into<String>,
    now: Timestamp,
) -> DeploymentCondition {
    DeploymentCondition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message.into()),
        last_update_time: Some(Time(now)),
        last_transition_time: Some(Time(now)),
    }
}

/// Returns the condition of a type.
pub(super) fn find<'s>(status: &'s DeploymentStatus, type_: &str) -> Option<&'s DeploymentCondition> {
    status
        .conditions
        .iter()
        .flatten()
        .find(|condition| condition.type_ == type_)
}

/// Whether the condition of a type has this reason.
pub(super) fn has_reason(status: &DeploymentStatus, type_: &str, reason: &str) -> bool {
    find(status, type_).is_some_and(|condition| condition.reason.as_deref() == Some(reason))
}

/// Sets a condition. One with the same status and reason stays as it is; one with the same status keeps the time of its transition.
pub(super) fn set(status: &mut DeploymentStatus, mut new: DeploymentCondition) {
    if let Some(current) = find(status, &new.type_)
        && current.status == new.status
    {
        if current.reason == new.reason {
            return;
        }
        new.last_transition_time.clone_from(&current.last_transition_time);
    }
    remove(status, &new.type_);
    status.conditions.get_or_insert_default().push(new);
}

/// Removes the condition of a type.
pub(super) fn remove(status: &mut DeploymentStatus, type_: &str) {
    if let Some(conditions) = &mut status.conditions {
        conditions.retain(|condition| condition.type_ != type_);
    }
    status.conditions.take_if(|conditions| conditions.is_empty());
}

/// Returns the condition of a ReplicaSet as one of its Deployment.
pub(super) fn of_replica_set(condition: &ReplicaSetCondition) -> DeploymentCondition {
    DeploymentCondition {
        type_: condition.type_.clone(),
        status: condition.status.clone(),
        reason: condition.reason.clone(),
        message: condition.message.clone(),
        last_update_time: condition.last_transition_time.clone(),
        last_transition_time: condition.last_transition_time.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64, type_: &str, status: &str, reason: &str) -> DeploymentCondition {
        condition(
            type_,
            status,
            reason,
            "",
            Timestamp::from_second(seconds).unwrap(),
        )
    }

    fn status(conditions: &[DeploymentCondition]) -> DeploymentStatus {
        DeploymentStatus {
            conditions: (!conditions.is_empty()).then(|| conditions.to_vec()),
            ..DeploymentStatus::default()
        }
    }

    #[test]
    fn conditions_are_set_by_type() {
        let progressing = at(1, PROGRESSING, "False", "ForSomeReason");
        let available = at(1, AVAILABLE, "True", "AwesomeController");
        let other_status = at(2, PROGRESSING, "True", "BecauseItIs");
        let other_reason = at(2, PROGRESSING, "False", "Other");
        let same = at(2, PROGRESSING, "False", "ForSomeReason");
        let mut kept_transition = other_reason.clone();
        kept_transition
            .last_transition_time
            .clone_from(&progressing.last_transition_time);
        let one = std::slice::from_ref(&progressing);
        for (before, new, after) in [
            (&[][..], &available, vec![available.clone()]),
            (one, &available, vec![progressing.clone(), available.clone()]),
            (one, &other_status, vec![other_status.clone()]),
            (one, &other_reason, vec![kept_transition]),
            (one, &same, vec![progressing.clone()]),
        ] {
            let mut changed = status(before);
            set(&mut changed, new.clone());
            assert_eq!(changed, status(&after));
        }
    }

    #[test]
    fn conditions_are_found_and_removed_by_type() {
        let conditions = [at(1, PROGRESSING, "False", "A"), at(1, AVAILABLE, "True", "B")];
        let mut status = status(&conditions);
        assert_eq!(find(&status, AVAILABLE), Some(&conditions[1]));
        assert!(has_reason(&status, PROGRESSING, "A") && !has_reason(&status, PROGRESSING, "B"));
        assert_eq!(find(&status, REPLICA_FAILURE), None);
        remove(&mut status, REPLICA_FAILURE);
        assert_eq!(status.conditions.as_deref(), Some(&conditions[..]));
        remove(&mut status, PROGRESSING);
        remove(&mut status, AVAILABLE);
        assert_eq!(status, DeploymentStatus::default());
        remove(&mut status, AVAILABLE);
    }
}
