use serde_json::{Value, from_value, json};

use super::{
    super::test_objects::{ago, deleted, finished, indexed, job, limits, now, pod, rules, untracked},
    *,
};

/// The next step, as a text.
fn step(spec: &Value, status: &Value, pods: &[JobPod], is_satisfied: bool) -> String {
    let mut job = job(spec);
    if spec["deleted"] == true {
        job.metadata.deletion_timestamp = from_value(json!(ago(1))).unwrap();
    }
    let rules = rules(&job);
    let status: JobStatus = from_value(status.clone()).unwrap();
    let assessment = assess(&rules, &status, pods, FailureRecord::default(), now());
    let names = |pods: &[&JobPod]| pods.iter().map(|pod| &*pod.uid).collect::<Vec<_>>().join(" ");
    match assessment.next_step(is_satisfied, &limits(), now()) {
        PodStep::End(pods) => format!("end {}", names(&pods)),
        PodStep::Remove(pods) => format!("remove {}", names(&pods)),
        PodStep::Create(indexes) => {
            let indexes = indexes
                .iter()
                .map(|index| index.map_or("-".to_owned(), |index| index.to_string()));
            format!("create {}", indexes.collect::<Vec<_>>().join(" "))
        }
        PodStep::Wait(wait) => format!("wait {}", wait.as_secs()),
        PodStep::Keep => "keep".to_owned(),
        PodStep::Await => "await".to_owned(),
    }
}

#[test]
fn job_gets_as_many_pods_as_it_needs() {
    let running = |count: usize| -> Vec<JobPod> {
        (0..count)
            .map(|number| pod(&format!("p{number}"), "Running"))
            .collect()
    };
    let done = |status: Value| status;
    for (spec, status, pods, expected) in [
        (
            json!({"parallelism": 3}),
            done(json!({})),
            running(0),
            "create - - -",
        ),
        (json!({"parallelism": 3}), json!({}), running(2), "create -"),
        (json!({"parallelism": 2}), json!({}), running(2), "keep"),
        (json!({"parallelism": 1}), json!({}), running(2), "remove p0"),
        (json!({"parallelism": 0}), json!({}), running(1), "remove p0"),
        (json!({"parallelism": -3}), json!({}), running(0), "keep"),
        // Without completions the first success ends it.
        (
            json!({"parallelism": 3}),
            json!({"succeeded": 1}),
            running(2),
            "keep",
        ),
        (
            json!({"parallelism": 3, "completions": 5}),
            json!({"succeeded": 3}),
            running(0),
            "create - -",
        ),
        (
            json!({"parallelism": 3, "completions": 5}),
            json!({"succeeded": 3}),
            running(3),
            "remove p0",
        ),
        (
            json!({"parallelism": 3, "completions": 5}),
            json!({"succeeded": 5}),
            running(0),
            "keep",
        ),
        (
            json!({"parallelism": 3, "suspend": true}),
            json!({}),
            running(2),
            "remove p0 p1",
        ),
        (
            json!({"parallelism": 3, "suspend": true}),
            json!({}),
            running(0),
            "remove ",
        ),
        (
            json!({"parallelism": 3, "deleted": true}),
            json!({}),
            running(1),
            "await",
        ),
        (
            json!({"parallelism": 1000}),
            json!({}),
            running(0),
            &format!("create{}", " -".repeat(500)),
        ),
    ] {
        assert_eq!(step(&spec, &status, &pods, true), expected, "{spec} {status}");
        let unsatisfied = step(&spec, &status, &pods, false);
        assert_eq!(unsatisfied, "await", "{spec} {status}");
    }
}

#[test]
fn terminating_pods_are_replaced_at_once_unless_only_failed_ones_are() {
    let pods = [pod("a", "Running"), deleted(pod("b", "Running"))];
    let old = [finished("c", "Failed", 1000)];
    for (spec, expected) in [
        // The deleted pod counts as a failure, without a known time.
        (json!({"parallelism": 2}), "create -"),
        (
            json!({"parallelism": 2, "podReplacementPolicy": "TerminatingOrFailed"}),
            "create -",
        ),
        (
            json!({"parallelism": 2, "podReplacementPolicy": "Failed"}),
            "keep",
        ),
        (
            json!({"parallelism": 2, "podFailurePolicy": {"rules": []}}),
            "keep",
        ),
        (
            json!({"parallelism": 3, "podReplacementPolicy": "Failed"}),
            "create -",
        ),
    ] {
        let mut pods = pods.to_vec();
        pods[1].view = {
            let mut view = (*pods[1].view).clone();
            view.deleted = from_value(json!(ago(100))).unwrap();
            view.into()
        };
        assert_eq!(step(&spec, &json!({}), &pods, true), expected, "{spec}");
    }
    assert_eq!(
        step(&json!({"parallelism": 1}), &json!({}), &old, true),
        "create -"
    );
}

#[test]
fn failed_pods_are_replaced_after_a_backoff() {
    let failed = [finished("a", "Failed", 4), finished("b", "Failed", 7)];
    assert_eq!(
        step(&json!({"parallelism": 2}), &json!({}), &failed, true),
        "wait 16"
    );
    assert_eq!(
        step(&json!({"parallelism": 2}), &json!({}), &failed[..1], true),
        "wait 6"
    );
    // Listed in the status: counted in the record already.
    let status = json!({"uncountedTerminatedPods": {"failed": ["a", "b"]}});
    assert_eq!(
        step(&json!({"parallelism": 2}), &status, &failed, true),
        "create - -"
    );
    // At least the batch period.
    let almost = [finished("a", "Failed", 10)];
    assert_eq!(
        step(&json!({"parallelism": 1}), &json!({}), &almost, true),
        "create -"
    );
}

#[test]
fn indexes_without_a_pod_get_one() {
    let spec = |more: Value| {
        let mut spec = json!({"completionMode": "Indexed", "completions": 4, "parallelism": 3});
        spec.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        spec
    };
    let pods = [indexed("a", 1, "Running", 0), indexed("b", 0, "Succeeded", 0)];
    assert_eq!(step(&spec(json!({})), &json!({}), &pods, true), "create 2 3");
    let twice = [indexed("a", 1, "Running", 0), indexed("b", 1, "Pending", 0)];
    assert_eq!(step(&spec(json!({})), &json!({}), &twice, true), "remove b");
    let fewer = spec(json!({"completions": 1, "parallelism": 1}));
    assert_eq!(step(&fewer, &json!({}), &pods, true), "remove a");
    // Each index has a backoff of its own.
    let failed = |uid: &str, index: u32, seconds: i64| {
        let mut pod = finished(uid, "Failed", seconds);
        pod.index = Some(index);
        pod
    };
    let per_index = spec(json!({"backoffLimitPerIndex": 3}));
    let pods = [failed("a", 0, 4), failed("b", 1, 11)];
    assert_eq!(step(&per_index, &json!({}), &pods, true), "create 1 2");
    let pods = [failed("a", 0, 4), failed("b", 1, 3), failed("c", 2, 2)];
    assert_eq!(step(&per_index, &json!({}), &pods, true), "wait 6");
}

#[test]
fn ended_job_loses_its_active_pods() {
    let pods = [
        pod("a", "Running"),
        finished("b", "Failed", 1),
        deleted(pod("c", "Running")),
        pod("d", "Pending"),
    ];
    let spec = json!({"backoffLimit": 0});
    assert_eq!(step(&spec, &json!({}), &pods, true), "end a d");
    assert_eq!(step(&spec, &json!({}), &pods, false), "end a d");
}

#[test]
fn pods_are_counted_once() {
    let job = job(&json!({"completions": 10}));
    let rules = rules(&job);
    let pods = [
        pod("new", "Succeeded"),
        pod("listed", "Succeeded"),
        untracked(pod("counted", "Succeeded")),
        finished("failed", "Failed", 3),
        deleted(pod("deleted", "Running")),
        // It was listed when it was deleted, before it succeeded.
        deleted(pod("late", "Succeeded")),
    ];
    let listed = json!({"succeeded": ["listed"], "failed": ["gone", "late"]});
    let status = json!({"succeeded": 4, "failed": 2, "uncountedTerminatedPods": listed});
    let status: JobStatus = from_value(status).unwrap();
    let assessment = assess(&rules, &status, &pods, FailureRecord::default(), now());
    assert_eq!((assessment.succeeded, assessment.failed), (6, 6));
    assert_eq!((assessment.active.len(), assessment.terminating), (0, 1));
}

#[test]
fn deadline_begins_at_the_start_and_not_while_suspended() {
    for (spec, start, expected, is_ended) in [
        (json!({}), Some(5), None, false),
        (json!({"activeDeadlineSeconds": 10}), None, Some(10), false),
        (json!({"activeDeadlineSeconds": 10}), Some(4), Some(6), false),
        (json!({"activeDeadlineSeconds": 10}), Some(10), None, true),
        (json!({"activeDeadlineSeconds": 10}), Some(100), None, true),
        // The clock jumped back by an hour.
        (
            json!({"activeDeadlineSeconds": 10}),
            Some(-3600),
            Some(3610),
            false,
        ),
        (
            json!({"activeDeadlineSeconds": 10, "suspend": true}),
            Some(100),
            None,
            false,
        ),
        (
            json!({"activeDeadlineSeconds": i64::MAX}),
            Some(100),
            Some(u64::MAX),
            false,
        ),
        (json!({"activeDeadlineSeconds": -1}), Some(0), None, true),
    ] {
        let job = job(&spec);
        let rules = rules(&job);
        let status = JobStatus {
            start_time: start.map(|start| from_value(json!(ago(start))).unwrap()),
            ..JobStatus::default()
        };
        let assessment = assess(&rules, &status, &[], FailureRecord::default(), now());
        let deadline = assessment.deadline.map(|deadline| deadline.as_secs());
        let expected = expected.map(|seconds| seconds.min(i64::MAX as u64 - 100));
        assert_eq!(
            (deadline, assessment.verdict.is_some()),
            (expected, is_ended),
            "{spec}"
        );
    }
}
