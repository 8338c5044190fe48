//! Pods that end, orphans, and the end of a DaemonSet.

use serde_json::{Value, json};

use crate::scenario::{HASH, Scenario, daemon_set, on_delete, pod, rolling, target, typed_pod};

#[tokio::test]
async fn pods_that_ended_are_replaced() {
    for (phase, has_finalizer) in [("Succeeded", false), ("Failed", false), ("Succeeded", true)] {
        for strategy in [on_delete(), rolling(&json!(0), &json!(1))] {
            let scenario = Scenario::start(&["a", "b", "c"]).await;
            let mut agent = daemon_set(&strategy);
            if has_finalizer {
                agent["spec"]["template"]["metadata"]["finalizers"] = json!(["example.com/keep"]);
            }
            let agent = scenario.apply(&agent);
            let pods = scenario.pods_on(&["a", "b", "c"]).await;
            scenario.complete(&agent).await;
            let ended = typed_pod(&pods[0]);
            scenario
                .cluster
                .patch_status(&ended, &json!({"phase": phase}))
                .unwrap();
            let is_active =
                |pod: &&Value| !matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
            scenario
                .pods_until(|pods| {
                    let mut nodes: Vec<_> = pods.iter().filter(is_active).map(target).collect();
                    nodes.sort_unstable();
                    nodes == ["a", "b", "c"]
                })
                .await;
            scenario.complete(&agent).await;
            assert_eq!(scenario.pods().len(), if has_finalizer { 4 } else { 3 });
        }
    }
}

#[tokio::test]
async fn orphans_are_adopted_and_released_pods_replaced() {
    let mut scenario = Scenario::without_controller(&["a"]);
    let agent = scenario.apply(&daemon_set(&on_delete()));
    let mut orphan = pod("orphan");
    orphan["metadata"]["labels"] = json!({"app": "agent"});
    orphan["spec"] = json!({"nodeName": "a", "containers": [{"name": "agent", "image": "agent:0"}],
        "terminationGracePeriodSeconds": 0});
    let orphan = scenario.apply(&orphan);
    scenario.start_controller().await;
    let is_owned = |found: &Value| found["metadata"]["ownerReferences"][0]["uid"] == agent["metadata"]["uid"];
    scenario.cluster.wait_until(&orphan, is_owned).await;
    let found = scenario.counts(&agent, [1, 1, 0, 0]).await;
    assert_eq!(found["status"]["updatedNumberScheduled"].as_u64().unwrap_or(0), 0);
    assert_eq!(scenario.pods().len(), 1);
    scenario.patch(&orphan, &json!({"metadata": {"labels": {"app": "debugged"}}}));
    let is_released = |found: &Value| found["metadata"]["ownerReferences"].is_null();
    scenario.cluster.wait_until(&orphan, is_released).await;
    scenario.pods_until(|pods| pods.len() == 2).await;
    // It comes back: the scheduled one stays.
    scenario.patch(&orphan, &json!({"metadata": {"labels": {"app": "agent"}}}));
    let pods = scenario.pods_until(|pods| pods.len() == 1).await;
    assert_eq!(pods[0]["metadata"]["name"], "orphan");
}

#[tokio::test]
async fn deleted_daemon_set_creates_nothing_and_its_objects_are_collected() {
    let scenario = Scenario::start(&["a", "b"]).await;
    let mut agent = daemon_set(&on_delete());
    agent["metadata"]["finalizers"] = json!(["example.com/keep"]);
    let agent = scenario.apply(&agent);
    let pods = scenario.pods_on(&["a", "b"]).await;
    scenario.counts(&agent, [2, 2, 0, 0]).await;
    scenario.cluster.delete(&agent).unwrap();
    let is_deleting = |found: &Value| found["metadata"]["deletionTimestamp"].is_string();
    scenario.cluster.wait_until(&agent, is_deleting).await;
    scenario.cluster.delete(&typed_pod(&pods[0])).unwrap();
    scenario.add_node("c", &json!({}), &json!([]));
    // Of the next DaemonSet, whose controller is the same, there is a pod on the new node.
    let mut other = daemon_set(&on_delete());
    other["metadata"]["name"] = json!("other");
    let labels = json!({"app": "other"});
    other["spec"]["selector"]["matchLabels"] = labels.clone();
    other["spec"]["template"]["metadata"]["labels"] = labels;
    let other = scenario.apply(&other);
    scenario.counts(&other, [3, 3, 0, 0]).await;
    let of_agent = |pods: &[Value]| {
        let pods = pods.iter();
        pods.filter(|pod| pod["metadata"]["labels"]["app"] == "agent")
            .count()
    };
    assert_eq!(of_agent(&scenario.pods()), 1);
    scenario.patch(&agent, &json!({"metadata": {"finalizers": null}}));
    scenario.pods_until(|pods| of_agent(pods) == 0).await;
    let is_of_agent = |pod: &&Value| pod["metadata"]["labels"][HASH].is_null();
    assert_eq!(scenario.pods().iter().filter(is_of_agent).count(), 0);
}

#[tokio::test]
async fn pods_become_available_after_a_time() {
    let scenario = Scenario::start(&["a"]).await;
    let mut agent = daemon_set(&on_delete());
    agent["spec"]["minReadySeconds"] = json!(2);
    let agent = scenario.apply(&agent);
    scenario.pods_on(&["a"]).await;
    scenario.make_ready();
    let found = scenario.counts(&agent, [1, 1, 1, 0]).await;
    assert!(found["status"]["numberUnavailable"] == 1 || found["status"]["numberAvailable"] == 1);
    scenario
        .cluster
        .wait_until(&agent, |found| found["status"]["numberAvailable"] == 1)
        .await;
}
