use serde_json::{Value, from_value, json};

use super::{
    super::test_objects::{deleted, features, indexed, job, pod_of},
    *,
};

/// Judges a Job, with features. Returns reason, interim condition, and whether it is a success.
fn judged(
    spec: &Value,
    status: Value,
    pods: &[JobPod],
    failed: usize,
    gates: &str,
) -> Option<(String, Interim, bool)> {
    let job = job(spec);
    let rules = JobRules::of(&job, features(gates)).unwrap();
    let status: JobStatus = from_value(status).unwrap();
    let indexes = if rules.indexes.is_some() {
        Indexes::of(&rules, &status, pods)
    } else {
        Indexes::default()
    };
    let verdict = judge(&rules, &status, pods, &indexes, failed, spec["late"] == true)?;
    Some((verdict.reason, verdict.interim, verdict.is_success))
}

fn exited(code: i32, phase: &str) -> JobPod {
    let containers = json!([{"name": "main", "state": {"terminated": {"exitCode": code}}}]);
    pod_of(
        "pod",
        json!({"status": {"phase": phase, "containerStatuses": containers}}),
    )
}

fn restarted(phase: &str, restarts: i32, init_restarts: i32) -> JobPod {
    pod_of(
        "pod",
        json!({"status": {
            "phase": phase, "containerStatuses": [{"restartCount": restarts}],
            "initContainerStatuses": [{"restartCount": init_restarts}],
        }}),
    )
}

fn fail_job() -> Value {
    json!({"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [5]}}]})
}

#[test]
fn failed_pods_are_judged_by_the_limits() {
    let on_failure = json!({"metadata": {"labels": {"job": "work"}}, "spec": {"restartPolicy": "OnFailure", "containers": []}});
    for (spec, pods, failed, expected) in [
        (json!({"backoffLimit": 2}), vec![], 2, None),
        (
            json!({"backoffLimit": 2}),
            vec![],
            3,
            Some("BackoffLimitExceeded"),
        ),
        (
            json!({"backoffLimit": 0}),
            vec![],
            1,
            Some("BackoffLimitExceeded"),
        ),
        (json!({"late": true}), vec![], 0, Some("DeadlineExceeded")),
        (
            json!({"late": true, "backoffLimit": 0}),
            vec![],
            1,
            Some("BackoffLimitExceeded"),
        ),
        (
            json!({"podFailurePolicy": fail_job(), "late": true}),
            vec![exited(5, "Failed")],
            1,
            Some("PodFailurePolicy"),
        ),
        (
            json!({"podFailurePolicy": fail_job()}),
            vec![exited(4, "Failed")],
            1,
            None,
        ),
        // Not failed yet: pods with a policy must reach the phase.
        (
            json!({"podFailurePolicy": fail_job()}),
            vec![deleted(exited(5, "Running"))],
            0,
            None,
        ),
        (
            json!({"backoffLimit": 3}),
            vec![restarted("Running", 9, 0)],
            0,
            None,
        ),
        (
            json!({"backoffLimit": 3, "template": on_failure}),
            vec![restarted("Running", 1, 1)],
            0,
            None,
        ),
        (
            json!({"backoffLimit": 3, "template": on_failure}),
            vec![restarted("Running", 1, 2)],
            0,
            Some("BackoffLimitExceeded"),
        ),
        (
            json!({"backoffLimit": 3, "template": on_failure}),
            vec![restarted("Failed", 5, 5)],
            0,
            None,
        ),
        (
            json!({"backoffLimit": 0, "template": on_failure}),
            vec![restarted("Pending", 0, 0)],
            0,
            None,
        ),
        (
            json!({"backoffLimit": 0, "template": on_failure}),
            vec![restarted("Pending", 0, 1)],
            0,
            Some("BackoffLimitExceeded"),
        ),
    ] {
        let reason = judged(&spec, json!({}), &pods, failed, "").map(|(reason, ..)| reason);
        assert_eq!(reason.as_deref(), expected, "{spec}");
    }
}

#[test]
fn indexes_decide_about_indexed_jobs() {
    let base = |more: Value| {
        let mut spec = json!({"completionMode": "Indexed", "completions": 4, "backoffLimitPerIndex": 0, "backoffLimit": 99});
        spec.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        spec
    };
    let policy = json!({"rules": [{"succeededIndexes": "0", "succeededCount": null}]});
    let pods = [indexed("a", 0, "Succeeded", 0), indexed("b", 1, "Failed", 0)];
    for (spec, status, expected) in [
        (base(json!({})), json!({}), None),
        (base(json!({"maxFailedIndexes": 1})), json!({}), None),
        (
            base(json!({"maxFailedIndexes": 0})),
            json!({}),
            Some(("MaxFailedIndexesExceeded", false)),
        ),
        (
            base(json!({})),
            json!({"failedIndexes": "2,3"}),
            Some(("FailedIndexes", false)),
        ),
        (
            base(json!({})),
            json!({"completedIndexes": "2,3"}),
            Some(("FailedIndexes", false)),
        ),
        (
            base(json!({"successPolicy": policy})),
            json!({}),
            Some(("SuccessPolicy", true)),
        ),
        // A failure outweighs a success.
        (
            base(json!({"successPolicy": policy, "maxFailedIndexes": 0})),
            json!({}),
            Some(("MaxFailedIndexesExceeded", false)),
        ),
    ] {
        let verdict = judged(&spec, status, &pods, 1, "").map(|(reason, _, success)| (reason, success));
        let expected = expected.map(|(reason, success)| (reason.to_owned(), success));
        assert_eq!(verdict, expected, "{spec}");
    }
    let message = {
        let job = job(&base(json!({"successPolicy": policy})));
        let rules = JobRules::of(&job, features("")).unwrap();
        let indexes = Indexes::of(&rules, &JobStatus::default(), &pods);
        judge(&rules, &JobStatus::default(), &pods, &indexes, 0, false)
            .unwrap()
            .message
    };
    assert_eq!(message, "Matched rules at index 0");
}

#[test]
fn interim_condition_stays_and_becomes_the_final_one() {
    let status = |kind: &str, status: &str| json!({"conditions": [{"type": kind, "status": status, "reason": "Because", "message": "So"}]});
    let spec = json!({"podFailurePolicy": fail_job()});
    let pods = [exited(5, "Failed")];
    for (status, gates, expected) in [
        (
            status("FailureTarget", "True"),
            "",
            ("Because", Interim::Written, false),
        ),
        (
            status("SuccessCriteriaMet", "True"),
            "",
            ("Because", Interim::Written, true),
        ),
        (
            status("SuccessCriteriaMet", "False"),
            "",
            ("PodFailurePolicy", Interim::New, false),
        ),
        (
            status("SuccessCriteriaMet", "True"),
            "JobSuccessPolicy=false,JobManagedBy=false,JobPodReplacementPolicy=false",
            ("PodFailurePolicy", Interim::New, false),
        ),
    ] {
        let verdict = judged(&spec, status.clone(), &pods, 1, gates).unwrap();
        assert_eq!((&*verdict.0, verdict.1, verdict.2), expected, "{status} {gates}");
    }
}

#[test]
fn interim_conditions_need_a_feature() {
    let off = "JobManagedBy=false,JobPodReplacementPolicy=false";
    for (gates, interim) in [
        ("", Interim::New),
        ("JobManagedBy=false", Interim::New),
        (off, Interim::None),
    ] {
        let verdict = judged(&json!({"backoffLimit": 0}), json!({}), &[], 1, gates).unwrap();
        assert_eq!(verdict.1, interim, "{gates}");
        assert_eq!(
            Verdict::completions_reached(features(gates)).interim,
            interim,
            "{gates}"
        );
    }
    let named = Verdict::completions_reached(features(""));
    assert_eq!(named.reason, "CompletionsReached");
    assert!(!named.fails_unfinished_pods());
    let unnamed = Verdict::completions_reached(features(
        "JobSuccessPolicy=false,JobManagedBy=false,JobPodReplacementPolicy=false",
    ));
    assert_eq!(unnamed.reason, "");
    assert!(unnamed.fails_unfinished_pods());
}
