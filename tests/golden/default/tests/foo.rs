//! One reconcile at a time: the caches are filled by hand, and what was sent is compared. No API server, no waiting.

use kubewright::serde_json::{Value, json};
use kubewright::testing::{Harness, Reply};
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

/// The Deployment that the Foo names, with `owner` as the uid of its controller.
fn deployment(owner: &str, available: i32) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "namespace": "default",
            "uid": "2",
            "resourceVersion": "2",
            "generation": 1,
            "ownerReferences": [{
                "apiVersion": "demo.dev/v1alpha1",
                "kind": "Foo",
                "name": "example",
                "uid": owner,
                "controller": true
            }]
        },
        "spec": {
            "replicas": 3,
            "selector": {},
            "template": {}
        },
        "status": {"availableReplicas": available}
    })
}

fn requests(test: &Harness) -> Vec<(String, Value)> {
    let requests = test.requests().into_iter();
    requests
        .map(|request| (request.to_string(), request.body))
        .collect()
}

fn events(test: &Harness) -> Vec<String> {
    test.events()
        .into_iter()
        .map(|event| event.reason)
        .collect()
}

#[tokio::test]
async fn applies_the_deployment_and_reports() {
    let test = Harness::new(FooController::register);
    test.seed(&foo());

    test.reconcile(KEY).await.unwrap();

    let sent = requests(&test);
    let [(apply, deployment), (update, foo)] = sent.as_slice() else {
        panic!("{sent:?}");
    };
    assert_eq!(apply, "apply deployments.apps default/web");
    assert_eq!(deployment["spec"]["replicas"], 3);
    assert_eq!(deployment["metadata"]["ownerReferences"][0]["uid"], "1");
    assert_eq!(update, &format!("update foos.demo.dev/status {KEY}"));
    assert_eq!(foo["status"]["observedGeneration"], 1);
    assert_eq!(foo["status"]["conditions"][0]["status"], "False");
    assert_eq!(events(&test), ["Created"]);
}

#[tokio::test]
async fn is_ready_when_all_replicas_are_and_then_silent() {
    let test = Harness::new(FooController::register);
    test.seed(&foo());
    test.seed(&deployment("1", 3));

    test.reconcile(KEY).await.unwrap();

    let (_, mut updated) = requests(&test).remove(1);
    assert_eq!(updated["status"]["availableReplicas"], 3);
    assert_eq!(updated["status"]["conditions"][0]["type"], "Ready");
    assert_eq!(updated["status"]["conditions"][0]["status"], "True");

    // With its own status in the cache there is nothing left to write but the apply, which changes nothing.
    updated["metadata"]["resourceVersion"] = json!("3");
    test.seed(&updated);
    test.reconcile(KEY).await.unwrap();
    let sent = requests(&test);
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert_eq!(events(&test), [] as [&str; 0]);
}

#[tokio::test]
async fn leaves_the_deployment_of_somebody_else_alone() {
    let test = Harness::new(FooController::register);
    test.seed(&foo());
    test.seed(&deployment("other", 3));

    test.reconcile(KEY).await.unwrap_err();

    assert_eq!(requests(&test), []);
    assert_eq!(events(&test), ["NotOwned"]);
}

#[tokio::test]
async fn has_nothing_to_do_for_what_was_deleted() {
    let test = Harness::new(FooController::register);
    test.reconcile(KEY).await.unwrap();
    assert_eq!(requests(&test), []);
}

#[tokio::test]
async fn tries_again_after_a_conflict() {
    let test = Harness::new(FooController::register);
    test.seed(&foo());
    test.reply_with(|request| request.subresource.is_some(), Reply::conflict());

    // An error brings the key back into the queue; the next try reads what changed.
    test.reconcile(KEY).await.unwrap_err();
    test.reconcile(KEY).await.unwrap();
}
