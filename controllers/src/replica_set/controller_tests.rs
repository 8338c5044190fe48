//! Claiming and the status, with the requests of single reconciles.

use std::time::Duration;

use kubewright::testing::{Harness, Reply, Request};
use serde_json::json;

use super::{
    super::test_support::{KEY, harness, harness_with, pod, reconcile, refused, replica_set, sent},
    *,
};

#[tokio::test]
async fn nothing_is_written_where_pods_and_status_are_right() {
    let test = harness();
    test.seed(&replica_set(2));
    test.seed(&pod("a", "web", Some("owner")));
    test.seed(&pod("b", "web", Some("owner")));
    // None of the owner's: another's, one with another label, one of another namespace.
    test.seed(&pod("c", "web", Some("other")));
    test.seed(&pod("d", "shop", None));
    let mut elsewhere = pod("e", "web", None);
    elsewhere["metadata"]["namespace"] = json!("elsewhere");
    test.seed(&elsewhere);
    assert_eq!(reconcile(&test).await, Action::await_change());
    assert_eq!(sent(&test), [""; 0]);
}

#[tokio::test]
async fn replica_set_of_5000_pods_syncs_without_a_namespace_scan() {
    let test = harness();
    test.seed(&replica_set(5000));
    for number in 0..5000 {
        test.seed(&pod(&format!("own-{number}"), "web", Some("owner")));
    }
    for number in 0..100 {
        test.seed(&pod(&format!("other-{number}"), "web", Some("other")));
    }
    let stats = || test.setup().informers().projected::<PodView>().stats();
    let before = stats();
    assert_eq!(reconcile(&test).await, Action::await_change());
    assert_eq!(sent(&test), [""; 0]);
    let after = stats();
    assert_eq!(
        (after.scans, after.decodes),
        (before.scans, before.decodes + 5000)
    );
    // Proves that a scan is counted.
    let pods = test.setup().informers().projected::<PodView>().lister();
    assert_eq!(pods.namespace("default").list().len(), 5100);
    assert_eq!(stats().scans, before.scans + 1);
}

#[tokio::test]
async fn orphans_are_adopted_after_a_live_read_and_others_released() {
    let test = harness();
    test.seed(&replica_set(2));
    test.seed(&pod("a", "web", None));
    test.seed(&pod("b", "web", None));
    test.seed(&pod("c", "shop", Some("owner")));
    let mut failed = pod("d", "web", None);
    failed["status"]["phase"] = json!("Failed");
    test.seed(&failed);
    reconcile(&test).await;
    let mut requests = sent(&test);
    assert_eq!(requests.remove(0), "get replicasets.apps default/web");
    requests.sort();
    assert_eq!(
        requests,
        [
            "patch pods default/a",
            "patch pods default/b",
            "patch pods default/c"
        ]
    );
}

#[tokio::test]
async fn failed_claim_does_not_stop_the_others() {
    for (code, reason, released, adopted) in [
        (404, "NotFound", true, true),
        (422, "Invalid", true, false),
        (409, "Conflict", false, false),
        (500, "InternalError", false, false),
    ] {
        for (failing, is_ok) in [("default/a", adopted), ("default/b", released)] {
            let test = harness();
            test.seed(&replica_set(0));
            test.seed(&pod("a", "web", None));
            test.seed(&pod("b", "shop", Some("owner")));
            let is_failing = move |request: &Request| request.to_string() == format!("patch pods {failing}");
            test.reply_with(is_failing, refused("no", reason, code));
            assert_eq!(test.reconcile(KEY).await.is_ok(), is_ok, "{failing} {reason}");
            let patches = sent(&test)
                .into_iter()
                .filter(|request| request.starts_with("patch"));
            assert_eq!(patches.count(), 2);
        }
    }
}

#[tokio::test]
async fn owner_that_was_deleted_or_replaced_meanwhile_adopts_nothing() {
    for change in [
        json!({"deletionTimestamp": "2026-05-01T00:00:00Z"}),
        json!({"uid": "new"}),
    ] {
        let test = harness();
        test.seed(&replica_set(1));
        test.seed(&pod("a", "web", None));
        let mut fresh = replica_set(1);
        fresh["metadata"]
            .as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        test.api().put::<ReplicaSet>(&fresh);
        test.reconcile(KEY).await.unwrap_err();
        assert_eq!(sent(&test), ["get replicasets.apps default/web"]);
    }
}

#[tokio::test]
async fn deleted_owner_neither_adopts_nor_creates() {
    let test = harness();
    let mut owner = replica_set(2);
    owner["metadata"]["deletionTimestamp"] = json!("2026-05-01T00:00:00Z");
    test.seed(&owner);
    test.seed(&pod("a", "web", None));
    test.seed(&pod("b", "web", Some("owner")));
    reconcile(&test).await;
    let requests = test.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert_eq!(requests[0].body["status"]["replicas"], 1);
}

#[tokio::test]
async fn status_is_written_again_after_a_conflict() {
    let test = harness();
    let mut owner = replica_set(1);
    owner["status"]["replicas"] = json!(0);
    test.seed(&owner);
    test.seed(&pod("a", "web", Some("owner")));
    owner["metadata"]["generation"] = json!(2);
    test.api().put::<ReplicaSet>(&owner);
    test.reply_with(|request| request.verb == "update", Reply::conflict());
    reconcile(&test).await;
    let requests = test.requests();
    let verbs: Vec<_> = requests.iter().map(|request| request.verb).collect();
    assert_eq!(verbs, ["update", "get", "update"]);
    let status = &requests[2].body["status"];
    assert_eq!(
        (&status["replicas"], &status["observedGeneration"]),
        (&json!(1), &json!(1))
    );

    test.reply_with(|request| request.verb == "update", Reply::conflict());
    test.reply_with(|request| request.verb == "update", Reply::conflict());
    let error = test.reconcile(KEY).await.unwrap_err();
    assert!(
        error.find::<ClientError>().is_some_and(ClientError::is_conflict),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn key_is_called_again_when_the_next_pod_becomes_available() {
    let now = "2026-05-01T12:00:00Z".parse().unwrap();
    let options = Options::default();
    let test = Harness::with_clock(Clock::starting_at(now), move |setup| {
        register_replica_sets(setup, &options, &InvalidObjects::default());
    });
    let mut owner = replica_set(4);
    owner["spec"]["minReadySeconds"] = json!(5);
    test.seed(&owner);
    test.seed(&pod("a", "web", Some("owner")));
    for (name, since) in [("b", "12:00:00"), ("c", "11:59:58"), ("d", "11:59:55.7")] {
        let mut pod = pod(name, "web", Some("owner"));
        let since = format!("2026-05-01T{since}Z");
        pod["status"]["conditions"] =
            json!([{"type": "Ready", "status": "True", "lastTransitionTime": since}]);
        test.seed(&pod);
    }
    assert_eq!(
        reconcile(&test).await,
        Action::requeue_after(Duration::from_millis(700))
    );
    let requests = test.requests();
    let status = &requests[0].body["status"];
    assert_eq!(
        (&status["readyReplicas"], &status["availableReplicas"]),
        (&json!(3), &json!(0))
    );

    tokio::time::advance(Duration::from_millis(700)).await;
    assert_eq!(
        reconcile(&test).await,
        Action::requeue_after(Duration::from_millis(2300))
    );
    assert_eq!(test.requests()[0].body["status"]["availableReplicas"], 1);
}

#[tokio::test]
async fn terminating_pods_are_counted_behind_the_gate() {
    for (gates, expected) in [
        ("", json!(1)),
        ("DeploymentReplicaSetTerminatingReplicas=false", json!(null)),
    ] {
        let gates = crate::FeatureGates::parse(gates).unwrap();
        let test = harness_with(Options {
            gates,
            ..Options::default()
        });
        test.seed(&replica_set(0));
        for (name, app, phase, owner) in [
            ("a", "web", "Running", "owner"),
            ("b", "web", "Failed", "owner"),
            ("c", "shop", "Running", "owner"),
            ("d", "web", "Running", "other"),
        ] {
            let mut pod = pod(name, app, Some(owner));
            pod["metadata"]["deletionTimestamp"] = json!("2026-05-01T00:00:00Z");
            pod["status"]["phase"] = json!(phase);
            test.seed(&pod);
        }
        reconcile(&test).await;
        let requests = test.requests();
        assert_eq!(requests.len(), 1);
        assert_eq!(requests[0].body["status"]["terminatingReplicas"], expected);
    }
}

#[tokio::test]
async fn bad_owners_are_left_alone() {
    for change in [
        json!({"selector": {}}),
        json!({"selector": {"matchExpressions": [{"key": "app", "operator": "Near"}]}}),
        json!({"replicas": -1, "template": null}),
    ] {
        let test = harness();
        let mut owner = replica_set(0);
        owner["spec"]
            .as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        test.seed(&owner);
        test.seed(&pod("a", "shop", None));
        reconcile(&test).await;
        assert_eq!(sent(&test), [""; 0], "{change}");
    }
    let test = harness();
    let mut owner = replica_set(1);
    owner["spec"]["template"] = json!({});
    test.seed(&owner);
    let error = test.reconcile(KEY).await.unwrap_err();
    assert_eq!(error.to_string(), "unable to create pods, no labels");
    assert_eq!(
        test.requests()[0].body["status"]["conditions"][0]["reason"],
        "FailedCreate"
    );
}

#[tokio::test]
async fn replication_controllers_have_the_same_controller() {
    let options = Options::default();
    let test = Harness::new(move |setup| {
        register_replication_controllers(setup, &options, &InvalidObjects::default());
    });
    let mut owner = replica_set(2);
    owner["apiVersion"] = json!("v1");
    owner["kind"] = json!("ReplicationController");
    owner["spec"]["selector"] = json!({"app": "web"});
    owner["status"] = json!({"replicas": 5});
    test.seed(&owner);
    test.seed(&pod("a", "web", None));
    reconcile(&test).await;
    let requests = test.requests();
    let texts: Vec<_> = requests.iter().map(ToString::to_string).collect();
    let expected = [
        "get replicationcontrollers default/web",
        "patch pods default/a",
        "create pods default",
        "update replicationcontrollers/status default/web",
    ];
    assert_eq!(texts, expected);
    let reference = &requests[1].body["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&reference["apiVersion"], &reference["kind"]),
        (&json!("v1"), &json!("ReplicationController"))
    );
    let status = &requests[3].body["status"];
    assert_eq!(
        (&status["replicas"], &status["terminatingReplicas"]),
        (&json!(1), &json!(null))
    );
}
