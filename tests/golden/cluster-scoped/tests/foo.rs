//! Tests of the operator without a cluster: single reconciles, and the whole operator against an in-process API server.

use kubewright::CustomKind;
use kubewright::serde_json::{Value, from_value, json};
use kubewright::testing::{Harness, TestOperator};
use kubewright_testkit as testkit;
use shop::api::prelude::*;
use shop::controllers::FooController as Controller;

fn example() -> Foo {
    let spec = FooSpec {
        deployment_namespace: "default".to_owned(),
        deployment_name: "web".to_owned(),
        replicas: 3,
    };
    Foo::new("example", spec)
}

/// Names the Deployment of the Foo.
fn deployment() -> Value {
    let metadata = json!({"name": "web", "namespace": "default"});
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata})
}

#[tokio::test]
async fn applies_the_deployment_and_reports() {
    let test = Harness::new(Controller::register);
    let mut example = example();
    example.metadata.uid = Some("1".to_owned());
    test.seed(&example);
    test.reconcile("example").await.unwrap();
    let sent = test.requests();
    assert_eq!(sent[0].to_string(), "apply deployments.apps default/web");
    assert_eq!(sent[0].body["spec"]["replicas"], 3);
    assert_eq!(sent[0].body["metadata"]["ownerReferences"][0]["uid"], "1");
    assert_eq!(sent[1].subresource.as_deref(), Some("status"));
    assert_eq!(test.events()[0].reason, "Created");

    // With the status in the cache, only the Deployment is applied.
    example.status = from_value(sent[1].body["status"].clone()).unwrap();
    test.seed(&example);
    test.reconcile("example").await.unwrap();
    assert_eq!(test.requests().len(), 1);
}

#[tokio::test]
async fn does_not_change_a_foreign_deployment() {
    let test = Harness::new(Controller::register);
    test.seed(&example());
    test.seed(&deployment());
    test.reconcile("example").await.unwrap_err();
    assert_eq!(test.requests(), []);
    assert_eq!(test.events()[0].reason, "NotOwned");
}

/// Starts an API server, and the operator with exactly its generated permissions.
async fn start() -> (testkit::Cluster, testkit::Identity, TestOperator) {
    let cluster = testkit::Cluster::embedded().unwrap();
    let definition = Foo::definition();
    cluster.install_crd(&definition).unwrap();
    let permissions = TestOperator::permissions(Controller::register);
    let identity = cluster.operator("test", &permissions).unwrap();
    let operator = TestOperator::start(identity.config().await.unwrap(), Controller::register);
    (cluster, identity, operator)
}

/// Creates a Foo and waits for its Deployment.
async fn create(cluster: &testkit::Cluster) -> Value {
    cluster.apply(&example()).unwrap();
    cluster.wait_until(&deployment(), Value::is_object).await
}

#[tokio::test]
async fn becomes_ready_and_is_deleted_with_its_deployment() {
    let (cluster, _identity, _operator) = start().await;
    let deployment = create(&cluster).await;
    // No pods run here: the test writes the status that a cluster would.
    let running = json!({"replicas": 3, "readyReplicas": 3, "availableReplicas": 3});
    cluster.patch_status(&deployment, &running).unwrap();
    let is_ready = |found: &Value| found["status"]["conditions"][0]["status"] == "True";
    let ready = cluster.wait_until(&example(), is_ready).await;
    assert_eq!(ready["status"]["availableReplicas"], 3);

    cluster.delete(&ready).unwrap();
    cluster.wait_until(&deployment, Value::is_null).await;
}

#[tokio::test]
async fn retries_after_a_failed_status_write() {
    let (cluster, _identity, _operator) = start().await;
    let statuses = "foos/status";
    let write = testkit::RequestMatcher::verb("patch").resource(statuses);
    let failure = cluster.faults().once(write, testkit::Fault::DropRequest);
    create(&cluster).await;
    let is_written = |found: &Value| found["status"].is_object();
    cluster.wait_until(&example(), is_written).await;
    assert_eq!(failure.hits(), 1);
}

#[tokio::test]
async fn relists_after_a_broken_watch() {
    let (cluster, identity, _operator) = start().await;
    let before = create(&cluster).await;
    // Delete the Deployment while the watch is blocked, then expire the watch: only a relist shows the deletion.
    let watch = testkit::RequestMatcher::watch("deployments").user(identity.user());
    cluster.faults().hold_events(watch.clone());
    cluster.delete(&before).unwrap();
    assert_eq!(cluster.expire_watches(&watch).unwrap(), 1);
    cluster.faults().release_events(&watch);
    let after = cluster.wait_until(&before, Value::is_object).await;
    assert_ne!(before["metadata"]["uid"], after["metadata"]["uid"]);
}

#[tokio::test]
async fn uses_exactly_its_permissions() {
    let (cluster, identity, _operator) = start().await;
    create(&cluster).await;
    cluster.assert_exact_permissions(&identity).await;
}
