//! Validation of workload statuses: counts are not negative and consistent.

use super::{Check, conditions, text};
use crate::meta::is_being_deleted;
use serde_json::Value;

/// Returns the count fields that must not be negative, and those that must not exceed `replicas`.
fn count_fields(kind: &str) -> (&'static [&'static str], &'static [&'static str]) {
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

/// Kinds with a `collisionCount`, which must not decrease.
const COLLISION_COUNT_KINDS: [&str; 3] = ["DaemonSet", "Deployment", "StatefulSet"];

pub(super) fn validate_status(check: &mut Check, kind: &str, status: &Value, old: &Value) {
    let (non_negative, bounded) = count_fields(kind);
    let collisions = |status: &Value| status["collisionCount"].as_i64();
    if COLLISION_COUNT_KINDS.contains(&kind)
        && let Some(before) = collisions(old)
        && collisions(status).is_none_or(|now| now < before)
    {
        let now = collisions(status).unwrap_or(0);
        check.invalid("status.collisionCount", now, "cannot be decremented");
    }
    check.require_non_negative(status, non_negative, "status");
    if kind == "PodDisruptionBudget" {
        conditions::validate_conditions(check, status, "status");
    }
    let count = |name: &str| status[name].as_i64().unwrap_or(0);
    let mut not_above = |name: &str, limit: &str, detail: &str| {
        if count(name) > count(limit) {
            check.invalid(&format!("status.{name}"), count(name), detail);
        }
    };
    for name in bounded {
        not_above(name, "replicas", "cannot be greater than status.replicas");
    }
    if !bounded.is_empty() {
        let detail = match kind {
            "StatefulSet" => "cannot be greater than status.readyReplicas",
            _ => "cannot be greater than readyReplicas",
        };
        not_above("availableReplicas", "readyReplicas", detail);
    }
}

/// Validates the phase of a namespace, which only deletion changes.
pub(super) fn validate_namespace(check: &mut Check, namespace: &Value) {
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
        check.invalid("status.Phase", phase, detail);
    }
}
