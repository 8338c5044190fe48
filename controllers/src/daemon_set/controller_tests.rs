//! Claiming, writing pods and the status, with the requests of single reconciles.

use kubewright::testing::{Harness, Reply, Request};
use serde_json::{Value, json};

use super::{
    super::{
        pod_template::HASH_LABEL,
        test_objects::{
            KEY, daemon_set, harness, is_create, node, pod, reconcile, refused, seed_daemon_set, seeded, sent,
        },
    },
    *,
};

fn created(requests: &[Request]) -> Vec<&Request> {
    requests.iter().filter(|request| is_create(request)).collect()
}

/// The node that a created pod is for.
fn target(pod: &Request) -> &Value {
    let affinity = &pod.body["spec"]["affinity"]["nodeAffinity"];
    let terms = &affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
    &terms[0]["matchFields"][0]["values"][0]
}

fn reasons(test: &Harness) -> Vec<String> {
    let events = test.events().into_iter();
    events.map(|event| event.reason).collect()
}

fn harness_at(now: &str) -> Harness {
    let clock = Clock::starting_at(now.parse().unwrap());
    Harness::with_clock(clock, |setup| {
        register(setup, &Options::default(), &InvalidObjects::default());
    })
}

#[tokio::test]
async fn every_node_gets_a_pod_once_and_the_status_counts_them() {
    let (test, hash) = seeded(&["a", "b"]).await;
    let mut other = node("c");
    other["spec"] = json!({"taints": [{"key": "dedicated", "effect": "NoSchedule"}]});
    test.seed(&other);
    reconcile(&test).await;
    let requests = test.requests();
    let pods = created(&requests);
    let nodes: Vec<_> = pods.iter().map(|pod| target(pod)).collect();
    assert_eq!(nodes, ["a", "b"]);
    for pod in pods {
        let metadata = &pod.body["metadata"];
        assert_eq!(metadata["labels"], json!({"app": "agent", HASH_LABEL: hash}));
        assert_eq!(metadata["ownerReferences"][0]["uid"], "owner");
    }
    let status = &requests.last().unwrap().body["status"];
    assert_eq!(
        (
            &status["desiredNumberScheduled"],
            &status["currentNumberScheduled"]
        ),
        (&json!(2), &json!(0))
    );
    assert_eq!(status["observedGeneration"], 1);
    assert_eq!(
        reasons(&test),
        ["SuccessfulCreate"],
        "one event is recorded about both"
    );

    // The cache does not show them yet.
    reconcile(&test).await;
    assert!(created(&test.requests()).is_empty());
}

#[tokio::test]
async fn observed_generation_waits_for_expected_pods() {
    let (test, _) = seeded(&["a"]).await;
    reconcile(&test).await;
    test.requests();
    let mut changed = daemon_set();
    changed["metadata"]["generation"] = json!(2);
    changed["status"] = json!({
        "desiredNumberScheduled": 5, "currentNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0,
        "observedGeneration": 1,
    });
    test.seed(&changed);
    test.api().put::<DaemonSet>(&changed);
    reconcile(&test).await;
    let requests = test.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    let status = &requests[0].body["status"];
    assert_eq!(
        (&status["desiredNumberScheduled"], &status["observedGeneration"]),
        (&json!(1), &json!(1))
    );
}

#[tokio::test]
async fn nothing_is_written_where_all_is_right() {
    let (test, hash) = seeded(&["a"]).await;
    test.seed(&pod("one", "a", &hash, Some("owner")));
    // None of the owner's: another's, and one with another label.
    test.seed(&pod("two", "a", &hash, Some("other")));
    let mut unrelated = pod("three", "a", &hash, None);
    unrelated["metadata"]["labels"]["app"] = json!("web");
    test.seed(&unrelated);
    let mut ready = daemon_set();
    ready["status"] = json!({
        "desiredNumberScheduled": 1, "currentNumberScheduled": 1, "numberMisscheduled": 0, "numberReady": 0,
        "updatedNumberScheduled": 1, "numberUnavailable": 1, "observedGeneration": 1,
    });
    test.seed(&ready);
    assert_eq!(reconcile(&test).await, Action::await_change());
    assert_eq!(sent(&test), [""; 0]);
}

#[tokio::test]
async fn orphans_are_adopted_after_a_live_read_and_others_released() {
    let (test, hash) = seeded(&["a", "b"]).await;
    test.seed(&pod("one", "a", &hash, None));
    let mut released = pod("two", "b", &hash, Some("owner"));
    released["metadata"]["labels"]["app"] = json!("web");
    test.seed(&released);
    reconcile(&test).await;
    let mut requests = sent(&test);
    assert_eq!(requests.remove(0), "get daemonsets.apps default/agent");
    let mut patches: Vec<_> = requests.drain(..2).collect();
    patches.sort();
    assert_eq!(patches, ["patch pods default/one", "patch pods default/two"]);
    let writes = [
        "create pods default",
        "update daemonsets.apps/status default/agent",
    ];
    assert_eq!(requests, writes);
}

#[tokio::test]
async fn daemon_set_that_was_deleted_or_replaced_adopts_nothing() {
    for change in [
        json!({"deletionTimestamp": "2026-05-01T00:00:00Z"}),
        json!({"uid": "new"}),
    ] {
        let (test, hash) = seeded(&["a"]).await;
        test.seed(&pod("one", "a", &hash, None));
        let mut fresh = daemon_set();
        let metadata = fresh["metadata"].as_object_mut().unwrap();
        metadata.extend(change.as_object().unwrap().clone());
        test.api().put::<DaemonSet>(&fresh);
        test.reconcile(KEY).await.unwrap_err();
        assert_eq!(sent(&test), ["get daemonsets.apps default/agent"]);
    }
}

#[tokio::test]
async fn deleted_daemon_set_is_left_alone() {
    let (test, hash) = seeded(&["a", "b"]).await;
    test.seed(&pod("one", "a", &hash, None));
    let mut deleted = daemon_set();
    deleted["metadata"]["deletionTimestamp"] = json!("2026-05-01T00:00:00Z");
    test.seed(&deleted);
    reconcile(&test).await;
    assert_eq!(sent(&test), [""; 0]);
}

#[tokio::test]
async fn empty_selector_is_an_event_and_an_invalid_one_nothing() {
    let (test, hash) = seeded(&["a"]).await;
    test.seed(&pod("one", "a", &hash, None));
    for (generation, selector, events) in [
        (2, json!({}), &["SelectingAll"][..]),
        (
            3,
            json!({"matchExpressions": [{"key": "app", "operator": "Near"}]}),
            &[],
        ),
    ] {
        let mut bad = daemon_set();
        bad["spec"]["selector"] = selector;
        bad["metadata"]["generation"] = json!(generation);
        test.seed(&bad);
        reconcile(&test).await;
        assert_eq!(sent(&test), [""; 0]);
        assert_eq!(reasons(&test), events);
    }
}

#[tokio::test]
async fn invalid_limit_is_reported_once_for_each_generation_and_not_retried() {
    let objects = InvalidObjects::default();
    let test = Harness::new(|setup| register(setup, &Options::default(), &objects));
    seed_daemon_set(&test, &["a"]).await;
    test.seed(&pod("one", "a", "old", Some("owner")));
    for generation in [2, 3] {
        let mut invalid = daemon_set();
        invalid["metadata"]["generation"] = json!(generation);
        invalid["spec"]["updateStrategy"]["rollingUpdate"] = json!({"maxUnavailable": "some"});
        test.seed(&invalid);
        for _ in 0..2 {
            assert_eq!(reconcile(&test).await, Action::await_change());
        }
    }
    // The pod of the old revision stays, and is counted.
    for request in test.requests() {
        assert_eq!(request.to_string(), "update daemonsets.apps/status default/agent");
        assert_eq!(request.body["status"]["currentNumberScheduled"], 1);
    }
    assert_eq!(objects.count(NAME, "InvalidLimit").get(), 2);
}

#[tokio::test]
async fn pods_that_ended_are_deleted_with_an_event() {
    let (test, hash) = seeded(&["a", "b"]).await;
    for (name, node, phase) in [("one", "a", "Failed"), ("two", "b", "Succeeded")] {
        let mut pod = pod(name, node, &hash, Some("owner"));
        pod["status"]["phase"] = json!(phase);
        test.seed(&pod);
    }
    reconcile(&test).await;
    let mut deletions = sent(&test);
    deletions.retain(|request| request.starts_with("delete"));
    deletions.sort();
    assert_eq!(deletions, ["delete pods default/one", "delete pods default/two"]);
    let events = test.events();
    let failed = "Found failed daemon pod default/one on node a, will try to kill it";
    let succeeded = "Found succeeded daemon pod default/two on node b, will try to delete it";
    let events: Vec<_> = events
        .iter()
        .map(|event| (&*event.reason, &*event.note))
        .collect();
    assert_eq!(
        events,
        [
            ("FailedDaemonPod", failed),
            ("SucceededDaemonPod", succeeded),
            ("SuccessfulDelete", "Deleted 2 pods: one, two"),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn next_failed_pod_of_a_node_has_to_wait() {
    let test = harness_at("2026-05-01T12:00:00Z");
    let hash = seed_daemon_set(&test, &["a"]).await;
    let failed = |name: &str| {
        let mut pod = pod(name, "a", &hash, Some("owner"));
        pod["status"]["phase"] = json!("Failed");
        pod
    };
    let is_deleted = |test: &Harness| sent(test).iter().any(|request| request.starts_with("delete"));
    test.seed(&failed("one"));
    // The expected deletion is answered with an error, and so not expected any more.
    test.reply_with(
        |request| request.verb == "delete",
        refused("no", "Forbidden", 403),
    );
    test.reconcile(KEY).await.unwrap_err();
    assert!(is_deleted(&test));
    let action = reconcile(&test).await;
    assert_eq!(action, Action::requeue_after(Duration::from_secs(1)));
    assert!(!is_deleted(&test));
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(reconcile(&test).await, Action::await_change());
    assert!(is_deleted(&test));
}

#[tokio::test]
async fn refused_creation_stops_the_others_and_the_status_is_written() {
    let (test, hash) = seeded(&["a", "b", "c", "d"]).await;
    test.seed(&pod("surplus-1", "a", &hash, Some("owner")));
    test.seed(&pod("surplus-2", "a", &hash, Some("owner")));
    test.reply_with(is_create, refused("exceeded quota", "Forbidden", 403));
    let error = test.reconcile(KEY).await.unwrap_err();
    assert!(error.to_string().contains("exceeded quota"), "{error}");
    let requests = test.requests();
    assert_eq!(created(&requests).len(), 1);
    assert!(requests.iter().any(|request| request.verb == "delete"));
    let status = &requests.last().unwrap().body["status"];
    assert_eq!(status["desiredNumberScheduled"], 4);
    assert_eq!(reasons(&test), ["FailedCreate", "SuccessfulDelete"]);
}

#[tokio::test]
async fn status_is_written_again_after_a_conflict() {
    let (test, hash) = seeded(&["a"]).await;
    test.seed(&pod("one", "a", &hash, Some("owner")));
    let mut fresh = daemon_set();
    fresh["metadata"]["generation"] = json!(2);
    fresh["status"] = json!({"collisionCount": 1});
    test.api().put::<DaemonSet>(&fresh);
    test.reply_with(|request| request.verb == "update", Reply::conflict());
    reconcile(&test).await;
    let requests = test.requests();
    let verbs: Vec<_> = requests.iter().map(|request| request.verb).collect();
    assert_eq!(verbs, ["update", "get", "update"]);
    let status = &requests[2].body["status"];
    for (field, expected) in [
        ("currentNumberScheduled", 1),
        ("observedGeneration", 1),
        ("collisionCount", 1),
    ] {
        assert_eq!(status[field], expected, "{field}");
    }
}

fn set_ready_since(pod: &mut Value, time: &str) {
    let since = format!("2026-05-01T{time}Z");
    pod["status"]["conditions"] = json!([{"type": "Ready", "status": "True", "lastTransitionTime": since}]);
}

#[tokio::test(start_paused = true)]
async fn key_is_called_again_when_the_next_pod_becomes_available() {
    let test = harness_at("2026-05-01T12:00:10Z");
    let hash = seed_daemon_set(&test, &["a", "b"]).await;
    let mut owner = daemon_set();
    owner["spec"]["minReadySeconds"] = json!(5);
    test.seed(&owner);
    for (name, node, since) in [("one", "a", "12:00:07"), ("two", "b", "12:00:01")] {
        let mut pod = pod(name, node, &hash, Some("owner"));
        set_ready_since(&mut pod, since);
        test.seed(&pod);
    }
    assert_eq!(
        reconcile(&test).await,
        Action::requeue_after(Duration::from_secs(2))
    );
    let requests = test.requests();
    let status = &requests.last().unwrap().body["status"];
    assert_eq!(
        (&status["numberReady"], &status["numberAvailable"]),
        (&json!(2), &json!(1))
    );
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(reconcile(&test).await, Action::await_change());
}

/// The status counts the old pod of the node, which is available; the update waits for the new one.
#[tokio::test(start_paused = true)]
async fn key_is_called_again_when_a_surging_pod_becomes_available() {
    let test = harness_at("2026-05-01T12:00:10Z");
    let hash = seed_daemon_set(&test, &["a"]).await;
    let mut owner = daemon_set();
    owner["spec"]["minReadySeconds"] = json!(5);
    owner["spec"]["updateStrategy"]["rollingUpdate"] = json!({"maxSurge": 1, "maxUnavailable": 0});
    test.seed(&owner);
    for (name, hash, created, since) in [
        ("old", "old", "11:00:00", "11:00:01"),
        ("new", hash.as_str(), "12:00:00", "12:00:07"),
    ] {
        let mut pod = pod(name, "a", hash, Some("owner"));
        pod["metadata"]["creationTimestamp"] = json!(format!("2026-05-01T{created}Z"));
        set_ready_since(&mut pod, since);
        test.seed(&pod);
    }
    assert_eq!(
        reconcile(&test).await,
        Action::requeue_after(Duration::from_secs(2))
    );
    test.requests();
    tokio::time::advance(Duration::from_secs(2)).await;
    reconcile(&test).await;
    assert!(sent(&test).contains(&"delete pods default/old".to_owned()));
}

#[tokio::test]
async fn bad_specs_do_not_panic() {
    for change in [
        json!({"template": {}}),
        json!({"minReadySeconds": -5, "revisionHistoryLimit": -1}),
        json!({"updateStrategy": {"type": "Canary"}}),
    ] {
        let test = harness();
        test.seed(&node("a"));
        let mut owner = daemon_set();
        let spec = owner["spec"].as_object_mut().unwrap();
        spec.extend(change.as_object().unwrap().clone());
        test.seed(&owner);
        reconcile(&test).await;
        let requests = test.requests();
        assert_eq!(created(&requests).len(), 2, "the revision and the pod: {change}");
    }
}
