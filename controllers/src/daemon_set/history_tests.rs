//! Revisions, with the requests of single reconciles.

use k8s_openapi::api::apps::v1::{ControllerRevision, DaemonSet};
use kubewright::testing::{Reply, Request};
use serde_json::{Value, json};

use super::super::{
    pod_template::HASH_LABEL,
    test_objects::{
        created_revision, daemon_set, harness, is_create, node, owner_references, pod, reconcile, refused,
        seeded, sent,
    },
};

/// A revision of another template.
fn old_revision(name: &str, number: i64) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "ControllerRevision",
        "metadata": {
            "name": name, "namespace": "default", "uid": name, "labels": {"app": "agent", HASH_LABEL: name},
            "ownerReferences": owner_references("owner"),
        },
        "revision": number,
        "data": {"spec": {"template": {"metadata": {"labels": {"app": name}}}}},
    })
}

/// A revision of the same template.
fn equal_revision(name: &str, number: i64) -> Value {
    let mut revision = old_revision(name, number);
    let mut template = daemon_set()["spec"]["template"].clone();
    template["$patch"] = json!("replace");
    revision["data"] = json!({"spec": {"template": template}});
    revision
}

/// The writes of revisions among requests.
fn of_revisions(requests: &[String]) -> Vec<String> {
    let requests = requests.iter();
    requests
        .filter(|request| request.contains("controllerrevisions"))
        .cloned()
        .collect()
}

#[tokio::test]
async fn new_template_gets_a_revision_after_the_others() {
    let test = harness();
    test.seed(&daemon_set());
    test.seed(&old_revision("agent-1", 1));
    test.seed(&old_revision("agent-7", 7));
    reconcile(&test).await;
    let requests = test.requests();
    let revision = created_revision(&requests);
    let hash = revision["metadata"]["labels"][HASH_LABEL].as_str().unwrap();
    assert_eq!(revision["metadata"]["name"], format!("agent-{hash}"));
    assert_eq!(revision["revision"], 8);
    assert_eq!(revision["data"], equal_revision("any", 1)["data"]);
}

#[tokio::test]
async fn revision_of_an_earlier_template_becomes_the_last_one() {
    let (test, _) = seeded(&["a"]).await;
    test.seed(&old_revision("agent-7", 7));
    reconcile(&test).await;
    let requests = test.requests();
    assert_eq!(
        (requests[0].verb, &requests[0].body["revision"]),
        ("update", &json!(8))
    );
    assert!(is_create(&requests[1]), "the pod: {requests:?}");
}

#[tokio::test]
async fn revisions_without_the_label_get_their_name() {
    let test = harness();
    test.seed(&daemon_set());
    test.seed(&node("a"));
    let mut unlabeled = equal_revision("agent-old", 1);
    unlabeled["metadata"]["labels"] = json!({"app": "agent"});
    test.seed(&unlabeled);
    test.api().put::<ControllerRevision>(&unlabeled);
    reconcile(&test).await;
    let requests = test.requests();
    assert_eq!(requests[0].verb, "update");
    assert!(is_create(&requests[1]), "the pod: {requests:?}");
    for request in &requests[..2] {
        assert_eq!(request.body["metadata"]["labels"][HASH_LABEL], "agent-old");
    }
}

#[tokio::test]
async fn equal_revisions_are_merged_into_the_last_one() {
    let (test, hash) = seeded(&["a", "b"]).await;
    test.seed(&equal_revision("agent-other", 5));
    test.seed(&pod("one", "a", &hash, Some("owner")));
    test.seed(&pod("two", "b", "agent-other", Some("owner")));
    reconcile(&test).await;
    let requests = test.requests();
    let texts: Vec<_> = requests.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "patch pods default/one".to_owned(),
            format!("delete controllerrevisions.apps default/agent-{hash}")
        ]
    );
    assert_eq!(
        requests[0].body,
        json!({"metadata": {"uid": "one", "labels": {HASH_LABEL: "agent-other"}}})
    );
}

#[tokio::test]
async fn collision_of_names_is_counted_once() {
    for (fresh_count, expected) in [(json!(null), Some(json!(1))), (json!(4), None)] {
        let test = harness();
        test.seed(&daemon_set());
        test.seed(&node("a"));
        let mut fresh = daemon_set();
        fresh["status"] = json!({"collisionCount": fresh_count});
        test.api().put::<DaemonSet>(&fresh);
        test.reply_with(is_create, refused("taken", "AlreadyExists", 409));
        let is_read = |request: &Request| request.to_string().starts_with("get controllerrevisions");
        let existing = Reply::object(http::StatusCode::OK, old_revision("agent-x", 1));
        test.reply_with(is_read, existing);
        reconcile(&test).await;
        let requests = test.requests();
        let update = requests.iter().find(|request| request.verb == "update");
        let count = update.map(|update| update.body["status"]["collisionCount"].clone());
        assert_eq!(count, expected);
        assert_eq!(requests.iter().filter(|request| is_create(request)).count(), 1);
    }
}

#[tokio::test]
async fn oldest_unused_revisions_are_deleted() {
    let (test, hash) = seeded(&["a"]).await;
    let mut limited = daemon_set();
    limited["spec"]["revisionHistoryLimit"] = json!(2);
    test.seed(&limited);
    test.seed(&pod("one", "a", &hash, Some("owner")));
    for number in [-5, -4, -3, -2, -1] {
        test.seed(&old_revision(&format!("old{number}"), number));
    }
    // Used by a pod that is over.
    let mut ended = pod("two", "gone", "old-5", Some("owner"));
    ended["metadata"]["deletionTimestamp"] = json!("2026-05-01T00:00:00Z");
    ended["status"]["phase"] = json!("Failed");
    test.seed(&ended);
    reconcile(&test).await;
    let mut requests = of_revisions(&sent(&test));
    requests.retain(|request| request.starts_with("delete"));
    let name = |number| format!("delete controllerrevisions.apps default/old{number}");
    assert_eq!(requests, [name(-4), name(-3), name(-2)]);
}

#[tokio::test]
async fn orphaned_revisions_are_adopted_and_others_released() {
    let (test, _) = seeded(&["a"]).await;
    let mut orphan = old_revision("orphan", 0);
    orphan["metadata"]["ownerReferences"] = json!([]);
    test.seed(&orphan);
    let mut other = old_revision("other", 0);
    other["metadata"]["labels"]["app"] = json!("web");
    test.seed(&other);
    reconcile(&test).await;
    let requests = sent(&test);
    assert_eq!(requests[0], "get daemonsets.apps default/agent");
    let mut patches = of_revisions(&requests);
    patches.sort();
    assert_eq!(
        patches,
        [
            "patch controllerrevisions.apps default/orphan",
            "patch controllerrevisions.apps default/other"
        ]
    );
}
