//! Single reconciles, with the requests that they send.

use std::time::Duration;

use kube::core::Status;
use kubewright::testing::{Harness, Reply, Request};
use serde_json::{Value, from_value, json};

use super::*;
use crate::Knobs;

const KEY: &str = "default/web";

fn harness_with(options: Options) -> Harness {
    Harness::new(move |setup| register_replica_sets(setup, &options))
}

fn harness() -> Harness {
    harness_with(Options::default())
}

/// A ReplicaSet whose status shows as many replicas as it asks for.
fn replica_set(replicas: i32) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {"name": "web", "namespace": "default", "uid": "owner", "generation": 1, "resourceVersion": "1"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "web"}]},
            },
        },
        "status": {"replicas": replicas, "fullyLabeledReplicas": replicas, "observedGeneration": 1, "terminatingReplicas": 0},
    })
}

fn owner_references(uid: &str) -> Value {
    json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": uid, "controller": true}])
}

/// A running pod with the label `app`, controlled by the owner with this uid.
fn pod(name: &str, app: &str, owner: Option<&str>) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "default", "uid": name, "labels": {"app": app},
            "ownerReferences": owner.map(owner_references),
        },
        "status": {"phase": "Running"},
    })
}

fn sent(test: &Harness) -> Vec<String> {
    test.requests().iter().map(ToString::to_string).collect()
}

async fn reconcile(test: &Harness) -> Action {
    test.reconcile(KEY).await.unwrap()
}

fn refused(message: &str, reason: &str, code: u16) -> Reply {
    Reply::status(&Status::failure(message, reason).with_code(code))
}

fn is_create(request: &Request) -> bool {
    request.verb == "create"
}

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
async fn missing_pods_are_created_once_and_expected() {
    let test = harness();
    let mut owner = replica_set(3);
    owner["status"] = json!({"replicas": 1});
    test.seed(&owner);
    reconcile(&test).await;
    let requests = test.requests();
    let creations = requests.iter().filter(|request| is_create(request));
    assert_eq!(creations.clone().count(), 3);
    for pod in creations {
        let metadata = &pod.body["metadata"];
        assert_eq!(metadata["generateName"], "web-");
        assert_eq!(metadata["labels"], json!({"app": "web"}));
        assert_eq!(metadata["ownerReferences"][0]["uid"], "owner");
        assert_eq!(metadata["ownerReferences"][0]["blockOwnerDeletion"], true);
        assert_eq!(pod.body["spec"]["containers"][0]["image"], "web");
    }
    let status = &requests.last().unwrap().body["status"];
    assert_eq!(
        (&status["replicas"], &status["observedGeneration"]),
        (&json!(0), &json!(1))
    );
    assert!(
        test.events()
            .iter()
            .all(|event| event.reason == "SuccessfulCreate")
    );

    // The cache does not show them yet.
    reconcile(&test).await;
    assert!(!test.requests().iter().any(is_create));
}

#[tokio::test]
async fn surplus_pods_are_deleted_by_name() {
    let test = harness();
    test.seed(&replica_set(1));
    for (name, phase) in [("a", "Running"), ("b", "Pending"), ("c", "Running")] {
        let mut pod = pod(name, "web", Some("owner"));
        pod["status"]["phase"] = json!(phase);
        pod["spec"] = json!({"nodeName": "node"});
        pod["metadata"]["annotations"] =
            json!({"controller.kubernetes.io/pod-deletion-cost": if name == "c" { "1" } else { "5" }});
        test.seed(&pod);
    }
    reconcile(&test).await;
    let requests = test.requests();
    let mut deleted: Vec<_> = requests
        .iter()
        .filter(|request| request.verb == "delete")
        .collect();
    deleted.sort_by_key(ToString::to_string);
    let names: Vec<_> = deleted.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["delete pods default/b", "delete pods default/c"]);
    assert!(
        deleted
            .iter()
            .all(|request| request.body["preconditions"].is_null())
    );
    let mut notes: Vec<_> = test
        .events()
        .into_iter()
        .map(|event| (event.reason, event.note))
        .collect();
    notes.sort();
    let reason = || "SuccessfulDelete".to_owned();
    assert_eq!(
        notes,
        [
            (reason(), "Deleted pod: b".to_owned()),
            (reason(), "Deleted pod: c".to_owned())
        ]
    );

    reconcile(&test).await;
    assert!(
        !test.requests().iter().any(|request| request.verb == "delete"),
        "they are expected"
    );
}

#[tokio::test]
async fn refused_creation_stops_the_others_and_is_a_condition() {
    let test = harness();
    test.seed(&replica_set(5));
    let message = "pods \"web-\" is forbidden: exceeded quota: pods";
    test.reply_with(is_create, refused(message, "Forbidden", 403));
    let error = test.reconcile(KEY).await.unwrap_err();
    assert!(error.to_string().contains("exceeded quota"), "{error}");
    let requests = test.requests();
    assert_eq!(requests.iter().filter(|request| is_create(request)).count(), 1);
    let condition = &requests.last().unwrap().body["status"]["conditions"][0];
    assert_eq!(condition["type"], "ReplicaFailure");
    assert_eq!(
        (&condition["status"], &condition["reason"]),
        (&json!("True"), &json!("FailedCreate"))
    );
    assert_eq!(condition["message"], message);
    assert!(condition["lastTransitionTime"].is_string());
    let event = &test.events()[0];
    assert_eq!(
        (event.reason.as_str(), event.note.clone()),
        ("FailedCreate", format!("Error creating: {message}"))
    );
}

#[tokio::test]
async fn creation_that_failed_for_any_reason_is_tried_again() {
    for reply in [
        refused("quota", "Forbidden", 403),
        refused("webhook", "InternalError", 500),
        Reply::lost(),
    ] {
        let test = harness();
        test.seed(&replica_set(1));
        test.reply_with(is_create, reply);
        test.reconcile(KEY).await.unwrap_err();
        test.requests();
        reconcile(&test).await;
        assert!(test.requests().iter().any(is_create));
    }
}

#[tokio::test]
async fn refused_deletion_is_a_condition_and_a_missing_pod_is_not() {
    for (code, reason, is_failure) in [
        (403, "Forbidden", true),
        (404, "NotFound", false),
        (500, "InternalError", true),
    ] {
        let test = harness();
        test.seed(&replica_set(0));
        test.seed(&pod("a", "web", Some("owner")));
        test.reply_with(|request| request.verb == "delete", refused("no", reason, code));
        assert_eq!(test.reconcile(KEY).await.is_err(), is_failure);
        let requests = test.requests();
        let condition = &requests.last().unwrap().body["status"]["conditions"][0];
        let expected = if is_failure {
            json!("unable to delete pods: no")
        } else {
            json!(null)
        };
        assert_eq!(condition["message"], expected);
        assert_eq!(test.events().len(), usize::from(is_failure));
    }
}

#[tokio::test]
async fn creations_in_a_terminating_namespace_are_neither_failures_nor_repeated() {
    let test = harness();
    test.seed(&replica_set(1));
    let status: Status = from_value(json!({
        "kind": "Status", "status": "Failure", "code": 403, "reason": "Forbidden", "message": "it is being terminated",
        "details": {"causes": [{"reason": "NamespaceTerminating", "message": "namespace default is being terminated", "field": "metadata.namespace"}]},
    }))
    .unwrap();
    test.reply_with(is_create, Reply::status(&status));
    reconcile(&test).await;
    assert_eq!(test.events(), []);
    test.requests();
    reconcile(&test).await;
    assert!(!test.requests().iter().any(is_create));
}

#[tokio::test]
async fn burst_limits_creations() {
    let knobs = Knobs::parse(r#"{"replicaset.burstReplicas": 2}"#).unwrap();
    let test = harness_with(Options {
        knobs,
        ..Options::default()
    });
    test.seed(&replica_set(5));
    reconcile(&test).await;
    assert_eq!(
        test.requests()
            .iter()
            .filter(|request| is_create(request))
            .count(),
        2
    );
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
        register_replica_sets(setup, &options);
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
async fn siblings_of_a_deployment_decide_about_the_node() {
    let test = harness();
    let deployment = json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "deployment", "controller": true}]);
    let mut owner = replica_set(1);
    owner["metadata"]["ownerReferences"] = deployment.clone();
    test.seed(&owner);
    let mut sibling = replica_set(1);
    sibling["metadata"] =
        json!({"name": "old", "namespace": "default", "uid": "sibling", "ownerReferences": deployment});
    test.seed(&sibling);
    for (name, owner, node) in [
        ("a", "owner", "node-1"),
        ("b", "owner", "node-2"),
        ("c", "sibling", "node-2"),
    ] {
        let mut pod = pod(name, "web", Some(owner));
        pod["spec"] = json!({"nodeName": node});
        test.seed(&pod);
    }
    reconcile(&test).await;
    assert_eq!(sent(&test)[0], "delete pods default/b");
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
    let test = Harness::new(move |setup| register_replication_controllers(setup, &options));
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
