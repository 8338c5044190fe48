//! The whole operator against an in-process API server, with exactly its permissions.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

use kubewright::testing::TestOperator;
use kubewright_testkit::{Cluster, Identity, RequestMatcher};
use node_labeler::controller::{NodeLabeler, SIZE_CLASS};
use serde_json::{Value, json};

/// Starts an API server with a Node of 32 CPUs, and the operator.
async fn start() -> (Cluster, Identity, TestOperator) {
    let cluster = Cluster::embedded().unwrap();
    let mut labeled = node();
    labeled["metadata"]["labels"] = json!({"team": "data"});
    cluster.apply(&labeled).unwrap();
    let status = json!({"capacity": {"cpu": "32", "memory": "64Gi"}});
    cluster.patch_status(&node(), &status).unwrap();
    let permissions = TestOperator::permissions(NodeLabeler::register);
    let identity = cluster.operator("node-labeler", &permissions).unwrap();
    let config = identity.config().await.unwrap();
    let operator = TestOperator::start(config, NodeLabeler::register);
    (cluster, identity, operator)
}

fn node() -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}})
}

fn is_large(node: &Value) -> bool {
    node["metadata"]["labels"][SIZE_CLASS] == "large"
}

#[tokio::test]
async fn owns_its_label_and_leaves_others_alone() {
    let (cluster, identity, _operator) = start().await;
    let labeled = cluster.wait_until(&node(), is_large).await;
    assert_eq!(labeled["metadata"]["labels"]["team"], "data");
    let managers = labeled["metadata"]["managedFields"].as_array().unwrap();
    let label = format!("f:{SIZE_CLASS}");
    let owners: Vec<_> = managers
        .iter()
        .filter(|entry| entry["fieldsV1"]["f:metadata"]["f:labels"][&label].is_object())
        .map(|entry| (&entry["manager"], &entry["operation"]))
        .collect();
    assert_eq!(owners, [(&json!("test"), &json!("Apply"))]);
    cluster.assert_exact_permissions(&identity).await;
}

#[tokio::test]
async fn changed_label_is_set_again() {
    let (cluster, _identity, _operator) = start().await;
    cluster.wait_until(&node(), is_large).await;
    let change = json!({"metadata": {"labels": {SIZE_CLASS: "tiny"}}});
    let changed = cluster.merge_patch(&node(), &change).unwrap();
    let is_repaired = |found: &Value| {
        is_large(found) && found["metadata"]["resourceVersion"] != changed["metadata"]["resourceVersion"]
    };
    cluster.wait_until(&node(), is_repaired).await;
}

// ANCHOR: broken_watch
#[tokio::test]
async fn label_that_changed_during_a_broken_watch_is_set_again() {
    let (cluster, identity, _operator) = start().await;
    cluster.wait_until(&node(), is_large).await;

    // The watch delivers nothing, then its version expires: only a relist shows the change.
    let watch = RequestMatcher::watch("nodes").user(identity.user());
    cluster.faults().hold_events(watch.clone());
    let change = json!({"metadata": {"labels": {SIZE_CLASS: "tiny"}}});
    cluster.merge_patch(&node(), &change).unwrap();
    assert_eq!(cluster.expire_watches(&watch).unwrap(), 1);
    cluster.faults().release_events(&watch);
    cluster.wait_until(&node(), is_large).await;
}
// ANCHOR_END: broken_watch
