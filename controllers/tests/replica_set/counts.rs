//! The number of pods, and the counts of the status.

use kubewright::testing::TestOperator;
use kubewright_controllers::{Options, register};
use kubewright_testkit::Cluster;
use serde_json::{Value, json};

use crate::scenario::{
    REPLICA_SET, REPLICATION_CONTROLLER, Scenario, is_observed, is_owned_by, owner, pod, typed_pod,
};

#[tokio::test]
async fn replicas_follow_the_spec() {
    for kind in [REPLICA_SET, REPLICATION_CONTROLLER] {
        let scenario = Scenario::start().await;
        let owner = scenario.apply(&owner(kind, "web", 2));
        scenario.stable(&owner).await;
        for replicas in [3, 0, 40] {
            let pods = scenario.scale(&owner, replicas).await;
            assert!(pods.iter().all(|pod| is_owned_by(pod, &owner)));
            let names = pods.iter().map(|pod| pod["metadata"]["name"].as_str().unwrap());
            assert!(names.into_iter().all(|name| name.starts_with("web-")));
        }
        scenario
            .reasons_until(&owner, &["SuccessfulCreate", "SuccessfulDelete"])
            .await;
        // The status follows a change without one of the replicas.
        let annotations = json!({"spec": {"template": {"metadata": {"annotations": {"a": "b"}}}}});
        let generation = &owner["metadata"]["generation"];
        assert_ne!(
            &scenario.patch(&owner, &annotations)["metadata"]["generation"],
            generation
        );
        scenario.cluster.wait_until(&owner, is_observed).await;
    }
}

#[tokio::test]
async fn scale_subresource_scales() {
    let scenario = Scenario::start().await;
    let owner = scenario.apply(&owner(REPLICA_SET, "web", 1));
    scenario.stable(&owner).await;
    let path = "/apis/apps/v1/namespaces/default/replicasets/web/scale";
    for replicas in [3, 0] {
        let change = json!({"spec": {"replicas": replicas}});
        let merge = "application/merge-patch+json";
        let cluster = &scenario.cluster;
        cluster
            .request(http::Method::PATCH, path, merge, Some(&change))
            .unwrap();
        let found = scenario.stable(&owner).await;
        assert_eq!(found["status"]["replicas"], replicas);
    }
}

#[tokio::test]
async fn permissions_are_exact() {
    for (kind, controller) in [
        (REPLICA_SET, "replicaset"),
        (REPLICATION_CONTROLLER, "replicationcontroller"),
    ] {
        let cluster = Cluster::embedded().unwrap();
        let options = Options::default().select(controller).unwrap();
        let permissions = TestOperator::permissions(|setup| register(setup, &options));
        let identity = cluster.operator("controllers", &permissions).unwrap();
        let config = identity.config().await.unwrap();
        let orphan = pod("orphan");
        cluster.apply(&orphan).unwrap();
        let web = cluster.apply(&owner(kind, "web", 2)).unwrap();
        let _operator = TestOperator::start(config, move |setup| register(setup, &options));
        cluster
            .wait_until(&web, |found| found["status"]["replicas"] == 2)
            .await;
        cluster
            .merge_patch(&web, &json!({"spec": {"replicas": 0}}))
            .unwrap();
        cluster
            .wait_until(&web, |found| found["status"]["replicas"] == 0)
            .await;
        // A second event with the same text is a patch.
        cluster.assert_exact_permissions(&identity).await;
    }
}

#[tokio::test]
async fn deleting_and_failed_pods_are_replaced() {
    let scenario = Scenario::start().await;
    let owner = scenario.apply(&owner(REPLICA_SET, "web", 2));
    scenario.stable(&owner).await;
    let pods = scenario.pods_until(|pods| pods.len() == 2).await;
    let (deleted, failed) = (typed_pod(&pods[0]), typed_pod(&pods[1]));
    scenario.patch(
        &deleted,
        &json!({"metadata": {"finalizers": ["example.com/keep"]}}),
    );
    scenario.cluster.delete(&deleted).unwrap();
    scenario
        .cluster
        .patch_status(&failed, &json!({"phase": "Failed"}))
        .unwrap();
    scenario.pods_until(|pods| pods.len() == 4).await;
    let counts =
        |found: &Value| found["status"]["replicas"] == 2 && found["status"]["terminatingReplicas"] == 1;
    scenario.cluster.wait_until(&owner, counts).await;
    for pod in [&deleted, &failed] {
        assert!(scenario.cluster.get(pod).unwrap().is_some());
    }
    // The count goes back when the pod is gone.
    scenario.patch(&deleted, &json!({"metadata": {"finalizers": null}}));
    let is_gone = |found: &Value| found["status"]["terminatingReplicas"].as_i64().unwrap_or(0) == 0;
    scenario.cluster.wait_until(&owner, is_gone).await;
}

#[tokio::test]
async fn ready_and_available_replicas_are_counted() {
    let scenario = Scenario::start().await;
    let mut owner = owner(REPLICA_SET, "web", 3);
    owner["spec"]["minReadySeconds"] = json!(3600);
    let owner = scenario.apply(&owner);
    let stable = scenario.stable(&owner).await;
    assert_eq!(stable["status"]["availableReplicas"].as_i64().unwrap_or(0), 0);
    let pods = scenario.pods_until(|pods| pods.len() == 3).await;
    let now = jiff::Timestamp::now();
    let long_ago = now - jiff::SignedDuration::from_mins(120);
    scenario.set_ready(&typed_pod(&pods[0]), "False", &now.to_string());
    scenario.set_ready(&typed_pod(&pods[1]), "True", &now.to_string());
    scenario.set_ready(&typed_pod(&pods[2]), "True", &long_ago.to_string());
    let is_counted = |found: &Value| {
        let status = &found["status"];
        [
            &status["replicas"],
            &status["readyReplicas"],
            &status["availableReplicas"],
        ] == [3, 2, 1]
    };
    scenario.cluster.wait_until(&owner, is_counted).await;
}

#[tokio::test]
async fn pods_become_available_after_min_ready_seconds() {
    for kind in [REPLICA_SET, REPLICATION_CONTROLLER] {
        let scenario = Scenario::start().await;
        let mut owner = owner(kind, "web", 2);
        owner["spec"]["minReadySeconds"] = json!(1);
        let owner = scenario.apply(&owner);
        scenario.stable(&owner).await;
        let now = jiff::Timestamp::now().to_string();
        for pod in scenario.pods_until(|pods| pods.len() == 2).await {
            scenario.set_ready(&typed_pod(&pod), "True", &now);
        }
        let is_available = |found: &Value| found["status"]["availableReplicas"] == 2;
        scenario.cluster.wait_until(&owner, is_available).await;
    }
}

#[tokio::test]
async fn pods_with_the_templates_labels_are_fully_labeled() {
    let scenario = Scenario::start().await;
    let owner = scenario.apply(&owner(REPLICA_SET, "web", 2));
    scenario.stable(&owner).await;
    let labels = json!({"app": "web", "extra": "value"});
    scenario.patch(
        &owner,
        &json!({"spec": {"template": {"metadata": {"labels": labels}}}}),
    );
    let pods = scenario.pods_until(|pods| pods.len() == 2).await;
    scenario.patch(&typed_pod(&pods[0]), &json!({"metadata": {"labels": labels}}));
    let is_counted = |found: &Value| {
        [
            &found["status"]["replicas"],
            &found["status"]["fullyLabeledReplicas"],
        ] == [2, 1]
    };
    scenario.cluster.wait_until(&owner, is_counted).await;
}

#[tokio::test]
async fn deletion_cost_comes_before_restarts() {
    for (costs, remaining) in [(Some(["1000", "100"]), 0), (Some(["100", "100"]), 1), (None, 1)] {
        let scenario = Scenario::start().await;
        let owner = scenario.apply(&owner(REPLICA_SET, "web", 2));
        scenario.stable(&owner).await;
        let pods = scenario.pods_until(|pods| pods.len() == 2).await;
        for (position, restarts) in [5, 0].into_iter().enumerate() {
            let pod = typed_pod(&pods[position]);
            if let Some(costs) = costs {
                let annotations = json!({"controller.kubernetes.io/pod-deletion-cost": costs[position]});
                scenario.patch(&pod, &json!({"metadata": {"annotations": annotations}}));
            }
            let container = json!({
                "name": "web", "image": "web", "imageID": "", "ready": true, "restartCount": restarts,
            });
            let ready =
                json!({"type": "Ready", "status": "True", "lastTransitionTime": "2026-05-01T00:00:00Z"});
            let status = json!({"containerStatuses": [container], "conditions": [ready]});
            scenario.cluster.patch_status(&pod, &status).unwrap();
        }
        // Then the controller has seen the pods: watches of pods and of owners are not ordered.
        let is_ready = |found: &Value| found["status"]["readyReplicas"] == 2;
        scenario.cluster.wait_until(&owner, is_ready).await;
        let left = scenario.scale(&owner, 1).await;
        assert_eq!(
            left[0]["metadata"]["uid"], pods[remaining]["metadata"]["uid"],
            "{costs:?}"
        );
    }
}
