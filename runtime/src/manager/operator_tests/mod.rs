//! Runs a whole operator in process, against an in-memory API server that records a journal.

mod clock;
mod components;
mod errors;
mod order;
mod probes;
mod webhooks;

use std::{convert::Infallible, net::TcpListener as StdListener, pin::pin};

use bytes::Bytes;
use http::{Method, Request, Response, Uri};
use http_body_util::{BodyExt, Full, StreamBody};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Event};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Duration, sleep},
};

use super::*;
use crate::{
    Manager, NamespacedName,
    cache::list_watch::{Backoff, ReflectorOptions},
    client::Create,
    controller::{Action, ReconcileError, Reconciler},
    events::EventType,
};

/// An API server with Deployments and one Lease, and a journal of requests and test events.
#[derive(Default)]
struct TestApiServer {
    journal: Vec<String>,
    lease: Option<Value>,
    /// A ValidatingWebhookConfiguration.
    configuration: Option<Value>,
    version: u64,
    /// How many requests still fail with connection refused.
    unreachable: usize,
    /// Whether watches fail.
    has_broken_watches: bool,
    /// Number of Deployments besides `web`.
    more: usize,
}

type Shared = Arc<Mutex<TestApiServer>>;

fn journal(server: &Shared) -> Vec<String> {
    server.lock().journal.clone()
}

fn record(server: &Shared, entry: impl Into<String>) {
    server.lock().journal.push(entry.into());
}

impl TestApiServer {
    fn put_lease(&mut self, spec: &Value) -> Value {
        self.version += 1;
        let metadata =
            json!({"name": "shop", "namespace": "default", "resourceVersion": self.version.to_string()});
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec});
        self.lease = Some(lease.clone());
        lease
    }

    fn answer(&mut self, method: &Method, uri: &Uri, body: &Value) -> (u16, Value) {
        let path = uri.path();
        match (
            method,
            path.rsplit('/').find(|part| !part.is_empty()).unwrap_or_default(),
        ) {
            (_, "version") => {
                self.journal.push("version".into());
                (200, json!({}))
            }
            (_, "deployments") => {
                let mut parameters = uri.query().unwrap_or_default().split('&');
                let is_one = parameters.any(|parameter| parameter == "limit=1");
                self.journal.push(if is_one { "quorum" } else { "list" }.into());
                let web = json!({"metadata": {"name": "web", "namespace": "default", "uid": "u", "resourceVersion": "7"}});
                let mut items = vec![web; self.more + 1];
                for (number, item) in items.iter_mut().enumerate().skip(1) {
                    item["metadata"]["name"] = format!("web-{number}").into();
                    item["metadata"]["uid"] = format!("u-{number}").into();
                }
                let list = json!({"kind": "DeploymentList", "apiVersion": "apps/v1", "metadata": {"resourceVersion": "9"}, "items": items});
                (200, list)
            }
            (&Method::POST, "events") => {
                self.journal.push("event".into());
                (201, body.clone())
            }
            (&Method::PATCH, _) if path.contains("webhookconfigurations") => {
                self.journal.push(format!("patch {body}"));
                (200, json!({}))
            }
            (&Method::GET, _) if path.contains("webhookconfigurations") => match &self.configuration {
                Some(configuration) => (200, configuration.clone()),
                None => (404, failure(404, "NotFound")),
            },
            (&Method::GET, _) => match &self.lease {
                Some(lease) => (200, lease.clone()),
                None => (404, failure(404, "NotFound")),
            },
            (&Method::PUT, _)
                if self.lease.as_ref().is_none_or(|lease| {
                    lease["metadata"]["resourceVersion"] != body["metadata"]["resourceVersion"]
                }) =>
            {
                (409, failure(409, "Conflict"))
            }
            (&Method::POST | &Method::PUT, _) => {
                let released = body["spec"]["holderIdentity"] == "";
                if released || self.lease.is_none() {
                    self.journal
                        .push(if released { "release" } else { "acquire" }.into());
                }
                (200, self.put_lease(&body["spec"]))
            }
            _ => panic!("unexpected request {method} {uri}"),
        }
    }

    fn connect(server: &Shared) -> kube::Client {
        let server = server.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move {
                let (parts, body) = request.into_parts();
                let asks_for = |what| parts.uri.query().is_some_and(|query| query.contains(what));
                if asks_for("sendInitialEvents=") {
                    let refusal = serde_json::to_vec(&failure(422, "Invalid"))?;
                    return Ok(Response::builder()
                        .status(422)
                        .body(Full::from(refusal).boxed_unsync())?);
                }
                if asks_for("watch=") && server.lock().has_broken_watches {
                    let failure = serde_json::to_vec(&failure(500, "InternalError"))?;
                    return Ok(Response::builder()
                        .status(500)
                        .body(Full::from(failure).boxed_unsync())?);
                }
                if asks_for("watch=") {
                    let silence = futures::stream::pending::<Result<http_body::Frame<Bytes>, Infallible>>();
                    return Ok(Response::new(StreamBody::new(silence).boxed_unsync()));
                }
                let body = serde_json::from_slice(&body.collect().await?.to_bytes()).unwrap_or_default();
                let mut server = server.lock();
                if server.unreachable > 0 {
                    server.unreachable -= 1;
                    return Err(tower::BoxError::from("connection refused"));
                }
                let (code, answer) = server.answer(&parts.method, &parts.uri, &body);
                Ok(Response::builder()
                    .status(code)
                    .body(Full::from(serde_json::to_vec(&answer)?).boxed_unsync())?)
            }
        });
        kube::Client::new(service, "default")
    }
}

fn failure(code: u16, reason: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": reason, "reason": reason, "code": code})
}

/// Records its calls. Each call takes `duration`.
struct Web {
    server: Shared,
    duration: Duration,
    deployments: crate::cache::Lister<Deployment>,
    events: Recorder,
}

struct Cancelled(Shared);

impl Drop for Cancelled {
    fn drop(&mut self) {
        record(&self.0, "cancelled");
    }
}

impl Reconciler for Web {
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let deployment = self.deployments.get(key)?;
        record(&self.server, format!("reconcile {key}"));
        let guard = Cancelled(self.server.clone());
        sleep(self.duration).await;
        std::mem::forget(guard);
        self.events.event(&*deployment, EventType::Normal, "Seen", "seen");
        record(&self.server, "reconciled");
        Ok(Action::await_change())
    }
}

/// Returns an operator with a controller of Deployments. Each reconcile takes `duration`.
fn operator(server: &Shared, args: &str, duration: Duration, stop: &CancellationToken) -> Manager {
    let (client, server) = (TestApiServer::connect(server), server.clone());
    let args = ["--metrics-bind-address=0"]
        .into_iter()
        .chain(args.split_whitespace());
    Manager::new("shop")
        .with_args(args)
        .with_client(client)
        .stop_on(stop)
        .register(move |setup| {
            let deployments = setup.informers().of::<Deployment>();
            let reconciler = Web {
                server,
                duration,
                deployments: deployments.lister(),
                events: setup.recorder(),
            };
            setup.controller("web", reconciler).reconciles(&deployments);
        })
}

/// Runs a manager; calls `then` when the journal has `entry`. Returns the manager's result.
async fn run_until(
    server: &Shared,
    manager: Manager,
    entry: &str,
    then: impl AsyncFnOnce(),
) -> Result<(), Error> {
    let mut running = pin!(manager.run());
    let reached = async {
        while !journal(server).iter().any(|found| found == entry) {
            sleep(Duration::from_millis(5)).await;
        }
        then().await;
    };
    tokio::select! {
        ended = &mut running => return ended,
        () = reached => {}
    }
    running.await
}

async fn probe(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    Some(answer)
}

fn free_port() -> u16 {
    StdListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}
