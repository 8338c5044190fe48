//! `Harness`: single reconciles, their requests and events, and an injected clock.

use http::StatusCode;
use k8s_openapi::{
    api::{apps::v1::Deployment, core::v1::ConfigMap},
    jiff::{SignedDuration, Timestamp},
};
use kubewright::{
    Clock, NamespacedName,
    cache::{Lister, LookupError},
    client::{ApplyStatus, ClientError},
    controller::{Action, ReconcileError, Reconciler, Setup, conditions::condition},
    events::{EventType, Recorder},
    prelude::{Apply, Create, Get, TypedClient},
    testing::{Harness, Reply, Request},
    webhooks::{AdmissionError, AdmissionRequest, Defaulter, Validation, Validator},
};
use serde_json::json;
use tokio::time::{Duration, advance};

/// Applies a ConfigMap's replicas to a Deployment, and creates a copy of the ConfigMap.
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
async fn reconcile_records_requests_and_events() {
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
async fn seeding_again_replaces_the_object_and_others_are_not_found() {
    let test = Harness::new(register);
    assert_eq!(test.reconcile("shop/web").await.unwrap(), Action::await_change());
    test.seed(&sized("3"));
    test.seed(&sized("4"));
    test.reconcile_with("sizer", "shop/web").await.unwrap();
    assert_eq!(test.requests()[0].body["spec"]["replicas"], 4);
}

#[tokio::test]
async fn scripted_replies_reach_the_reconciler() {
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
async fn seeded_object_without_informer_is_served_by_the_api_server() {
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
async fn assert_requests_reports_fields_that_differ() {
    let test = Harness::new(register);
    test.seed(&sized("3"));
    test.reconcile("shop/web").await.unwrap();
    let wanted = json!({"metadata": {"name": "web", "namespace": "shop"}, "spec": {"replicas": 4}});
    test.assert_requests(&[Request::apply::<Deployment>(&wanted)]);
}

#[tokio::test]
#[should_panic(expected = "the operator has no informer of v1 Secret")]
async fn seeding_a_kind_without_informer_panics() {
    Harness::new(register).seed(&json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}));
}

#[tokio::test]
#[should_panic(expected = "has no primary kind")]
async fn invalid_registration_panics() {
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

/// Backs a ConfigMap up every hour and notes the time in a condition.
struct Backup {
    maps: Lister<ConfigMap>,
    writer: TypedClient<ConfigMap, (Apply,)>,
    clock: Clock,
}

impl Reconciler for Backup {
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let map = self.maps.get(key)?;
        let now = self.clock.now();
        let last = map.data.as_ref().and_then(|data| data.get("lastBackup"));
        let due = match last {
            Some(last) => last.parse::<Timestamp>()? + SignedDuration::from_hours(1),
            None => now,
        };
        if now < due {
            return Ok(Action::requeue_after(now.duration_until(due).unsigned_abs()));
        }
        let done = condition(&*map, "BackedUp", true, "Scheduled", "");
        let time = done.last_transition_time.0.to_string();
        self.writer
            .apply(&json!({
                "metadata": {"name": key.name(), "namespace": key.namespace()},
                "data": {"lastBackup": time},
            }))
            .await?;
        Ok(Action::requeue_after(Duration::from_hours(1)))
    }
}

#[tokio::test(start_paused = true)]
async fn scheduled_reconciler_sees_the_injected_time_in_condition_and_requeue_after() {
    let start: Timestamp = "2026-03-01T10:00:00Z".parse().unwrap();
    let test = Harness::with_clock(Clock::starting_at(start), |setup| {
        let maps = setup.informers().of::<ConfigMap>();
        let backup = Backup {
            maps: maps.lister(),
            writer: setup.client(),
            clock: setup.clock(),
        };
        setup.controller("backup", backup).reconciles(&maps);
    });
    let seed = |last: &str| {
        test.seed_as::<ConfigMap>(
            &json!({"metadata": {"name": "a", "namespace": "shop"}, "data": {"lastBackup": last}}),
        );
    };
    let requeue_after = |minutes| Action::requeue_after(Duration::from_mins(minutes));

    seed("2026-03-01T09:30:00Z");
    assert_eq!(test.reconcile("shop/a").await.unwrap(), requeue_after(30));
    test.assert_requests(&[]);
    advance(Duration::from_mins(20)).await;
    assert_eq!(test.reconcile("shop/a").await.unwrap(), requeue_after(10));
    advance(Duration::from_mins(10)).await;
    assert_eq!(test.reconcile("shop/a").await.unwrap(), requeue_after(60));
    assert_eq!(
        test.requests()[0].body["data"]["lastBackup"],
        "2026-03-01T10:30:00Z"
    );

    test.set_time("2026-12-31T23:59:30Z".parse().unwrap());
    advance(Duration::from_secs(30)).await;
    assert_eq!(test.reconcile("shop/a").await.unwrap(), requeue_after(60));
    assert_eq!(
        test.requests()[0].body["data"]["lastBackup"],
        "2027-01-01T00:00:00Z"
    );
}

/// Requires that a ConfigMap's `size` is at most that of the ConfigMap `limits` of its namespace, and defaults it to that.
struct Limits(Lister<ConfigMap>);

impl Limits {
    fn of(&self, request: &AdmissionRequest) -> Result<i64, AdmissionError> {
        let namespace = request.namespace.as_deref().unwrap_or_default();
        let limits = self.0.get(&NamespacedName::namespaced(namespace, "limits"))?;
        Ok(limits.data.as_ref().map_or("0", |data| &data["size"]).parse()?)
    }
}

impl Defaulter<ConfigMap> for Limits {
    async fn set_defaults(
        &self,
        map: &mut ConfigMap,
        request: &AdmissionRequest,
    ) -> Result<(), AdmissionError> {
        let size = self.of(request)?;
        let data = map.data.get_or_insert_default();
        data.entry("size".to_owned()).or_insert_with(|| size.to_string());
        Ok(())
    }
}

impl Validator<ConfigMap> for Limits {
    async fn create(
        &self,
        map: &ConfigMap,
        request: &AdmissionRequest,
    ) -> Result<Validation, AdmissionError> {
        let (limit, size) = (
            self.of(request)?,
            map.data.as_ref().map_or("0", |data| &data["size"]),
        );
        let mut validation = Validation::new();
        if size.parse::<i64>()? > limit {
            validation.invalid("data.size", size, &format!("must be at most {limit}"));
        }
        if request.user.username.as_deref() == Some("eve") {
            validation.warn("eve is watched");
        }
        Ok(validation)
    }
}

fn register_webhooks(setup: &mut Setup) {
    let maps = setup.informers().of::<ConfigMap>();
    setup.defaulter::<ConfigMap>(Limits(maps.lister()));
    setup.validator::<ConfigMap>(Limits(maps.lister()));
}

fn map_of_size(data: &serde_json::Value) -> serde_json::Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop"}, "data": data, "x": 1})
}

#[tokio::test]
async fn admit_calls_defaulters_then_validators_with_the_seeded_caches() {
    let test = Harness::new(register_webhooks);
    let request = AdmissionRequest::create(&map_of_size(&json!({"a": "b"})));
    let failed = test.admit(request.clone()).await.unwrap_err();
    assert_eq!(failed.code, 500);
    assert!(failed.message.contains("shop/limits"), "{}", failed.message);

    test.seed_as::<ConfigMap>(
        &json!({"metadata": {"name": "limits", "namespace": "shop"}, "data": {"size": "5"}}),
    );
    let admitted = test.admit(request).await.unwrap();
    assert_eq!(admitted.object, map_of_size(&json!({"a": "b", "size": "5"})));
    assert!(admitted.warnings.is_empty());

    let mut request = AdmissionRequest::create(&map_of_size(&json!({"size": "4"})));
    request.user.username = Some("eve".to_owned());
    assert_eq!(test.admit(request).await.unwrap().warnings, ["eve is watched"]);

    let request = AdmissionRequest::create(&map_of_size(&json!({"size": "6"})));
    let denied = test.admit(request).await.unwrap_err();
    assert_eq!(denied.code, 422);
    assert_eq!(
        denied.message,
        "ConfigMap \"a\" is invalid: data.size: Invalid value: \"6\": must be at most 5"
    );
    let request = AdmissionRequest::delete(&map_of_size(&json!({})));
    assert!(test.admit(request).await.unwrap().object.is_null());
}

#[tokio::test]
#[should_panic(expected = "the operator has no webhook of apiVersion Some(\"v1\") and kind Some(\"Pod\")")]
async fn admit_panics_without_a_webhook_of_the_kind() {
    let test = Harness::new(register_webhooks);
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}});
    let _ = test.admit(AdmissionRequest::create(&pod)).await;
}
