//! What controllers say of workloads: counts that fit together.

use super::{Check, conditions, text};
use crate::field::FieldError;
use crate::meta::is_being_deleted;
use serde_json::Value;

/// The counts that may not be negative, and those that may not be more than all replicas.
fn counts(kind: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match kind {
        "Deployment" => (
            &[
                "observedGeneration",
                "replicas",
                "updatedReplicas",
                "readyReplicas",
                "availableReplicas",
                "unavailableReplicas",
                "terminatingReplicas",
                "collisionCount",
            ],
            &["updatedReplicas", "readyReplicas", "availableReplicas"],
        ),
        "StatefulSet" => (
            &[
                "replicas",
                "readyReplicas",
                "currentReplicas",
                "updatedReplicas",
                "availableReplicas",
                "observedGeneration",
                "collisionCount",
            ],
            &[
                "readyReplicas",
                "currentReplicas",
                "updatedReplicas",
                "availableReplicas",
            ],
        ),
        "DaemonSet" => (
            &[
                "currentNumberScheduled",
                "numberMisscheduled",
                "desiredNumberScheduled",
                "numberReady",
                "observedGeneration",
                "updatedNumberScheduled",
                "numberAvailable",
                "numberUnavailable",
                "collisionCount",
            ],
            &[],
        ),
        "HorizontalPodAutoscaler" => (&["currentReplicas", "desiredReplicas"], &[]),
        "PodDisruptionBudget" => (
            &[
                "disruptionsAllowed",
                "currentHealthy",
                "desiredHealthy",
                "expectedPods",
            ],
            &[],
        ),
        "ReplicaSet" | "ReplicationController" => (
            &[
                "replicas",
                "fullyLabeledReplicas",
                "readyReplicas",
                "availableReplicas",
                "observedGeneration",
                "terminatingReplicas",
            ],
            &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
        ),
        _ => (&[], &[]),
    }
}

/// Kinds that count how often the name of what they own was taken.
const COLLIDE: [&str; 3] = ["DaemonSet", "Deployment", "StatefulSet"];

pub(super) fn status(check: &mut Check, kind: &str, status: &Value, old: &Value) {
    let (natural, bounded) = counts(kind);
    let collisions = |status: &Value| status["collisionCount"].as_i64();
    if COLLIDE.contains(&kind)
        && let Some(before) = collisions(old)
        && collisions(status).is_none_or(|now| now < before)
    {
        let now = collisions(status).unwrap_or(0);
        check.push(FieldError::invalid(
            "status.collisionCount",
            now,
            "cannot be decremented",
        ));
    }
    check.not_negative(status, natural, "status");
    if kind == "PodDisruptionBudget" {
        conditions::conditions(check, status);
    }
    let count = |name: &str| status[name].as_i64().unwrap_or(0);
    let mut at_most = |name: &str, most: &str, detail: &str| {
        if count(name) > count(most) {
            check.push(FieldError::invalid(
                &format!("status.{name}"),
                count(name),
                detail,
            ));
        }
    };
    for name in bounded {
        at_most(name, "replicas", "cannot be greater than status.replicas");
    }
    if !bounded.is_empty() {
        let detail = match kind {
            "StatefulSet" => "cannot be greater than status.readyReplicas",
            _ => "cannot be greater than readyReplicas",
        };
        at_most("availableReplicas", "readyReplicas", detail);
    }
}

/// A namespace ends by being deleted, not by being said to.
pub(super) fn namespace(check: &mut Check, namespace: &Value) {
    let phase = text(&namespace["status"], "phase");
    let (allowed, detail) = if is_being_deleted(namespace) {
        (
            "Terminating",
            "may only be 'Terminating' if `deletionTimestamp` is not empty",
        )
    } else {
        ("Active", "may only be 'Active' if `deletionTimestamp` is empty")
    };
    if phase != allowed {
        check.push(FieldError::invalid("status.Phase", phase, detail));
    }
}
