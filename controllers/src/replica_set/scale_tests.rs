//! Creation and deletion of pods, with the requests of single reconciles.

use kube::core::Status;
use kubewright::testing::Reply;
use serde_json::{from_value, json};

use super::super::test_support::{
    KEY, harness, harness_with, is_create, pod, reconcile, refused, replica_set, sent,
};
use crate::{Knobs, Options};

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
    let [event] = &*test.events() else {
        panic!("one event is recorded about both");
    };
    assert_eq!(
        (&*event.reason, &*event.note),
        ("SuccessfulDelete", "Deleted 2 pods: b, c")
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
async fn pods_that_match_siblings_of_a_deployment_decide_about_the_node() {
    let deployment = json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "deployment", "controller": true}]);
    let mut owner = replica_set(1);
    owner["metadata"]["ownerReferences"] = deployment.clone();
    let mut sibling = replica_set(1);
    sibling["metadata"] =
        json!({"name": "old", "namespace": "default", "uid": "sibling", "ownerReferences": deployment});
    let own = [("a", "web", "owner", "node-1"), ("b", "web", "owner", "node-2")];
    for (others, expected) in [
        (&[("c", "web", "sibling", "node-2")][..], "delete pods default/b"),
        // A selector decides, not the owner.
        (&[("c", "web", "foreign", "node-2")], "delete pods default/b"),
        (
            &[
                ("c", "other", "sibling", "node-2"),
                ("d", "other", "sibling", "node-2"),
                ("e", "web", "sibling", "node-1"),
            ],
            "delete pods default/a",
        ),
    ] {
        let test = harness();
        test.seed(&owner);
        test.seed(&sibling);
        for &(name, app, owner, node) in own.iter().chain(others) {
            let mut pod = pod(name, app, Some(owner));
            pod["spec"] = json!({"nodeName": node});
            test.seed(&pod);
        }
        reconcile(&test).await;
        assert_eq!(sent(&test)[0], expected, "{others:?}");
    }
}
