//! The harness runs a reconciler as an operator's own tests do.

use http::StatusCode;
use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
use kubewright::{
    NamespacedName,
    cache::{Lister, LookupError},
    client::{ApplyStatus, ClientError},
    controller::{Action, ReconcileError, Reconciler, Setup},
    events::{EventType, Recorder},
    prelude::{Apply, Create, Get, TypedClient},
    testing::{Harness, Reply, Request},
};
use serde_json::json;

/// Copies the replicas that a ConfigMap asks for to a Deployment, and marks the Deployment.
struct Sizer {
    maps: Lister<ConfigMap>,
    deployments: TypedClient<Deployment, (Get, Apply, ApplyStatus)>,
    writer: TypedClient<ConfigMap, (Create,)>,
    events: Recorder,
}

fn register(setup: &mut Setup) {
    let maps = setup.informers().of::<ConfigMap>();
    let sizer = Sizer {
        maps: maps.lister(),
        deployments: setup.client(),
        writer: setup.client(),
        events: setup.recorder(),
    };
    setup.controller("sizer", sizer).reconciles(&maps);
}

impl Reconciler for Sizer {
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let map = match self.maps.get(key) {
            Err(LookupError::NotFound { .. }) => return Ok(Action::await_change()),
            found => found?,
        };
        let replicas: i32 = map.data.as_ref().map_or("0", |data| &data["replicas"]).parse()?;
        let wanted = json!({"metadata": {"name": key.name(), "namespace": key.namespace()}, "spec": {"replicas": replicas}});
        let applied = self.deployments.apply(&wanted).await?;
        assert_eq!(self.deployments.get(key).await?, applied);
        let mut copy = map.as_ref().clone();
        copy.metadata.name = Some(format!("{}-copy", key.name()));
        self.writer.create(&copy).await?;
        self.events
            .event(map.as_ref(), EventType::Normal, "Sized", format!("to {replicas}"));
        Ok(Action::await_change())
    }
}

fn sized(replicas: &str) -> serde_json::Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "namespace": "shop", "uid": "u1"},
        "data": {"replicas": replicas},
    })
}

#[tokio::test]
async fn one_reconcile_shows_its_requests_and_events() {
    let test = Harness::new(register);
    test.seed(&sized("3"));
    assert_eq!(test.reconcile("shop/web").await.unwrap(), Action::await_change());

    let web = NamespacedName::namespaced("shop", "web");
    let wanted = json!({"metadata": {"name": "web", "namespace": "shop"}, "spec": {"replicas": 3}});
    let mut copy: ConfigMap = serde_json::from_value(sized("3")).unwrap();
    copy.metadata.name = Some("web-copy".to_owned());
    test.assert_requests(&[
        Request::apply::<Deployment>(&wanted),
        Request::get::<Deployment>(&web),
        Request::create(&copy),
    ]);
    let events: Vec<String> = test.events().iter().map(ToString::to_string).collect();
    assert_eq!(events, ["Normal Sized ConfigMap shop/web: to 3"]);
    test.assert_requests(&[]);
    assert!(test.events().is_empty());
}

#[tokio::test]
async fn seeding_again_replaces_and_what_is_not_seeded_is_not_found() {
    let test = Harness::new(register);
    assert_eq!(test.reconcile("shop/web").await.unwrap(), Action::await_change());
    test.seed(&sized("3"));
    test.seed(&sized("4"));
    test.reconcile_with("sizer", "shop/web").await.unwrap();
    assert_eq!(test.requests()[0].body["spec"]["replicas"], 4);
}

#[tokio::test]
async fn scripted_refusals_reach_the_reconciler() {
    let test = Harness::new(register);
    test.seed_as::<ConfigMap>(&sized("3"));
    test.reply_with(|request| request.verb == "apply", Reply::conflict());
    let error = test.reconcile("shop/web").await.unwrap_err();
    assert!(
        error.find::<ClientError>().is_some_and(ClientError::is_conflict),
        "{error}"
    );
    assert_eq!(test.requests().len(), 1);
    test.reply_with(
        |_| true,
        Reply::object(StatusCode::OK, json!({"metadata": {"name": "other"}})),
    );
    test.reply_with(|_| true, Reply::lost());
    let error = test.reconcile("shop/web").await.unwrap_err();
    assert!(
        error
            .find::<ClientError>()
            .is_some_and(ClientError::is_unanswered),
        "{error}"
    );
}

#[tokio::test]
async fn objects_of_kinds_without_informer_are_known_to_the_api_server() {
    let test = Harness::new(register);
    test.seed(&sized("3"));
    test.seed_as::<Deployment>(
        &json!({"metadata": {"name": "web", "namespace": "shop"}, "spec": {"paused": true}}),
    );
    test.reconcile("shop/web").await.unwrap();
    let deployment = test.api().requests();
    assert_eq!(deployment.len(), 3);
}

#[tokio::test]
#[should_panic(expected = "request 1: apply deployments.apps shop/web\n  spec.replicas: expected 4, sent 3")]
async fn a_difference_is_told_by_field() {
    let test = Harness::new(register);
    test.seed(&sized("3"));
    test.reconcile("shop/web").await.unwrap();
    let wanted = json!({"metadata": {"name": "web", "namespace": "shop"}, "spec": {"replicas": 4}});
    test.assert_requests(&[Request::apply::<Deployment>(&wanted)]);
}

#[tokio::test]
#[should_panic(expected = "the operator has no informer of v1 Secret")]
async fn seeding_a_kind_that_nobody_reads_is_a_mistake() {
    Harness::new(register).seed(&json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}));
}

#[tokio::test]
#[should_panic(expected = "has no primary kind")]
async fn a_wrong_registration_is_a_mistake() {
    struct Idle;
    impl Reconciler for Idle {
        async fn reconcile(&self, _key: &NamespacedName) -> Result<Action, ReconcileError> {
            Ok(Action::await_change())
        }
    }
    Harness::new(|setup| {
        setup.controller("idle", Idle).workers(1);
    });
}
