//! Updates of the template.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::scenario::{Scenario, daemon_set, hash_of, on_delete, rolling, target, typed_pod, with_image};

const NODES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

fn is_ready(pod: &Value) -> bool {
    pod["status"]["conditions"][0]["status"] == "True" && pod["metadata"]["deletionTimestamp"].is_null()
}

fn ready_nodes(pods: &[Value]) -> usize {
    let ready = pods.iter().filter(|pod| is_ready(pod));
    let nodes: BTreeSet<_> = ready.map(target).collect();
    nodes.len()
}

#[tokio::test]
async fn no_more_than_allowed_are_unavailable() {
    for (limit, unavailable) in [(json!(1), 1), (json!("50%"), 3), (json!(0), 1)] {
        let scenario = Scenario::start(&NODES).await;
        let surge = if limit == json!(0) { json!("0%") } else { json!(0) };
        let limit = if limit == json!(0) { json!(1) } else { limit };
        let agent = scenario.apply(&daemon_set(&rolling(&surge, &limit)));
        scenario.complete(&agent).await;
        scenario.patch(&agent, &with_image("agent:2"));
        let check = |pods: &[Value]| {
            assert!(ready_nodes(pods) >= NODES.len() - unavailable, "{pods:#?}");
            assert!(pods.len() <= NODES.len(), "{pods:#?}");
        };
        scenario.complete_and(&agent, check).await;
        let pods = scenario.pods();
        let images = pods.iter().map(|pod| &pod["spec"]["containers"][0]["image"]);
        assert!(images.eq([&json!("agent:2"); 6]));
    }
}

#[tokio::test]
async fn surge_keeps_a_ready_pod_on_every_node() {
    for (limit, surge) in [(json!(1), 1), (json!("40%"), 3)] {
        let scenario = Scenario::start(&NODES).await;
        let agent = scenario.apply(&daemon_set(&rolling(&limit, &json!(0))));
        scenario.complete(&agent).await;
        scenario.patch(&agent, &with_image("agent:2"));
        let check = |pods: &[Value]| {
            assert_eq!(ready_nodes(pods), NODES.len(), "{pods:#?}");
            let new = pods.iter().filter(|pod| !is_ready(pod));
            assert!(new.count() <= surge, "{pods:#?}");
        };
        scenario.complete_and(&agent, check).await;
        let pods = scenario.pods_on(&NODES).await;
        let images = pods.iter().map(|pod| &pod["spec"]["containers"][0]["image"]);
        assert!(images.eq([&json!("agent:2"); 6]));
    }
}

#[tokio::test]
async fn pods_that_never_become_ready_stop_the_rollout() {
    let scenario = Scenario::start(&NODES).await;
    let agent = scenario.apply(&daemon_set(&rolling(&json!(0), &json!(2))));
    scenario.complete(&agent).await;
    scenario.patch(&agent, &with_image("missing"));
    let is_stuck = |found: &Value| {
        found["status"]["updatedNumberScheduled"] == 2 && found["status"]["numberUnavailable"] == 2
    };
    scenario.cluster.wait_until(&agent, is_stuck).await;
    // The next template replaces these two first.
    scenario.patch(&agent, &with_image("agent:3"));
    let check = |pods: &[Value]| assert!(ready_nodes(pods) >= 4, "{pods:#?}");
    scenario.complete_and(&agent, check).await;
}

#[tokio::test]
async fn pods_are_replaced_on_delete() {
    let scenario = Scenario::start(&["a", "b"]).await;
    let agent = scenario.apply(&daemon_set(&on_delete()));
    let before = scenario.complete(&agent).await;
    assert_eq!(before["status"]["updatedNumberScheduled"], 2);
    scenario.patch(&agent, &with_image("agent:2"));
    let is_old = |found: &Value| {
        let updated = found["status"]["updatedNumberScheduled"].as_u64();
        found["status"]["observedGeneration"] == 2 && updated.unwrap_or(0) == 0
    };
    scenario.cluster.wait_until(&agent, is_old).await;
    let pods = scenario.pods_on(&["a", "b"]).await;
    scenario.cluster.delete(&typed_pod(&pods[0])).unwrap();
    let is_updated = |found: &Value| found["status"]["updatedNumberScheduled"] == 1;
    scenario.cluster.wait_until(&agent, is_updated).await;
    let pods = scenario.pods_on(&["a", "b"]).await;
    assert_ne!(hash_of(&pods[0]), hash_of(&pods[1]));
}
