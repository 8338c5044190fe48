//! The status, where other tests do not show it.

use serde_json::json;

use crate::scenario::{Scenario, deployment};

#[tokio::test]
async fn availability_waits_for_the_minimum_of_seconds() {
    let scenario = Scenario::start().await;
    let mut wanted = deployment("web", 10);
    wanted["spec"]["minReadySeconds"] = json!(3600);
    wanted["spec"]["progressDeadlineSeconds"] = json!(7200);
    let web = scenario.apply(&wanted);
    scenario.counts(&web, [10, 10, 0, 0, 10], Some(0)).await;
    scenario
        .condition(&web, "Available", "MinimumReplicasUnavailable")
        .await;
    scenario.make_ready();
    scenario.counts(&web, [10, 10, 10, 0, 10], Some(0)).await;
    scenario
        .condition(&web, "Available", "MinimumReplicasUnavailable")
        .await;
    scenario.patch(&web, &json!({"spec": {"minReadySeconds": 1}}));
    scenario.observed(&web).await;
    scenario
        .condition(&web, "Available", "MinimumReplicasAvailable")
        .await;
    scenario.counts(&web, [10, 10, 10, 10, 0], Some(0)).await;
}

#[tokio::test]
async fn deployment_that_is_deleted_in_the_foreground_does_nothing() {
    let scenario = Scenario::start().await;
    let mut wanted = deployment("web", 2);
    wanted["metadata"]["finalizers"] = json!(["demo.dev/wait"]);
    let web = scenario.apply(&wanted);
    scenario.complete(&web).await;
    scenario.cluster.delete(&web).unwrap();
    scenario.patch(&web, &json!({"spec": {"replicas": 5}}));
    scenario.observed(&web).await;
    assert_eq!(scenario.of_revision(&web, "1")["spec"]["replicas"], 2);
    scenario.patch(&web, &json!({"metadata": {"finalizers": null}}));
    scenario
        .cluster
        .wait_until(&web, serde_json::Value::is_null)
        .await;
}
