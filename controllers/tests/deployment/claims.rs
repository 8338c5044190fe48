//! Which ReplicaSets belong to a Deployment: adoption, release, collisions of names.

use serde_json::{Value, json};

use crate::scenario::{Scenario, deployment, is_owned_by};

#[tokio::test]
async fn replica_set_that_loses_its_controller_reference_is_adopted_again() {
    let scenario = Scenario::start().await;
    let web = scenario.apply(&deployment("web", 1));
    scenario.complete(&web).await;
    let one = scenario.of_revision(&web, "1");
    let other =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "namespace": "default"}});
    let other = scenario.apply(&other);
    for (object, count) in [(&other, 2), (&web, 1)] {
        let reference = json!({
            "apiVersion": object["apiVersion"], "kind": object["kind"], "name": "web",
            "uid": object["metadata"]["uid"], "controller": false,
        });
        scenario.patch(&one, &json!({"metadata": {"ownerReferences": [reference]}}));
        let found = scenario
            .cluster
            .wait_until(&one, |found| is_owned_by(found, &web))
            .await;
        assert_eq!(
            found["metadata"]["ownerReferences"].as_array().unwrap().len(),
            count
        );
    }
}

#[tokio::test]
async fn replica_set_is_released_and_adopted_when_its_labels_change() {
    let scenario = Scenario::start().await;
    let web = scenario.apply(&deployment("web", 1));
    scenario.complete(&web).await;
    let first = scenario.of_revision(&web, "1");
    scenario.patch(&first, &json!({"metadata": {"labels": {"app": "other"}}}));
    let is_released = |found: &Value| !is_owned_by(found, &web);
    scenario.cluster.wait_until(&first, is_released).await;
    // Another one takes its place. The name that follows from the template is taken.
    let has_collided = |found: &Value| found["status"]["collisionCount"] == 1;
    scenario.cluster.wait_until(&web, has_collided).await;
    let second = scenario.replica_set_until(|one| is_owned_by(one, &web)).await;
    assert_ne!(second["metadata"]["uid"], first["metadata"]["uid"]);
    scenario.patch(&first, &json!({"metadata": {"labels": {"app": "web"}}}));
    scenario
        .cluster
        .wait_until(&first, |found| is_owned_by(found, &web))
        .await;
}

#[tokio::test]
async fn another_name_follows_a_collision() {
    let scenario = Scenario::start().await;
    let web = scenario.apply(&deployment("web", 1));
    scenario.revision(&web, "1").await;
    let first = scenario.of_revision(&web, "1");
    scenario.patch(
        &first,
        &json!({"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 5}}}}),
    );
    let has_collided = |found: &Value| found["status"]["collisionCount"] == 1;
    scenario.cluster.wait_until(&web, has_collided).await;
    scenario.revision(&web, "2").await;
    scenario.complete(&web).await;
}

#[tokio::test]
async fn existing_orphan_with_the_template_is_adopted() {
    let scenario = Scenario::start().await;
    let wanted = deployment("web", 2);
    let mut orphan = crate::scenario::named("apps/v1", "ReplicaSet", "orphan");
    orphan["metadata"]["labels"] = json!({"app": "web"});
    orphan["spec"] = json!({"replicas": 1, "selector": wanted["spec"]["selector"], "template": wanted["spec"]["template"]});
    let orphan = scenario.apply(&orphan);
    let web = scenario.apply(&wanted);
    scenario.complete(&web).await;
    let found = scenario.get(&orphan);
    assert!(is_owned_by(&found, &web));
    assert_eq!(found["spec"]["replicas"], 2);
    assert_eq!(scenario.replica_sets().len(), 1);
    assert_eq!(scenario.revision(&web, "1").await["status"]["replicas"], 2);
}
