//! Tests of the webhooks of DNSPolicy: called directly, and by an in-process API server.

use kubewright::CustomKind;
use kubewright::serde_json::{Value, json};
use kubewright::testing::{Harness, TestOperator};
use kubewright::webhooks::AdmissionRequest;
use kubewright_testkit as testkit;
use shop::api::dns_policy::DNSPolicy;
use shop::webhooks::DNSPolicyWebhook;

fn example() -> Value {
    json!({
        "apiVersion": "net.demo.dev/v1alpha1",
        "kind": "DNSPolicy",
        "metadata": {
            "name": "example-dnspolicy"
        },
        "spec": {
            "deploymentName": "example-dnspolicy",
            "deploymentNamespace": "default",
            "replicas": 1
        }
    })
}

#[tokio::test]
async fn defaults_are_set() {
    let test = Harness::new(DNSPolicyWebhook::register);
    let mut object = example();
    object["spec"]["deploymentName"] = json!("");
    let admitted = test.admit(AdmissionRequest::create(&object)).await.unwrap();
    let spec = &admitted.object["spec"];
    assert_eq!(spec["deploymentName"], object["metadata"]["name"]);
}

// The operator answers in other threads, while this one waits for the API server.
#[tokio::test(flavor = "multi_thread")]
async fn api_server_calls_the_webhooks() {
    let cluster = testkit::Cluster::embedded().unwrap();
    cluster.install_crd(&DNSPolicy::definition()).unwrap();
    let permissions = TestOperator::permissions(DNSPolicyWebhook::register);
    let identity = cluster.operator("test", &permissions).unwrap();
    let config = identity.config().await.unwrap();
    let operator = TestOperator::start(config, DNSPolicyWebhook::register);
    cluster.install_webhooks(&operator.webhooks().await).await;

    let mut object = example();
    object["spec"]["deploymentName"] = json!("");
    let stored = cluster.apply(&object).unwrap();
    assert_eq!(stored["spec"]["deploymentName"], stored["metadata"]["name"]);
    cluster.assert_exact_permissions(&identity).await;
}
