//! Which changes wake a Foo: upstream's event handlers, which its tests do not pin.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on stops"
)]

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::UnsyncBoxBody};
use kube::client::Body;
use kubewright::{
    client::Connection,
    controller::{ControllerRunner, FixedArgs, NoMetrics, Setup},
    events::Recorder,
};
use sample_controller::controller::FooController;
use serde_json::{Value, json};

/// The body of an answer.
type Answer = UnsyncBoxBody<bytes::Bytes, Infallible>;

/// Lists and watches as a test says: each list is answered with the next of its answers, each watch with the lines that are sent.
#[derive(Clone, Default)]
struct Script(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    foos: Vec<Value>,
    deployments: Vec<Value>,
    foo_watch: Option<UnboundedSender<Value>>,
    deployment_watch: Option<UnboundedSender<Value>>,
}

struct World {
    script: Script,
    setup: Setup,
    runner: ControllerRunner,
}

fn owned_by(kind: &str, version: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "name": "test-deployment", "namespace": "default", "uid": "d", "resourceVersion": version,
            "ownerReferences": [{"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": kind, "name": "test", "uid": "f", "controller": true}],
        },
    })
}

fn foo() -> Value {
    json!({
        "apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo",
        "metadata": {"name": "test", "namespace": "default", "uid": "f", "resourceVersion": "1"},
        "spec": {"deploymentName": "test-deployment", "replicas": 1},
    })
}

fn event(kind: &str, object: &Value) -> Value {
    json!({"type": kind, "object": object})
}

impl Script {
    fn answer(&self, request: &Request<Body>) -> Response<Answer> {
        let mut state = self.0.lock().unwrap();
        let foos = request.uri().path().ends_with("/foos");
        let query = request.uri().query().unwrap_or_default();
        if query.contains("sendInitialEvents=") {
            let mut refusal = Response::new(Full::from("no streaming lists").boxed_unsync());
            *refusal.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
            return refusal;
        }
        if query.contains("watch=") {
            let (sender, lines) = unbounded();
            *(if foos {
                &mut state.foo_watch
            } else {
                &mut state.deployment_watch
            }) = Some(sender);
            return Response::new(watch_body(lines));
        }
        let items = if foos {
            state.foos.clone()
        } else {
            state.deployments.clone()
        };
        let list = json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "100"}, "items": items});
        Response::new(Full::from(list.to_string()).boxed_unsync())
    }
}

fn watch_body(lines: UnboundedReceiver<Value>) -> Answer {
    use futures::StreamExt as _;
    let frames =
        lines.map(|line| Ok::<_, Infallible>(http_body::Frame::data((line.to_string() + "\n").into())));
    StreamBody::new(frames).boxed_unsync()
}

impl World {
    /// A Foo and its Deployment are there, and the Foo was reconciled.
    async fn settled() -> Self {
        let script = Script::default();
        {
            let mut state = script.0.lock().unwrap();
            state.foos = vec![foo()];
            state.deployments = vec![owned_by("Foo", "2")];
        }
        let answers = script.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let response = answers.answer(&request);
            async move { Ok::<_, Infallible>(response) }
        });
        let connection = Connection::new(kube::Client::new(service, "default"));
        let (recorder, _) = Recorder::pipeline("sample-controller");
        let mut setup = Setup::new("sample-controller", connection, recorder, FixedArgs::default());
        FooController::register(&mut setup);
        let controller = setup.take_controllers().pop().expect("registered");
        let runner = ControllerRunner::new(controller, Arc::new(NoMetrics)).expect("complete");
        setup.informers().start();
        setup.informers().wait_for_cache_sync().await;
        let mut world = Self {
            script,
            setup,
            runner,
        };
        world.wakes("what the first lists hold").await;
        world.sleeps("all was told").await;
        world
    }

    fn tell_deployment(&self, line: Value) {
        self.script
            .0
            .lock()
            .unwrap()
            .deployment_watch
            .as_ref()
            .expect("a watch")
            .unbounded_send(line)
            .expect("open");
    }

    fn tell_foo(&self, line: Value) {
        self.script
            .0
            .lock()
            .unwrap()
            .foo_watch
            .as_ref()
            .expect("a watch")
            .unbounded_send(line)
            .expect("open");
    }

    async fn wakes(&mut self, why: &str) {
        let key = tokio::time::timeout(Duration::from_mins(1), self.runner.queue().get());
        let key = key
            .await
            .unwrap_or_else(|_| panic!("nobody woke: {why}"))
            .expect("the queue is open");
        assert_eq!(key.to_string(), "default/test", "{why}");
        self.runner.queue().done(&key);
    }

    async fn sleeps(&mut self, why: &str) {
        let key = tokio::time::timeout(Duration::from_secs(5), self.runner.queue().get()).await;
        assert!(key.is_err(), "{key:?} woke: {why}");
    }
}

#[tokio::test(start_paused = true)]
async fn owned_deployments_wake_their_foo() {
    let mut world = World::settled().await;
    world.tell_deployment(event("MODIFIED", &owned_by("Foo", "3")));
    world.wakes("its Deployment changed").await;
    world.tell_deployment(event("MODIFIED", &owned_by("Foo", "3")));
    world.sleeps("an equal resource version is no change").await;
    world.tell_deployment(event("MODIFIED", &owned_by("Bar", "4")));
    world.wakes("it lost its Deployment").await;
    world.tell_deployment(event("MODIFIED", &owned_by("Bar", "5")));
    world.sleeps("the Deployment is another kind's").await;
    world.tell_deployment(event("MODIFIED", &owned_by("Foo", "6")));
    world.wakes("it got its Deployment back").await;
    world.tell_deployment(event("DELETED", &owned_by("Foo", "7")));
    world.wakes("its Deployment was deleted").await;
    world.setup.informers().shutdown().await;
}

/// The tombstone: the deletion happened while nobody watched.
#[tokio::test(start_paused = true)]
async fn missed_deletion_wakes_the_foo() {
    let mut world = World::settled().await;
    world.script.0.lock().unwrap().deployments.clear();
    let expired = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old"});
    world.tell_deployment(event("ERROR", &expired));
    world.wakes("the Deployment is not in the new list").await;
    world.setup.informers().shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn deleted_foo_wakes_nobody_and_its_deployment_neither() {
    let mut world = World::settled().await;
    world.tell_foo(event("DELETED", &foo()));
    world.sleeps("the garbage collector does what is left").await;
    world.tell_deployment(event("MODIFIED", &owned_by("Foo", "8")));
    world.sleeps("the owner is gone").await;
    world.setup.informers().shutdown().await;
}
