use serde_json::{Value, from_value, json};

use super::{
    super::{
        backoff::FailureRecord,
        job_pod::JobPod,
        plan::assess,
        test_objects::{ago, deleted, features, job, limits, now, pod, pod_of},
    },
    *,
};
use crate::job::rules::JobRules;

fn progress(spec: &Value, status: Value, pods: &[JobPod], changes: PodChanges, gates: &str) -> Progress {
    let job = job(spec);
    let rules = JobRules::of(&job, features(gates)).unwrap();
    let before: JobStatus = from_value(status).unwrap();
    let assessment = assess(&rules, &before, pods, FailureRecord::default(), now());
    let step = assessment.next_step(true, &limits(), now());
    Progress::after(&assessment, &before, &step, changes, true, now())
}

fn ready(uid: &str) -> JobPod {
    pod_of(
        uid,
        json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}),
    )
}

#[test]
fn counts_include_what_the_step_changed() {
    let pods = [ready("a"), ready("b"), pod("c", "Pending"), deleted(ready("d"))];
    let changes = PodChanges {
        created: 4,
        deleted: 2,
        deleted_ready: 1,
        failed_creations: 1,
    };
    let counts = |gates: &str| {
        let status = progress(&json!({"parallelism": 9}), json!({}), &pods, changes, gates).status;
        (status.active, status.ready, status.terminating)
    };
    assert_eq!(counts(""), (Some(5), Some(1), Some(3)));
    assert_eq!(counts("JobPodReplacementPolicy=false"), (Some(5), Some(1), None));
}

#[test]
fn job_is_complete_when_its_pods_have_finished() {
    for (spec, status, active, expected) in [
        (json!({}), json!({"succeeded": 1}), 0, Some("CompletionsReached")),
        (json!({}), json!({"succeeded": 1}), 1, None),
        (json!({}), json!({}), 0, None),
        (json!({"completions": 2}), json!({"succeeded": 1}), 0, None),
        (
            json!({"completions": 2}),
            json!({"succeeded": 2}),
            0,
            Some("CompletionsReached"),
        ),
        (json!({"completions": 2}), json!({"succeeded": 2}), 1, None),
        (
            json!({"completions": 0}),
            json!({}),
            0,
            Some("CompletionsReached"),
        ),
        (
            json!({"completions": 0, "suspend": true}),
            json!({}),
            0,
            Some("CompletionsReached"),
        ),
    ] {
        let pods: Vec<_> = (0..active).map(|_| pod("a", "Running")).collect();
        let verdict = progress(&spec, status.clone(), &pods, PodChanges::default(), "").verdict;
        assert_eq!(
            verdict.map(|verdict| verdict.reason).as_deref(),
            expected,
            "{spec} {status}"
        );
    }
}

#[test]
fn verdict_waits_for_active_pods() {
    let spec = json!({"backoffLimit": 0});
    let pods = [pod("a", "Running"), pod("b", "Failed")];
    for (deleted, is_ended) in [(0, false), (1, true)] {
        let changes = PodChanges {
            deleted,
            ..PodChanges::default()
        };
        let progress = progress(&spec, json!({}), &pods, changes, "");
        assert_eq!(progress.verdict.is_some(), is_ended);
    }
}

#[test]
fn suspension_is_a_condition_and_stops_the_time() {
    let suspended = || json!([{"type": "Suspended", "status": "True", "reason": "JobSuspended", "message": "Job suspended"}]);
    let resumed = || json!([{"type": "Suspended", "status": "False", "reason": "JobResumed", "message": "Job resumed"}]);
    let started = || json!(ago(100));
    for (suspend, status, gates, change, start) in [
        (
            true,
            json!({"startTime": started()}),
            "",
            Some(Suspension::Suspended),
            None,
        ),
        (
            true,
            json!({"startTime": started()}),
            "MutableSchedulingDirectivesForSuspendedJobs=false",
            Some(Suspension::Suspended),
            Some(100),
        ),
        (true, json!({}), "", Some(Suspension::Suspended), None),
        (true, json!({"conditions": suspended()}), "", None, None),
        (
            false,
            json!({"conditions": suspended()}),
            "",
            Some(Suspension::Resumed),
            Some(0),
        ),
        (
            false,
            json!({"conditions": suspended(), "startTime": started()}),
            "",
            Some(Suspension::Resumed),
            Some(0),
        ),
        (
            false,
            json!({"conditions": resumed(), "startTime": started()}),
            "",
            None,
            Some(100),
        ),
        (false, json!({}), "", None, Some(0)),
        (
            true,
            json!({"conditions": resumed()}),
            "",
            Some(Suspension::Suspended),
            None,
        ),
    ] {
        let progress = progress(
            &json!({"suspend": suspend}),
            status.clone(),
            &[],
            PodChanges::default(),
            gates,
        );
        let since = progress
            .status
            .start_time
            .map(|start| now().duration_since(start.0).as_secs());
        assert_eq!(
            (progress.suspension, since),
            (change, start),
            "{suspend} {status} {gates}"
        );
    }
}

#[test]
fn absent_values_do_not_differ_from_empty_ones() {
    let status = |value: Value| -> JobStatus { from_value(value).unwrap() };
    for (one, two, expected) in [
        (
            json!({}),
            json!({"active": 0, "failed": 0, "succeeded": 0, "conditions": []}),
            false,
        ),
        (
            json!({}),
            json!({"uncountedTerminatedPods": {}, "completedIndexes": ""}),
            false,
        ),
        (json!({}), json!({"ready": 0}), true),
        (json!({}), json!({"terminating": 0}), true),
        (json!({}), json!({"failedIndexes": ""}), true),
        (json!({"active": 1}), json!({"active": 2}), true),
        (
            json!({}),
            json!({"uncountedTerminatedPods": {"failed": ["a"]}}),
            true,
        ),
    ] {
        assert_eq!(
            differs(&status(one.clone()), &status(two.clone())),
            expected,
            "{one} {two}"
        );
    }
}
