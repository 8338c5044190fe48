//! Upstream's four tests, and tests of behaviour that upstream does not test.

use k8s_openapi::api::apps::v1::Deployment;
use kubewright::{
    controller::Action,
    events::EventType,
    testing::{Harness, Reply, Request},
};
use sample_controller::{
    api::{Foo, FooSpec, FooStatus},
    controller::{
        ERR_RESOURCE_EXISTS, FooController, MESSAGE_RESOURCE_SYNCED, SUCCESS_SYNCED, new_deployment,
    },
};

const KEY: &str = "default/test";

fn foo(replicas: Option<i32>) -> Foo {
    let mut foo = Foo::new(
        "test",
        FooSpec {
            deployment_name: "test-deployment".to_owned(),
            replicas,
        },
    );
    foo.metadata.namespace = Some("default".to_owned());
    foo.metadata.uid = Some("uid-of-test".to_owned());
    foo.metadata.resource_version = Some("1".to_owned());
    foo
}

fn with_status(mut foo: Foo, available_replicas: i32) -> Foo {
    foo.status = Some(FooStatus { available_replicas });
    foo
}

fn seeded(foo: &Foo, deployment: Option<&Deployment>) -> Harness {
    let test = Harness::new(FooController::register);
    test.seed(foo);
    if let Some(deployment) = deployment {
        test.seed(deployment);
    }
    test
}

/// Returns type, reason and message of the recorded events.
fn recorded_events(test: &Harness) -> Vec<(EventType, String, String)> {
    test.events()
        .into_iter()
        .map(|event| (event.event_type, event.reason, event.note))
        .collect()
}

fn synced() -> Vec<(EventType, String, String)> {
    vec![(
        EventType::Normal,
        SUCCESS_SYNCED.to_owned(),
        MESSAGE_RESOURCE_SYNCED.to_owned(),
    )]
}

// Upstream compares the actions of each client separately. The harness compares all requests in order, so that these
// tests also check that the status is written after the Deployment.

/// `TestCreatesDeployment`
#[tokio::test]
async fn creates_deployment() {
    let foo = foo(Some(1));
    let test = seeded(&foo, None);
    assert_eq!(test.reconcile(KEY).await.unwrap(), Action::await_change());
    test.assert_requests(&[
        Request::create(&new_deployment(&foo)),
        Request::update_status(&with_status(foo, 0)),
    ]);
    assert_eq!(recorded_events(&test), synced());
}

/// `TestDoNothing`
#[tokio::test]
async fn does_nothing_but_status() {
    let foo = foo(Some(1));
    let mut deployment = new_deployment(&foo);
    deployment.status.get_or_insert_default().available_replicas = Some(1);
    let test = seeded(&foo, Some(&deployment));
    assert_eq!(test.reconcile(KEY).await.unwrap(), Action::await_change());
    test.assert_requests(&[Request::update_status(&with_status(foo, 1))]);
    assert_eq!(recorded_events(&test), synced());
}

/// `TestDoNothing` with an up-to-date status: it is written anyway.
#[tokio::test]
async fn writes_an_unchanged_status() {
    let foo = with_status(foo(Some(1)), 1);
    let mut deployment = new_deployment(&foo);
    deployment.status.get_or_insert_default().available_replicas = Some(1);
    let test = seeded(&foo, Some(&deployment));
    test.reconcile(KEY).await.unwrap();
    test.assert_requests(&[Request::update_status(&foo)]);
}

/// `TestUpdateDeployment`
#[tokio::test]
async fn updates_deployment() {
    let before = foo(Some(1));
    let after = foo(Some(2));
    let test = seeded(&after, Some(&new_deployment(&before)));
    assert_eq!(test.reconcile(KEY).await.unwrap(), Action::await_change());
    test.assert_requests(&[
        Request::update(&new_deployment(&after)),
        Request::update_status(&with_status(after, 0)),
    ]);
    assert_eq!(recorded_events(&test), synced());
}

/// `TestNotControlledByUs`
#[tokio::test]
async fn foreign_deployment_is_not_changed() {
    let foo = foo(Some(1));
    let mut deployment = new_deployment(&foo);
    deployment.metadata.owner_references = None;
    let test = seeded(&foo, Some(&deployment));
    let error = test.reconcile(KEY).await.unwrap_err();
    let message = "Resource \"test-deployment\" already exists and is not managed by Foo";
    assert!(error.to_string().contains(message), "{error}");
    assert!(!error.is_terminal(), "retried with backoff");
    test.assert_requests(&[]);
    assert_eq!(
        recorded_events(&test),
        [(
            EventType::Warning,
            ERR_RESOURCE_EXISTS.to_owned(),
            message.to_owned()
        )]
    );
}

/// A recreated Foo has another uid and does not control the Deployment of the deleted one.
#[tokio::test]
async fn recreated_foo_does_not_control_the_old_deployment() {
    let former = foo(Some(1));
    let mut again = foo(Some(1));
    again.metadata.uid = Some("another-uid".to_owned());
    let test = seeded(&again, Some(&new_deployment(&former)));
    assert!(test.reconcile(KEY).await.is_err());
    test.assert_requests(&[]);
}

/// Without replicas in the spec, the Deployment's replicas are not managed.
#[tokio::test]
async fn absent_replicas_change_nothing() {
    let foo = foo(None);
    let mut deployment = new_deployment(&foo);
    deployment.spec.get_or_insert_default().replicas = Some(7);
    let test = seeded(&foo, Some(&deployment));
    test.reconcile(KEY).await.unwrap();
    test.assert_requests(&[Request::update_status(&with_status(foo, 0))]);
}

/// A retry cannot succeed before the Foo changes.
#[tokio::test]
async fn empty_deployment_name_is_not_retried() {
    let mut foo = foo(Some(1));
    foo.spec.deployment_name.clear();
    let test = seeded(&foo, None);
    assert_eq!(test.reconcile(KEY).await.unwrap(), Action::await_change());
    test.assert_requests(&[]);
    assert_eq!(recorded_events(&test), []);
}

#[tokio::test]
async fn missing_foo_is_success() {
    let test = Harness::new(FooController::register);
    assert_eq!(test.reconcile(KEY).await.unwrap(), Action::await_change());
    test.assert_requests(&[]);
}

/// A 409 on any of the three writes is a retriable error, and ends the reconcile.
#[tokio::test]
async fn conflict_is_an_error() {
    let foo = foo(Some(2));
    let created = Request::create(&new_deployment(&foo));
    let updated = Request::update(&new_deployment(&foo));
    let status = Request::update_status(&with_status(foo.clone(), 0));
    let mut old = new_deployment(&foo);
    old.spec.get_or_insert_default().replicas = Some(1);
    for (deployment, refused, sent) in [
        (None, "create", vec![created]),
        (Some(old), "update", vec![updated]),
        (Some(new_deployment(&foo)), "update", vec![status]),
    ] {
        let test = seeded(&foo, deployment.as_ref());
        test.reply_with(move |request| request.verb == refused, Reply::conflict());
        let error = test.reconcile(KEY).await.unwrap_err();
        assert!(!error.is_terminal(), "{error}");
        test.assert_requests(&sent);
        assert_eq!(recorded_events(&test), [], "no event of success");
    }
}
