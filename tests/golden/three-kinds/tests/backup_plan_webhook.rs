//! Tests of the webhooks of BackupPlan: called directly, and by an in-process API server.

use kubewright::CustomKind;
use kubewright::serde_json::{Value, json};
use kubewright::testing::{Harness, TestOperator};
use kubewright::webhooks::AdmissionRequest;
use kubewright_testkit as testkit;
use shop::api::backup_plan::BackupPlan;
use shop::webhooks::BackupPlanWebhook;

fn example() -> Value {
    json!({
        "apiVersion": "demo.dev/v1alpha1",
        "kind": "BackupPlan",
        "metadata": {
            "name": "example-backupplan",
            "namespace": "default"
        },
        "spec": {
            "deploymentName": "example-backupplan",
            "replicas": 1
        }
    })
}

fn invalid() -> Value {
    let mut object = example();
    object["spec"]["deploymentName"] = json!("Web_Shop");
    object
}

const DENIED: &str =
    "spec.deploymentName: Invalid value: \"Web_Shop\": must consist of a-z, 0-9 and '-'";
const CHANGED: &str = "spec.deploymentName: Forbidden: cannot be changed";

#[tokio::test]
async fn invalid_objects_and_changes_are_denied() {
    let test = Harness::new(BackupPlanWebhook::register);
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

#[tokio::test]
async fn defaults_are_set() {
    let test = Harness::new(BackupPlanWebhook::register);
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
    cluster.install_crd(&BackupPlan::definition()).unwrap();
    let permissions = TestOperator::permissions(BackupPlanWebhook::register);
    let identity = cluster.operator("test", &permissions).unwrap();
    let config = identity.config().await.unwrap();
    let operator = TestOperator::start(config, BackupPlanWebhook::register);
    cluster.install_webhooks(&operator.webhooks().await).await;

    let denied = cluster.apply(&invalid()).unwrap_err().to_string();
    assert!(denied.contains(DENIED), "{denied}");
    let mut object = example();
    object["spec"]["deploymentName"] = json!("");
    let stored = cluster.apply(&object).unwrap();
    assert_eq!(stored["spec"]["deploymentName"], stored["metadata"]["name"]);
    cluster.assert_exact_permissions(&identity).await;
}
