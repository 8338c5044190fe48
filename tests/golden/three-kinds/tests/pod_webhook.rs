//! Tests of the webhooks of Pod: called directly, and by an in-process API server.

use kubewright::serde_json::{Value, json};
use kubewright::testing::{Harness, TestOperator};
use kubewright::webhooks::AdmissionRequest;
use kubewright_testkit as testkit;
use shop::webhooks::PodWebhook;

fn example() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "example",
            "namespace": "default"
        },
        "spec": {
            "containers": [
                {
                    "image": "example",
                    "name": "main"
                }
            ],
            "restartPolicy": "Always"
        }
    })
}

fn invalid() -> Value {
    let mut object = example();
    object["metadata"]["labels"]["demo.dev/team"] = json!("");
    object
}

const DENIED: &str = "metadata.labels[demo.dev/team]: Required value: name the team";
const CHANGED: &str = "metadata.labels[demo.dev/team]: Forbidden: cannot be changed";

#[tokio::test]
async fn invalid_objects_and_changes_are_denied() {
    let test = Harness::new(PodWebhook::register);
    test.admit(AdmissionRequest::create(&example()))
        .await
        .unwrap();
    let create = AdmissionRequest::create(&invalid());
    let denied = test.admit(create).await.unwrap_err();
    assert!(denied.message.ends_with(DENIED), "{}", denied.message);
    let update = AdmissionRequest::update(&example(), &invalid());
    let denied = test.admit(update).await.unwrap_err();
    assert!(denied.message.ends_with(CHANGED), "{}", denied.message);
}

// The operator answers in other threads, while this one waits for the API server.
#[tokio::test(flavor = "multi_thread")]
async fn api_server_calls_the_webhooks() {
    let cluster = testkit::Cluster::embedded().unwrap();
    let permissions = TestOperator::permissions(PodWebhook::register);
    let identity = cluster.operator("test", &permissions).unwrap();
    let config = identity.config().await.unwrap();
    let operator = TestOperator::start(config, PodWebhook::register);
    cluster.install_webhooks(&operator.webhooks().await).await;

    let denied = cluster.apply(&invalid()).unwrap_err().to_string();
    assert!(denied.contains(DENIED), "{denied}");
    cluster.apply(&example()).unwrap();
    cluster.assert_exact_permissions(&identity).await;
}
