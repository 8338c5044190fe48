//! Pods that no kubelet deletes.

use serde_json::{Value, json};

use crate::scenario::{Scenario, pod};

fn scenario() -> Scenario {
    let mut scenario = Scenario::without_controllers("podgc");
    scenario.cluster.create_namespace("shop").unwrap();
    scenario.set_knobs(&json!({"podgc.gcCheckPeriod": "50ms", "podgc.quarantineTime": "100ms"}));
    scenario
}

fn on_node(name: &str, node: &str) -> Value {
    let mut pod = pod(name);
    pod["spec"]["nodeName"] = json!(node);
    pod
}

#[tokio::test]
async fn pod_of_a_missing_node_fails_with_a_condition_and_is_deleted() {
    let mut scenario = scenario();
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "there"}});
    scenario.apply(&node);
    let mut held = on_node("held", "gone");
    held["metadata"]["finalizers"] = json!(["demo.dev/hold"]);
    let (held, lost) = (scenario.apply(&held), scenario.apply(&on_node("lost", "gone")));
    let kept = scenario.apply(&on_node("kept", "there"));
    scenario.start_controllers().await;
    scenario.gone(&lost).await;
    let is_deleting = |pod: &Value| pod["metadata"]["deletionTimestamp"].is_string();
    let failed = scenario.cluster.wait_until(&held, is_deleting).await;
    assert_eq!(failed["status"]["phase"], "Failed");
    let conditions = failed["status"]["conditions"].as_array().unwrap();
    let condition = conditions
        .iter()
        .find(|condition| condition["type"] == "DisruptionTarget")
        .unwrap();
    assert_eq!(
        (&condition["status"], &condition["reason"], &condition["message"]),
        (
            &json!("True"),
            &json!("DeletionByPodGC"),
            &json!("PodGC: node no longer exists")
        )
    );
    assert!(scenario.cluster.get(&kept).unwrap().is_some());
    scenario
        .cluster
        .assert_exact_permissions(&scenario.identity)
        .await;
}

#[tokio::test]
async fn ended_pods_beyond_the_threshold_are_deleted() {
    let mut scenario = scenario();
    scenario.keep_ended_pods(1);
    let running = scenario.apply(&pod("running"));
    for name in ["a", "b", "c"] {
        let ended = scenario.apply(&pod(name));
        scenario
            .cluster
            .patch_status(&ended, &json!({"phase": "Failed"}))
            .unwrap();
    }
    scenario.start_controllers().await;
    for _ in 0..3000 {
        if scenario.cluster.list(&running).unwrap().len() == 2 {
            assert!(scenario.cluster.get(&running).unwrap().is_some());
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("ended pods stay: {:#?}", scenario.cluster.list(&running));
}
