//! One reconcile at a time: the cache is seeded by hand, the requests are compared. No API server.

use kubewright::serde_json::{Value, json};
use kubewright::testing::Harness;
use shop::controllers::DNSPolicyController;

const KEY: &str = "example";

fn dns_policy() -> Value {
    json!({
        "apiVersion": "net.demo.dev/v1alpha1",
        "kind": "DNSPolicy",
        "metadata": {
            "name": "example",
            "uid": "1",
            "resourceVersion": "1",
            "generation": 1
        },
        "spec": {
            "deploymentNamespace": "default",
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
                "apiVersion": "net.demo.dev/v1alpha1",
                "kind": "DNSPolicy",
                "name": "example",
                "uid": owner,
                "controller": true
            }]
        },
        "status": {"availableReplicas": available}
    })
}
