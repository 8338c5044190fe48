//! Tests of the controller of Node: single reconciles, without an API server.

use kubewright::controller::Action;
use kubewright::serde_json::{Value, json};
use kubewright::testing::Harness;
use shop::controllers::NodeController;

const KEY: &str = "example";

fn example() -> Value {
    let mut example = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "example"
        }
    });
    example["metadata"]["uid"] = json!("1");
    example
}

#[tokio::test]
async fn existing_objects_are_read() {
    let test = Harness::new(NodeController::register);
    test.seed(&example());
    let action = test.reconcile(KEY).await.unwrap();
    assert_eq!(action, Action::await_change());
    assert_eq!(test.requests(), []);
}

#[tokio::test]
async fn deleted_objects_are_ignored() {
    let test = Harness::new(NodeController::register);
    let action = test.reconcile(KEY).await.unwrap();
    assert_eq!(action, Action::await_change());
    let mut deleted = example();
    deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    test.seed(&deleted);
    let action = test.reconcile(KEY).await.unwrap();
    assert_eq!(action, Action::await_change());
    assert_eq!(test.requests(), []);
}
