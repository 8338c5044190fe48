//! The progress of a rollout: the condition Progressing, and the deadline after which a rollout without progress has failed. The condition
//! only reports that: a rollout goes on when its pods become available after all.

use k8s_openapi::{
    api::apps::v1::DeploymentStatus,
    jiff::{SignedDuration, Timestamp},
};

use super::{
    conditions::{self, PROGRESSING, REPLICA_FAILURE, condition, reason},
    plan::Rollout,
    replica_sets::TrackedReplicaSet,
    status,
};

/// The condition's times have a precision of a second.
const PRECISION: SignedDuration = SignedDuration::from_secs(1);

/// Notes that the Deployment was paused or resumed. The deadline starts again when it is resumed.
pub(super) fn note_pause(rollout: &mut Rollout<'_>) {
    if conditions::has_reason(&rollout.status, PROGRESSING, reason::TIMED_OUT) {
        return;
    }
    let is_noted = conditions::has_reason(&rollout.status, PROGRESSING, reason::PAUSED);
    match (rollout.desired.is_paused, is_noted) {
        (true, false) => note(rollout, "Unknown", reason::PAUSED, "Deployment is paused"),
        (false, true) => note(rollout, "Unknown", reason::RESUMED, "Deployment is resumed"),
        _ => {}
    }
}

/// Notes that a ReplicaSet with the template exists, if there is no condition yet.
pub(super) fn note_found(rollout: &mut Rollout<'_>, name: &str) {
    if conditions::find(&rollout.status, PROGRESSING).is_none() {
        note(
            rollout,
            "True",
            reason::FOUND,
            &format!("Found new replica set {name:?}"),
        );
    }
}

/// Notes that the ReplicaSet with the template is created.
pub(super) fn note_created(rollout: &mut Rollout<'_>, name: &str) {
    note(
        rollout,
        "True",
        reason::CREATED,
        &format!("Created new replica set {name:?}"),
    );
}

fn note(rollout: &mut Rollout<'_>, status: &str, reason: &str, message: &str) {
    if rollout.desired.progress_deadline.is_some() {
        let condition = condition(PROGRESSING, status, reason, message, rollout.now);
        conditions::set(&mut rollout.status, condition);
    }
}

/// Estimates the progress of a rollout: compares the cached status with the new one, and sets the conditions of the new one.
pub(super) fn estimate(rollout: &Rollout<'_>, status: &mut DeploymentStatus) {
    match rollout.desired.progress_deadline {
        None => conditions::remove(status, PROGRESSING),
        Some(deadline) if !was_complete(rollout, status) => estimate_until(deadline, rollout, status),
        Some(_) => {}
    }
    match status::replica_failure(&rollout.group) {
        Some(failure) => conditions::set(status, failure),
        None => conditions::remove(status, REPLICA_FAILURE),
    }
}

/// Whether the last rollout had completed, and no other has begun.
fn was_complete(rollout: &Rollout<'_>, status: &DeploymentStatus) -> bool {
    status.replicas == status.updated_replicas
        && conditions::has_reason(&rollout.status, PROGRESSING, reason::COMPLETE)
}

fn estimate_until(deadline: SignedDuration, rollout: &Rollout<'_>, status: &mut DeploymentStatus) {
    let new =
        |holds, reason, what| condition(PROGRESSING, holds, reason, message(rollout, what), rollout.now);
    if is_complete(rollout, status) {
        conditions::set(
            status,
            new("True", reason::COMPLETE, "has successfully progressed."),
        );
    } else if has_progressed(&rollout.status, status) {
        // The condition's time of update is that of the last progress, also if nothing else of it changes.
        let mut progressing = new("True", reason::UPDATED, "is progressing.");
        if let Some(current) = conditions::find(&rollout.status, PROGRESSING)
            && current.status == "True"
        {
            progressing
                .last_transition_time
                .clone_from(&current.last_transition_time);
        }
        conditions::remove(status, PROGRESSING);
        conditions::set(status, progressing);
    } else if has_timed_out(deadline, status, rollout.now) {
        conditions::set(
            status,
            new("False", reason::TIMED_OUT, "has timed out progressing."),
        );
    }
}

fn message(rollout: &Rollout<'_>, what: &str) -> String {
    let deployment = rollout.deployment.metadata.name.as_deref().unwrap_or_default();
    match rollout.group.new.as_ref().map(TrackedReplicaSet::name) {
        Some(name) => format!("ReplicaSet {name:?} {what}"),
        None => format!("Deployment {deployment:?} {what}"),
    }
}

/// Whether all replicas are updated and available, and no old pods are left.
pub(super) fn is_complete(rollout: &Rollout<'_>, status: &DeploymentStatus) -> bool {
    let is_all = |count: Option<i32>| i64::from(count.unwrap_or_default()) == rollout.desired.replicas;
    let is_observed = status.observed_generation.unwrap_or_default()
        >= rollout.deployment.metadata.generation.unwrap_or_default();
    let counts = [
        status.updated_replicas,
        status.replicas,
        status.available_replicas,
    ];
    is_observed && counts.into_iter().all(is_all)
}

/// Whether there are more updated, ready or available pods than before, or fewer old ones.
fn has_progressed(before: &DeploymentStatus, after: &DeploymentStatus) -> bool {
    let count = |count: Option<i32>| i64::from(count.unwrap_or_default());
    let old = |status: &DeploymentStatus| count(status.replicas) - count(status.updated_replicas);
    count(after.updated_replicas) > count(before.updated_replicas)
        || old(after) < old(before)
        || count(after.ready_replicas) > count(before.ready_replicas)
        || count(after.available_replicas) > count(before.available_replicas)
}

/// Whether the last progress is longer ago than the deadline. A completed rollout does not time out.
fn has_timed_out(deadline: SignedDuration, status: &DeploymentStatus, now: Timestamp) -> bool {
    match conditions::find(status, PROGRESSING).and_then(|condition| condition.reason.as_deref()) {
        Some(reason::COMPLETE) => false,
        Some(reason::TIMED_OUT) => true,
        _ => time_left(deadline, status, now).is_some_and(|left| left.is_negative()),
    }
}

/// Returns the time until the deadline, negative after it; none without a condition, or with times that no clock shows.
fn time_left(deadline: SignedDuration, status: &DeploymentStatus, now: Timestamp) -> Option<SignedDuration> {
    let progressing = conditions::find(status, PROGRESSING)?;
    let updated = progressing
        .last_update_time
        .as_ref()
        .map_or(Timestamp::UNIX_EPOCH, |time| time.0);
    Some(updated.checked_add(deadline).ok()?.duration_since(now))
}

/// Returns when a rollout without progress has to be looked at again: after its deadline, if it has not timed out yet.
///
/// Upstream requeues a Deployment at once, and again and again, in the last second before the deadline, and as long as pods of a completed
/// rollout are not available. Neither is needed: this returns a time after the deadline, and a completed rollout does not time out.
pub(super) fn next_check(rollout: &Rollout<'_>, status: &DeploymentStatus) -> Option<SignedDuration> {
    let deadline = rollout.desired.progress_deadline?;
    let has_ended = [reason::COMPLETE, reason::TIMED_OUT]
        .iter()
        .any(|reason| conditions::has_reason(status, PROGRESSING, reason));
    if has_ended || is_complete(rollout, status) {
        return None;
    }
    let left = time_left(deadline, status, rollout.now)?;
    Some(left.max(SignedDuration::ZERO) + PRECISION)
}

#[cfg(test)]
#[path = "progress_tests.rs"]
mod tests;
