//! Single reconciles of the node labeler, without an API server.

use k8s_openapi::api::core::v1::Node;
use kubewright::{
    controller::Action,
    testing::{Harness, Request},
};
use node_labeler::controller::{NodeLabeler, SIZE_CLASS};
use serde_json::{Value, json};

fn node(labels: &Value, capacity: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "labels": labels},
        "status": {"capacity": capacity},
    })
}

#[tokio::test]
async fn applies_only_its_label() {
    let test = Harness::new(NodeLabeler::register);
    test.seed(&node(
        &json!({"kubernetes.io/arch": "arm64"}),
        &json!({"cpu": "8"}),
    ));
    test.reconcile("a").await.unwrap();
    let intent = json!({"metadata": {"name": "a", "labels": {SIZE_CLASS: "medium"}}});
    test.assert_requests(&[Request::apply::<Node>(&intent)]);
}

#[tokio::test]
async fn writes_nothing_if_the_label_is_right() {
    let test = Harness::new(NodeLabeler::register);
    test.seed(&node(&json!({SIZE_CLASS: "medium"}), &json!({"cpu": "8"})));
    assert_eq!(test.reconcile("a").await.unwrap(), Action::await_change());
    assert_eq!(test.requests(), []);
}

#[tokio::test]
async fn node_without_capacity_is_read_again() {
    let test = Harness::new(NodeLabeler::register);
    test.seed(&node(&json!({}), &json!({})));
    let action = test.reconcile("a").await.unwrap();
    assert!(matches!(action, Action::RequeueAfter(_)), "{action:?}");
    assert_eq!(test.requests(), []);
}
