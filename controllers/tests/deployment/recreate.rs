//! The strategy Recreate.

use std::time::Duration;

use serde_json::{Value, json};

use crate::scenario::{Scenario, deployment, typed, with_image};

fn recreated(replicas: u64) -> Value {
    let mut wanted = deployment("web", replicas);
    wanted["spec"]["strategy"] = json!({"type": "Recreate"});
    wanted
}

#[tokio::test]
async fn replica_set_follows_the_replicas() {
    let scenario = Scenario::start().await;
    let web = scenario.apply(&recreated(1));
    for replicas in [2, 0, 1] {
        scenario.patch(&web, &json!({"spec": {"replicas": replicas}}));
        scenario.complete(&web).await;
        assert_eq!(scenario.of_revision(&web, "1")["spec"]["replicas"], replicas);
    }
    scenario.patch(&web, &json!({"spec": {"revisionHistoryLimit": 4}}));
    scenario.observed(&web).await;
}

#[tokio::test]
async fn new_pods_wait_for_terminating_ones() {
    for (gates, is_counted) in [
        ("DeploymentReplicaSetTerminatingReplicas=false", false),
        ("", true),
    ] {
        let scenario = Scenario::with_gates(gates).await;
        let terminating = |count| is_counted.then_some(count);
        let mut wanted = recreated(6);
        wanted["spec"]["template"]["spec"]["nodeName"] = json!("fake-node");
        wanted["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = json!(300);
        let web = scenario.apply(&wanted);
        scenario.complete(&web).await;

        scenario.patch(&web, &with_image("second"));
        scenario.counts(&web, [0; 5], terminating(6)).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(scenario.replica_sets().len(), 1);
        end_terminating(&scenario);
        scenario.counts(&web, [6, 6, 0, 0, 6], terminating(0)).await;

        let pod = typed("v1", "Pod", &scenario.pods()[0]);
        scenario.cluster.delete(&pod).unwrap();
        scenario.counts(&web, [6, 6, 0, 0, 6], terminating(1)).await;
        scenario.patch(&web, &json!({"spec": {"replicas": 7}}));
        scenario.counts(&web, [7, 7, 0, 0, 7], terminating(1)).await;
        scenario.patch(&web, &json!({"spec": {"replicas": 5}}));
        scenario.counts(&web, [5, 5, 0, 0, 5], terminating(3)).await;
        scenario.complete(&web).await;
        end_terminating(&scenario);
        scenario.counts(&web, [5, 5, 5, 5, 0], terminating(0)).await;
    }
}

/// Deletes terminating pods without a grace period, as the kubelet does when their containers have ended.
fn end_terminating(scenario: &Scenario) {
    for pod in scenario.pods() {
        if pod["metadata"]["deletionTimestamp"].is_string() {
            let name = pod["metadata"]["name"].as_str().unwrap();
            let path = format!("/api/v1/namespaces/default/pods/{name}?gracePeriodSeconds=0");
            scenario
                .cluster
                .request(http::Method::DELETE, &path, "application/json", None)
                .unwrap();
        }
    }
}
