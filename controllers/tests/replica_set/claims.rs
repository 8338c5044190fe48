//! Which pods belong to an owner: adoption, release, and the end of an owner.

use serde_json::{Value, json};

use crate::scenario::{
    REPLICA_SET, REPLICATION_CONTROLLER, Scenario, controller_of, is_owned_by, owner, pod, typed_pod,
};

#[tokio::test]
async fn pods_are_adopted_unless_they_have_a_controller() {
    let reference = |name: &str, uid: &Value, controller: Option<bool>| json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": uid, "controller": controller});
    for (before, after) in [
        (vec!["owner"], "adopted"),
        (vec![], "adopted"),
        (vec!["controller"], "kept"),
    ] {
        let mut scenario = Scenario::without_controllers();
        let owner = scenario.apply(&owner(REPLICA_SET, "web", 1));
        let uid = &owner["metadata"]["uid"];
        let references: Vec<_> = before
            .iter()
            .map(|what| match *what {
                "owner" => reference("web", uid, None),
                _ => reference("web", uid, Some(true)),
            })
            .collect();
        let mut orphan = pod("orphan");
        orphan["metadata"]["ownerReferences"] = json!(references);
        let stored = scenario.apply(&orphan)["metadata"]["ownerReferences"].clone();
        scenario.start_controllers().await;
        scenario.stable(&owner).await;
        let found = scenario.cluster.get(&orphan).unwrap().unwrap();
        let references = &found["metadata"]["ownerReferences"];
        if after == "adopted" {
            let mut expected = reference("web", uid, Some(true));
            expected["blockOwnerDeletion"] = json!(true);
            assert_eq!(references, &json!([expected]));
        } else {
            assert_eq!(references, &stored);
        }
    }
}

#[tokio::test]
async fn pods_that_lose_their_controller_reference_are_adopted_again() {
    let scenario = Scenario::start().await;
    let owner = scenario.apply(&owner(REPLICA_SET, "web", 1));
    scenario.stable(&owner).await;
    let pod = scenario.pods_until(|pods| pods.len() == 1).await.remove(0);
    let pod = typed_pod(&pod);
    let other =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "namespace": "default"}});
    let other = scenario.apply(&other);
    for (object, count) in [(&other, 2), (&owner, 1)] {
        let reference = json!({
            "apiVersion": object["apiVersion"], "kind": object["kind"], "name": "web",
            "uid": object["metadata"]["uid"], "controller": false,
        });
        scenario.patch(&pod, &json!({"metadata": {"ownerReferences": [reference]}}));
        let is_adopted = |found: &Value| is_owned_by(found, &owner);
        let found = scenario.cluster.wait_until(&pod, is_adopted).await;
        assert_eq!(
            found["metadata"]["ownerReferences"].as_array().unwrap().len(),
            count
        );
    }
}

#[tokio::test]
async fn pods_are_released_and_adopted_when_their_labels_change() {
    let scenario = Scenario::start().await;
    let owner = scenario.apply(&owner(REPLICA_SET, "web", 1));
    scenario.stable(&owner).await;
    let first = typed_pod(&scenario.pods_until(|pods| pods.len() == 1).await.remove(0));
    scenario.patch(&first, &json!({"metadata": {"labels": {"app": "debugged"}}}));
    scenario
        .cluster
        .wait_until(&first, |found| controller_of(found).is_none())
        .await;
    // Another one takes its place; with the label again, one of both is deleted.
    scenario
        .pods_until(|pods| pods.len() == 1 && is_owned_by(&pods[0], &owner))
        .await;
    scenario.patch(&first, &json!({"metadata": {"labels": {"app": "web"}}}));
    scenario
        .pods_until(|pods| pods.len() == 1 && is_owned_by(&pods[0], &owner))
        .await;
}

#[tokio::test]
async fn surplus_orphans_are_adopted_and_deleted() {
    let mut scenario = Scenario::without_controllers();
    let owner = scenario.apply(&owner(REPLICA_SET, "web", 2));
    for name in ["a", "b", "c"] {
        scenario.apply(&pod(name));
    }
    scenario.start_controllers().await;
    scenario.stable(&owner).await;
    let pods = scenario.pods_until(|pods| pods.len() == 2).await;
    assert!(pods.iter().all(|pod| is_owned_by(pod, &owner)));
}

#[tokio::test]
async fn owners_with_the_same_selector_share_no_pods() {
    let scenario = Scenario::start().await;
    let owners = [
        scenario.apply(&owner(REPLICA_SET, "web-1", 1)),
        scenario.apply(&owner(REPLICA_SET, "web-2", 2)),
        scenario.apply(&owner(REPLICATION_CONTROLLER, "web-3", 3)),
    ];
    for owner in &owners {
        scenario.stable(owner).await;
    }
    let pods = scenario.pods();
    for (owner, count) in owners.iter().zip([1, 2, 3]) {
        assert_eq!(pods.iter().filter(|pod| is_owned_by(pod, owner)).count(), count);
    }
    assert_eq!(pods.len(), 6);
}

#[tokio::test]
async fn deleted_owner_gets_no_finalizer_and_its_pods_are_collected() {
    let scenario = Scenario::start().await;
    let mut with_finalizer = owner(REPLICA_SET, "web", 2);
    with_finalizer["metadata"]["finalizers"] = json!(["example.com/keep"]);
    let owner = scenario.apply(&with_finalizer);
    scenario.stable(&owner).await;
    scenario.cluster.delete(&owner).unwrap();
    let is_deleting = |found: &Value| found["metadata"]["deletionTimestamp"].is_string();
    let found = scenario.cluster.wait_until(&owner, is_deleting).await;
    assert_eq!(found["metadata"]["finalizers"], json!(["example.com/keep"]));
    // It does not replace pods any more.
    let pods = scenario.pods_until(|pods| pods.len() == 2).await;
    scenario.cluster.delete(&typed_pod(&pods[0])).unwrap();
    scenario
        .cluster
        .wait_until(&owner, |found| found["status"]["replicas"] == 1)
        .await;
    scenario.patch(&owner, &json!({"metadata": {"finalizers": null}}));
    scenario.pods_until(<[Value]>::is_empty).await;
}

#[tokio::test]
async fn owner_that_is_recreated_gets_pods_of_its_own() {
    let scenario = Scenario::start().await;
    let first = scenario.apply(&owner(REPLICA_SET, "web", 3));
    for _ in 0..5 {
        scenario.cluster.delete(&first).unwrap();
        let next = scenario.apply(&owner(REPLICA_SET, "web", 3));
        scenario.stable(&next).await;
        let is_complete = |pods: &[Value]| pods.len() == 3 && pods.iter().all(|pod| is_owned_by(pod, &next));
        scenario.pods_until(is_complete).await;
    }
}

#[tokio::test]
async fn selector_of_a_replication_controller_may_change() {
    let scenario = Scenario::start().await;
    let owner = scenario.apply(&owner(REPLICATION_CONTROLLER, "web", 1));
    scenario.stable(&owner).await;
    let first = typed_pod(&scenario.pods_until(|pods| pods.len() == 1).await.remove(0));
    let labels = json!({"tier": "front"});
    let template = json!({"metadata": {"labels": {"app": null, "tier": "front"}}});
    scenario.patch(
        &owner,
        &json!({"spec": {"selector": {"app": null, "tier": "front"}, "template": template}}),
    );
    scenario
        .cluster
        .wait_until(&first, |found| controller_of(found).is_none())
        .await;
    // Now an orphan with the new labels is adopted when it appears.
    let mut orphan = pod("orphan");
    orphan["metadata"]["labels"] = labels;
    scenario.patch(&owner, &json!({"spec": {"replicas": 2}}));
    scenario.stable(&owner).await;
    scenario.apply(&orphan);
    let is_adopted_or_deleted = |found: &Value| found.is_null() || is_owned_by(found, &owner);
    scenario.cluster.wait_until(&orphan, is_adopted_or_deleted).await;
}
