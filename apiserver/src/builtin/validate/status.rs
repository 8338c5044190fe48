//! What controllers say of workloads: counts that fit together.

use super::{Check, conditions};
use crate::field::FieldError;
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

pub(super) fn status(check: &mut Check, kind: &str, status: &Value) {
    let (natural, bounded) = counts(kind);
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
