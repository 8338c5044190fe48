use std::time::Duration;

use serde_json::{Value, from_value, json};

use super::{
    super::test_objects::{ago, deleted, indexed, job, limits, now, pod, pod_of, rules, untracked},
    *,
};

fn indexes<'p>(spec: &Value, status: Value, pods: &'p [JobPod]) -> Indexes<'p> {
    let mut fields = json!({"completionMode": "Indexed", "completions": 6, "parallelism": 6});
    fields
        .as_object_mut()
        .unwrap()
        .extend(spec.as_object().unwrap().clone());
    let job = job(&fields);
    let status: JobStatus = from_value(status).unwrap();
    Indexes::of(&rules(&job), &status, pods)
}

fn pending(spec: &Value, status: Value, pods: &[JobPod], count: usize) -> Vec<u32> {
    let mut fields = json!({"completionMode": "Indexed", "completions": 6, "parallelism": 6});
    fields
        .as_object_mut()
        .unwrap()
        .extend(spec.as_object().unwrap().clone());
    let job = job(&fields);
    let status: JobStatus = from_value(status).unwrap();
    let rules = rules(&job);
    Indexes::of(&rules, &status, pods).pending(&rules, pods, count)
}

fn texts(indexes: &Indexes<'_>) -> (String, String, Option<String>) {
    (
        indexes.counted.to_string(),
        indexes.succeeded.to_string(),
        indexes.failed.as_ref().map(ToString::to_string),
    )
}

#[test]
fn succeeded_indexes_are_those_of_the_status_and_of_tracked_pods() {
    let pods = [
        indexed("a", 1, "Succeeded", 0),
        indexed("b", 3, "Succeeded", 0),
        indexed("c", 4, "Running", 0),
        indexed("d", 9, "Succeeded", 0),
        untracked(indexed("e", 5, "Succeeded", 0)),
        pod("f", "Succeeded"),
    ];
    let found = indexes(&json!({}), json!({"completedIndexes": "0,7"}), &pods);
    assert_eq!(texts(&found), ("0".into(), "0,1,3".into(), None));
}

#[test]
fn index_fails_after_its_limit_or_by_the_policy() {
    let exited = |uid: &str, index: u32, code: i32| {
        let annotations = json!({
            "batch.kubernetes.io/job-completion-index": index.to_string(),
            "batch.kubernetes.io/job-index-failure-count": "1",
        });
        let containers = json!([{"name": "main", "state": {"terminated": {"exitCode": code}}}]);
        pod_of(
            uid,
            json!({"metadata": {"annotations": annotations}, "status": {"phase": "Failed", "containerStatuses": containers}}),
        )
    };
    let policy = |action: &str| json!({"rules": [{"action": action, "onExitCodes": {"operator": "In", "values": [7]}}]});
    let pods = [
        indexed("a", 0, "Failed", 0),
        indexed("b", 1, "Failed", 1),
        exited("c", 2, 7),
        untracked(indexed("d", 3, "Failed", 9)),
        deleted(indexed("e", 4, "Running", 1)),
        indexed("f", 8, "Failed", 9),
    ];
    for (spec, expected) in [
        (json!({"backoffLimitPerIndex": 0}), "0-2,4,5"),
        (json!({"backoffLimitPerIndex": 1}), "1,2,4,5"),
        (json!({"backoffLimitPerIndex": 2}), "5"),
        (
            json!({"backoffLimitPerIndex": 1, "podReplacementPolicy": "Failed"}),
            "1,2,5",
        ),
        (
            json!({"backoffLimitPerIndex": 2, "podFailurePolicy": policy("FailIndex")}),
            "2,5",
        ),
        (
            json!({"backoffLimitPerIndex": 1, "podFailurePolicy": policy("Ignore")}),
            "1,5",
        ),
    ] {
        let found = indexes(&spec, json!({"failedIndexes": "5"}), &pods);
        assert_eq!(found.failed.unwrap().to_string(), expected, "{spec}");
    }
}

#[test]
fn last_failed_pod_of_an_index_is_kept_until_it_is_replaced() {
    let pods = [
        indexed("a", 0, "Failed", 0),
        indexed("b", 0, "Failed", 1),
        indexed("c", 1, "Failed", 0),
        indexed("d", 1, "Running", 1),
        indexed("e", 2, "Failed", 0),
        indexed("f", 2, "Succeeded", 1),
        indexed("g", 3, "Failed", 3),
        untracked(indexed("h", 4, "Failed", 0)),
    ];
    let found = indexes(&json!({"backoffLimitPerIndex": 3}), json!({}), &pods);
    let kept: Vec<_> = found
        .replaced
        .iter()
        .map(|(index, pod)| (*index, &*pod.uid))
        .collect();
    assert_eq!(kept, [(0, "b")]);
    assert!(indexes(&json!({}), json!({}), &pods).replaced.is_empty());
}

#[test]
fn new_pod_continues_the_count_of_failures() {
    let mut pods = [indexed("a", 0, "Failed", 1)];
    let ignored = json!({"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]});
    let job = job(&json!({
        "completionMode": "Indexed", "completions": 2, "backoffLimitPerIndex": 5, "podFailurePolicy": ignored,
    }));
    let rules = rules(&job);
    let failures = |pods: &[JobPod], index| {
        let failures = Indexes::of(&rules, &JobStatus::default(), pods).failures(&rules, index);
        (failures.counted, failures.ignored)
    };
    assert_eq!(failures(&pods, 0), (2, 0));
    assert_eq!(failures(&pods, 1), (0, 0));
    let mut view = (*pods[0].view).clone();
    view.condition_types = vec![Some("DisruptionTarget".into())];
    view.condition_statuses = vec![Some(crate::shared::pod::ConditionStatus::True)];
    pods[0].view = std::sync::Arc::new(view.clone());
    assert_eq!(failures(&pods, 0), (1, 1));
    // No numbers.
    for text in ["x", "-1", "99999999999"] {
        view.index_failures = Some(text.to_owned());
        pods[0].view = std::sync::Arc::new(view.clone());
        assert_eq!(failures(&pods, 0), (0, 1), "{text}");
    }
}

#[test]
fn backoff_of_an_index_counts_its_failures() {
    let mut pods = [indexed("a", 0, "Failed", 2)];
    let mut view = (*pods[0].view).clone();
    view.created = from_value(json!(ago(10))).unwrap();
    pods[0].view = std::sync::Arc::new(view);
    let found = indexes(&json!({"backoffLimitPerIndex": 5}), json!({}), &pods);
    assert_eq!(
        found.remaining_backoff(0, &limits(), now()),
        Duration::from_secs(30)
    );
    assert_eq!(found.remaining_backoff(1, &limits(), now()), Duration::ZERO);
}

#[test]
fn pending_indexes_are_the_lowest_without_a_pod_or_a_result() {
    let pods = [
        indexed("a", 1, "Running", 0),
        indexed("b", 2, "Succeeded", 0),
        deleted(indexed("c", 3, "Running", 0)),
        indexed("d", 4, "Failed", 0),
    ];
    let status = || json!({"completedIndexes": "0"});
    assert_eq!(pending(&json!({}), status(), &pods, 9), [3, 4, 5]);
    assert_eq!(pending(&json!({}), status(), &pods, 2), [3, 4]);
    assert_eq!(pending(&json!({}), status(), &pods, 0), [0; 0]);
    assert_eq!(
        pending(&json!({"podReplacementPolicy": "Failed"}), status(), &pods, 9),
        [4, 5]
    );
    assert_eq!(
        pending(&json!({"backoffLimitPerIndex": 0}), status(), &pods, 9),
        [5]
    );
    assert_eq!(pending(&json!({"completions": 0}), status(), &pods, 9), [0; 0]);
}
