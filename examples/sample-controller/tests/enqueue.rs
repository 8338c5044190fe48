//! Which changes enqueue a Foo: upstream's event handlers, which upstream does not test.

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
    controller::Setup,
    events::Recorder,
    unstable::{ControllerRunner, FixedArgs, NoMetrics},
};
use sample_controller::controller::FooController;
use serde_json::{Value, json};

/// Body of a response.
type ResponseBody = UnsyncBoxBody<bytes::Bytes, Infallible>;

/// A scripted API server: lists return the state's objects, watches stream the events that a test sends.
#[derive(Clone, Default)]
struct ScriptedServer(Arc<Mutex<ServerState>>);

#[derive(Default)]
struct ServerState {
    foos: Vec<Value>,
    deployments: Vec<Value>,
    foo_watch: Option<UnboundedSender<Value>>,
    deployment_watch: Option<UnboundedSender<Value>>,
}

struct TestEnvironment {
    server: ScriptedServer,
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

impl ScriptedServer {
    fn respond(&self, request: &Request<Body>) -> Response<ResponseBody> {
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

fn watch_body(lines: UnboundedReceiver<Value>) -> ResponseBody {
    use futures::StreamExt as _;
    let frames =
        lines.map(|line| Ok::<_, Infallible>(http_body::Frame::data((line.to_string() + "\n").into())));
    StreamBody::new(frames).boxed_unsync()
}

impl TestEnvironment {
    /// Starts a controller with a Foo and its Deployment in the cache and an empty queue.
    async fn start() -> Self {
        let server = ScriptedServer::default();
        {
            let mut state = server.0.lock().unwrap();
            state.foos = vec![foo()];
            state.deployments = vec![owned_by("Foo", "2")];
        }
        let responder = server.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let response = responder.respond(&request);
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
        let mut test = Self {
            server,
            setup,
            runner,
        };
        test.expect_enqueued("the initial list").await;
        test.expect_not_enqueued("no further changes").await;
        test
    }

    fn send_deployment(&self, line: Value) {
        self.server
            .0
            .lock()
            .unwrap()
            .deployment_watch
            .as_ref()
            .expect("a watch")
            .unbounded_send(line)
            .expect("open");
    }

    fn send_foo(&self, line: Value) {
        self.server
            .0
            .lock()
            .unwrap()
            .foo_watch
            .as_ref()
            .expect("a watch")
            .unbounded_send(line)
            .expect("open");
    }

    async fn expect_enqueued(&mut self, reason: &str) {
        let key = tokio::time::timeout(Duration::from_mins(1), self.runner.queue().get());
        let key = key
            .await
            .unwrap_or_else(|_| panic!("not enqueued: {reason}"))
            .expect("the queue is open");
        assert_eq!(key.to_string(), "default/test", "{reason}");
        self.runner.queue().done(&key);
    }

    async fn expect_not_enqueued(&mut self, reason: &str) {
        let key = tokio::time::timeout(Duration::from_secs(5), self.runner.queue().get()).await;
        assert!(key.is_err(), "{key:?} was enqueued: {reason}");
    }
}

#[tokio::test(start_paused = true)]
async fn owned_deployments_enqueue_their_foo() {
    let mut test = TestEnvironment::start().await;
    test.send_deployment(event("MODIFIED", &owned_by("Foo", "3")));
    test.expect_enqueued("its Deployment changed").await;
    test.send_deployment(event("MODIFIED", &owned_by("Foo", "3")));
    test.expect_not_enqueued("the resource version is unchanged")
        .await;
    test.send_deployment(event("MODIFIED", &owned_by("Bar", "4")));
    test.expect_enqueued("the Deployment was released").await;
    test.send_deployment(event("MODIFIED", &owned_by("Bar", "5")));
    test.expect_not_enqueued("the owner is of another kind").await;
    test.send_deployment(event("MODIFIED", &owned_by("Foo", "6")));
    test.expect_enqueued("the Deployment was adopted again").await;
    test.send_deployment(event("DELETED", &owned_by("Foo", "7")));
    test.expect_enqueued("its Deployment was deleted").await;
    test.setup.informers().shutdown().await;
}

/// A tombstone (`DeletedFinalStateUnknown`): the deletion happened without a watch.
#[tokio::test(start_paused = true)]
async fn missed_deletion_enqueues_the_foo() {
    let mut test = TestEnvironment::start().await;
    test.server.0.lock().unwrap().deployments.clear();
    let expired = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old"});
    test.send_deployment(event("ERROR", &expired));
    test.expect_enqueued("the Deployment is not in the new list")
        .await;
    test.setup.informers().shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn deleted_foo_and_its_deployment_enqueue_nothing() {
    let mut test = TestEnvironment::start().await;
    test.send_foo(event("DELETED", &foo()));
    test.expect_not_enqueued("the garbage collector deletes the Deployment")
        .await;
    test.send_deployment(event("MODIFIED", &owned_by("Foo", "8")));
    test.expect_not_enqueued("the owner does not exist").await;
    test.setup.informers().shutdown().await;
}
