use serde_json::{Value, from_value, json};

use super::{
    super::{
        backoff::FailureRecord,
        plan::assess,
        progress::PodChanges,
        rules::JobRules,
        test_objects::{deleted, features, has_finished, indexed, job, limits, now, pod, pod_of, untracked},
    },
    *,
};

/// Tracks the pods of a Job whose active pods are deleted if it has ended.
fn with_tracking<T>(
    spec: &Value,
    status: &Value,
    pods: &[JobPod],
    limit: usize,
    gates: &str,
    check: impl FnOnce(&mut Tracking<'_>, &Progress) -> T,
) -> T {
    let job = job(spec);
    let rules = JobRules::of(&job, features(gates)).unwrap();
    let before: JobStatus = from_value(status.clone()).unwrap();
    let assessment = assess(&rules, &before, pods, FailureRecord::default(), now());
    let step = assessment.next_step(true, &limits(), now());
    let has_ended = assessment.verdict.is_some();
    let changes = PodChanges {
        deleted: if has_ended { assessment.active.len() } else { 0 },
        ..PodChanges::default()
    };
    let progress = Progress::after(&assessment, &before, &step, changes, true, now());
    let mut tracking = Tracking::plan(&assessment, &progress, limit, now());
    check(&mut tracking, &progress)
}

/// Returns the status, the pods that lose their finalizers, and whether pods were left out.
fn tracked(spec: &Value, status: &Value, pods: &[JobPod], limit: usize) -> (JobStatus, Vec<String>, bool) {
    with_tracking(spec, status, pods, limit, "", |tracking, _| {
        let finished = tracking.finished.iter().map(|pod| pod.uid.to_string());
        (tracking.status.clone(), finished.collect(), tracking.is_limited)
    })
}

fn uncounted(status: &JobStatus) -> [Vec<String>; 2] {
    let uncounted = status.uncounted_terminated_pods.clone().unwrap_or_default();
    [uncounted.succeeded, uncounted.failed].map(Option::unwrap_or_default)
}

#[test]
fn finished_pods_are_listed_before_they_lose_the_finalizer() {
    let pods = [
        pod("done", "Succeeded"),
        pod("failed", "Failed"),
        pod("running", "Running"),
        deleted(pod("deleted", "Running")),
        untracked(pod("counted", "Succeeded")),
        pod("listed", "Succeeded"),
    ];
    let status = json!({"succeeded": 2, "uncountedTerminatedPods": {"succeeded": ["listed", "gone"]}});
    let (status, finished, _) = tracked(&json!({"completions": 9}), &status, &pods, 500);
    let [succeeded, failed] = uncounted(&status);
    assert_eq!(succeeded, ["listed", "done"]);
    assert_eq!(failed, ["failed", "deleted"]);
    assert_eq!(finished, ["done", "failed", "deleted", "listed"]);
    // The pod that is gone has lost its finalizer: it is counted.
    assert_eq!(status.succeeded, Some(3));
}

#[test]
fn status_lists_no_more_pods_than_it_may() {
    let pods: Vec<_> = (0..5)
        .map(|number| pod(&number.to_string(), "Succeeded"))
        .collect();
    for (limit, listed, is_limited) in [(3, 3, true), (5, 5, false), (6, 5, false)] {
        let (status, finished, found) = tracked(&json!({"completions": 9}), &json!({}), &pods, limit);
        let [succeeded, _] = uncounted(&status);
        assert_eq!(
            (succeeded.len(), finished.len(), found),
            (listed, listed, is_limited)
        );
    }
}

#[test]
fn failures_that_do_not_count_are_not_listed() {
    let on_code = |action: &str, code: i32| json!({"action": action, "onExitCodes": {"operator": "In", "values": [code]}});
    let exited = |code: i32| {
        let containers = json!([{"name": "main", "state": {"terminated": {"exitCode": code}}}]);
        let status = json!({"phase": "Failed", "containerStatuses": containers});
        pod_of(&code.to_string(), json!({ "status": status }))
    };
    let pods = [
        exited(1),
        exited(2),
        exited(3),
        deleted(pod("deleted", "Running")),
    ];
    let spec = json!({"podFailurePolicy": {"rules": [on_code("Ignore", 1), on_code("Count", 2)]}});
    with_tracking(&spec, &json!({}), &pods, 500, "", |tracking, _| {
        let [_, failed] = uncounted(&tracking.status);
        assert_eq!(failed, ["2", "3"]);
        assert_eq!(tracking.finished.len(), 3);
        let actions = BTreeMap::from([("Ignore", 1), ("Count", 1)]);
        assert_eq!(tracking.policy_actions, actions);
    });
    let listed = json!({"uncountedTerminatedPods": {"failed": ["2"]}});
    with_tracking(&spec, &listed, &pods, 500, "", |tracking, _| {
        let [_, failed] = uncounted(&tracking.status);
        assert_eq!(failed, ["2", "3"]);
        assert_eq!(tracking.finished.len(), 3);
        assert_eq!(tracking.policy_actions, BTreeMap::from([("Ignore", 1)]));
    });
}

#[test]
fn indexes_are_counted_once_and_in_order() {
    let spec = json!({"completionMode": "Indexed", "completions": 6, "backoffLimitPerIndex": 1});
    let pods = [
        indexed("b", 4, "Succeeded", 0),
        indexed("a", 1, "Succeeded", 0),
        indexed("c", 0, "Succeeded", 0),
        indexed("d", 9, "Succeeded", 0),
        indexed("e", 2, "Failed", 1),
        indexed("f", 3, "Failed", 0),
        indexed("g", 8, "Failed", 0),
    ];
    let status = json!({"completedIndexes": "0", "succeeded": 1});
    let (status, finished, _) = tracked(&spec, &status, &pods, 500);
    assert_eq!(status.completed_indexes.as_deref(), Some("0,1,4"));
    assert_eq!(status.succeeded, Some(3));
    assert_eq!(status.failed_indexes.as_deref(), Some("2"));
    let [succeeded, failed] = uncounted(&status);
    assert_eq!((succeeded.len(), failed), (0, vec!["e".to_owned()]));
    // Index 3 needs another pod, which continues its count of failures: the failed one stays until then.
    assert_eq!(finished, ["c", "a", "e", "b", "g", "d"]);
}

#[test]
fn ended_job_counts_the_pods_that_it_stopped() {
    const OFF: &str = "JobManagedBy=false,JobPodReplacementPolicy=false";
    let pods = [
        pod("running", "Running"),
        pod("failed", "Failed"),
        pod("done", "Succeeded"),
    ];
    let met = json!({"conditions": [{"type": "SuccessCriteriaMet", "status": "True"}]});
    for (status, gates, failed, interim) in [
        (json!({}), "", &["running", "failed"][..], Some("FailureTarget")),
        (json!({}), OFF, &["running", "failed"], None),
        (met, "", &["failed"], Some("SuccessCriteriaMet")),
    ] {
        let spec = json!({"backoffLimit": 0});
        with_tracking(&spec, &status, &pods, 500, gates, |tracking, _| {
            assert_eq!(uncounted(&tracking.status)[1], failed, "{status} {gates}");
            assert_eq!(tracking.finished.len(), 3);
            let conditions = tracking.status.conditions.clone().unwrap_or_default();
            let types: Vec<_> = conditions.iter().map(|condition| &*condition.type_).collect();
            assert_eq!(types, interim.into_iter().collect::<Vec<_>>());
        });
    }
}

#[test]
fn job_finishes_after_all_pods_are_counted_and_have_terminated() {
    const OFF: &str = "JobManagedBy=false,JobPodReplacementPolicy=false";
    let pods = [pod("failed", "Failed"), pod("running", "Running")];
    let spec = json!({"backoffLimit": 0});
    for (gates, removed, expected) in [("", 2, false), (OFF, 2, true), (OFF, 1, false)] {
        with_tracking(&spec, &json!({}), &pods, 500, gates, |tracking, progress| {
            let (mut status, finished) = (tracking.status.clone(), tracking.finished.clone());
            assert!(tracking.count(&mut status, &finished[..removed]));
            assert_eq!(status.failed, Some(to_i32(removed)));
            let delays = gates.is_empty();
            assert_eq!(tracking.finish(&mut status, progress, delays, now()), expected);
            assert_eq!(has_finished(&status), expected);
        });
    }
    // Later, when the deleted pod has terminated.
    let interim = json!([{"type": "FailureTarget", "status": "True", "reason": "BackoffLimitExceeded"}]);
    let status = json!({"failed": 2, "conditions": interim});
    with_tracking(&spec, &status, &[], 500, "", |tracking, progress| {
        let mut status = tracking.status.clone();
        assert!(tracking.finish(&mut status, progress, true, now()));
        let last = status.conditions.unwrap().pop().unwrap();
        assert_eq!(
            (&*last.type_, last.reason.as_deref()),
            ("Failed", Some("BackoffLimitExceeded"))
        );
        assert_eq!(status.completion_time, None);
    });
}

#[test]
fn complete_job_has_a_completion_time() {
    with_tracking(
        &json!({}),
        &json!({"succeeded": 1}),
        &[],
        500,
        "",
        |tracking, progress| {
            let types = |status: &JobStatus| -> Vec<String> {
                let conditions = status.conditions.iter().flatten();
                conditions.map(|condition| condition.type_.clone()).collect()
            };
            let mut status = tracking.status.clone();
            assert_eq!(types(&status), ["SuccessCriteriaMet"]);
            assert!(tracking.finish(&mut status, progress, true, now()));
            assert_eq!(types(&status), ["SuccessCriteriaMet", "Complete"]);
            assert_eq!(status.completion_time.unwrap().0, now());
        },
    );
}

#[test]
fn active_pods_of_a_deleted_job_lose_the_finalizer_uncounted() {
    let mut owner = job(&json!({}));
    owner.metadata.deletion_timestamp = from_value(json!("2026-05-01T11:00:00Z")).unwrap();
    let rules = JobRules::of(&owner, features("")).unwrap();
    let pods = [pod("running", "Running"), pod("done", "Succeeded")];
    let before = JobStatus::default();
    let assessment = assess(&rules, &before, &pods, FailureRecord::default(), now());
    let step = assessment.next_step(true, &limits(), now());
    let progress = Progress::after(&assessment, &before, &step, PodChanges::default(), true, now());
    let tracking = Tracking::plan(&assessment, &progress, 500, now());
    assert_eq!(tracking.finished.len(), 2);
    let [succeeded, failed] = uncounted(&tracking.status);
    assert_eq!((succeeded.len(), failed.len()), (1, 0));
}
