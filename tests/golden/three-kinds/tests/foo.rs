//! One reconcile at a time: the cache is seeded by hand, the requests are compared. No API server.

use kubewright::serde_json::{Value, json};
use kubewright::testing::Harness;
use shop::controllers::FooController;

const KEY: &str = "default/example";

fn foo() -> Value {
    json!({
        "apiVersion": "demo.dev/v1alpha1",
        "kind": "Foo",
        "metadata": {
            "name": "example",
            "namespace": "default",
            "uid": "1",
            "resourceVersion": "1",
            "generation": 1
        },
        "spec": {
            "deploymentName": "web",
            "replicas": 3
        }
    })
}

fn deployment(owner: &str, available: i32) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "namespace": "default",
            "uid": "2",
            "resourceVersion": "2",
            "ownerReferences": [{
                "apiVersion": "demo.dev/v1alpha1",
                "kind": "Foo",
                "name": "example",
                "uid": owner,
                "controller": true
            }]
        },
        "status": {"availableReplicas": available}
    })
}
