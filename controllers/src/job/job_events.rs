//! The specs of Jobs and the events with which the model of a Job is tested.

use proptest::prelude::*;
use serde_json::{Value, json};

/// What happens next.
#[derive(Clone, Debug)]
pub(super) enum JobEvent {
    /// The Job is reconciled. Of its writes, only so many succeed.
    Reconcile(usize),
    /// The cache shows the pods as they are. The controller's own writes of the status are never behind: it would wait for them.
    Observe,
    /// A pod that has not terminated gets a phase and an exit code.
    Phase(usize, &'static str, i32),
    /// A pod is deleted, and terminates.
    Delete(usize),
    /// The clock advances by so many seconds.
    Wait(i64),
    Parallelism(i32),
    /// An indexed Job gets so many completions, and as many pods at once, as the API server wants it.
    Completions(i32),
    Suspend(bool),
}

/// Exit codes with rules in the failure policy.
const FAILS_JOB: i32 = 3;
const IGNORED: i32 = 4;
const FAILS_INDEX: i32 = 5;

pub(super) fn events() -> impl Strategy<Value = Vec<JobEvent>> {
    let pod = 0_usize..12;
    let phase = prop_oneof![
        Just("Running"),
        Just("Succeeded"),
        Just("Succeeded"),
        Just("Failed")
    ];
    let exit_code =
        prop_oneof![4 => Just(1), 1 => Just(FAILS_JOB), 1 => Just(IGNORED), 1 => Just(FAILS_INDEX)];
    let event = prop_oneof![
        6 => prop_oneof![Just(usize::MAX), 0_usize..8].prop_map(JobEvent::Reconcile),
        6 => Just(JobEvent::Observe),
        5 => (pod.clone(), phase, exit_code).prop_map(|(pod, phase, code)| JobEvent::Phase(pod, phase, code)),
        2 => pod.prop_map(JobEvent::Delete),
        2 => (1_i64..100).prop_map(JobEvent::Wait),
        1 => (0_i32..6).prop_map(JobEvent::Parallelism),
        1 => (0_i32..6).prop_map(JobEvent::Completions),
        1 => any::<bool>().prop_map(JobEvent::Suspend),
    ];
    prop::collection::vec(event, 0..80)
}

pub(super) fn specs() -> impl Strategy<Value = Value> {
    let replacement = prop::option::of(prop_oneof![Just("Failed"), Just("TerminatingOrFailed")]);
    let plain = (prop::option::of(0_u32..8), 0_u32..5, 0_u32..6).prop_map(
        |(completions, parallelism, limit)| {
            json!({"completions": completions, "parallelism": parallelism, "backoffLimit": limit})
        },
    );
    let limits = (prop::option::of(0_u32..3), prop::option::of(0_u32..4));
    let success = prop::option::of(1_u32..4);
    let indexed = (0_u32..8, 0_u32..5, limits, success).prop_map(
        |(completions, parallelism, (per_index, max_failed), success)| {
            json!({
                "completionMode": "Indexed", "completions": completions, "parallelism": parallelism,
                "backoffLimit": if per_index.is_some() { i32::MAX } else { 6 },
                "backoffLimitPerIndex": per_index, "maxFailedIndexes": max_failed,
                "successPolicy": success.map(|count| json!({"rules": [{"succeededCount": count}]})),
            })
        },
    );
    let deadline = prop::option::weighted(0.2, 1_i64..2000);
    (
        prop_oneof![plain, indexed],
        replacement,
        prop::bool::weighted(0.3),
        deadline,
    )
        .prop_map(|(mut spec, replacement, has_policy, deadline)| {
            spec["podReplacementPolicy"] = json!(replacement);
            spec["activeDeadlineSeconds"] = json!(deadline);
            if has_policy {
                let mut actions = vec![("FailJob", FAILS_JOB), ("Ignore", IGNORED)];
                if !spec["backoffLimitPerIndex"].is_null() {
                    actions.push(("FailIndex", FAILS_INDEX));
                }
                spec["podFailurePolicy"] = failure_policy(&actions);
                // The API server wants it, and defaults it.
                spec["podReplacementPolicy"] = json!("Failed");
            }
            spec
        })
}

fn failure_policy(actions: &[(&str, i32)]) -> Value {
    let rules = actions
        .iter()
        .map(|(action, code)| json!({"action": action, "onExitCodes": {"operator": "In", "values": [code]}}));
    json!({"rules": rules.collect::<Vec<_>>()})
}
