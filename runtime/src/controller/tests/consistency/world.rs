//! A controller of ConfigMaps against a scripted API server that accepts writes.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures::future::BoxFuture;
use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{task::JoinHandle, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{
    super::{super::*, Calls, Scripted, millis},
    support::{self, server::Server},
};
use crate::{
    NamespacedName, WithStatus,
    cache::{Lister, SharedInformer, SharedInformerFactory},
    client::{Apply, Connection, Create, Delete, Patch, PatchStatus, TypedClient, Update},
    workqueue::{ItemExponential, QueueMetrics, WorkQueue},
};

/// Executes writes on the scripted server.
#[derive(Clone)]
pub(super) struct Api {
    server: Arc<Server>,
    uncovered: Arc<Mutex<Uncovered>>,
    quirks: Arc<Mutex<Quirks>>,
}

/// Objects of kinds that no informer lists, by path.
#[derive(Default)]
pub(super) struct Uncovered {
    objects: BTreeMap<String, Value>,
    writes: u64,
}

impl Uncovered {
    /// Versions that no informer reaches.
    const FIRST_VERSION: u64 = 1_000_000_000_000;

    fn answer(&mut self, method: &Method, path: &str, body: &Value) -> (u16, Value) {
        let path = match (method, body["metadata"]["name"].as_str()) {
            (&Method::POST, Some(name)) => format!("{path}/{name}"),
            _ => path.to_owned(),
        };
        let old = self.objects.get(&path).cloned();
        let mut new = match (method, &old) {
            (_, None) if method != Method::POST && method != Method::PATCH => {
                return refusal(404, "NotFound");
            }
            (&Method::GET, Some(old)) => return (200, old.clone()),
            (&Method::POST, Some(_)) => return refusal(409, "AlreadyExists"),
            (&Method::DELETE, Some(old)) => {
                let details = json!({"uid": old["metadata"]["uid"]});
                self.objects.remove(&path);
                return (
                    200,
                    json!({"kind": "Status", "status": "Success", "details": details}),
                );
            }
            _ => old.clone().unwrap_or_else(|| json!({"metadata": {}})),
        };
        merge(&mut new, body);
        if let Some(old) = old
            && significant(&old) == significant(&new)
        {
            return (200, old);
        }
        self.writes += 1;
        new["metadata"]["resourceVersion"] = (Self::FIRST_VERSION + self.writes).to_string().into();
        if new["metadata"]["uid"].is_null() {
            new["metadata"]["uid"] = format!("uncovered-{}", self.writes).into();
        }
        self.objects.insert(path, new.clone());
        (200, new)
    }
}

/// Faults of the API server.
#[derive(Default, Clone)]
pub(super) struct Quirks {
    /// The delay of answers after the write.
    pub(super) delay: Duration,
    /// The next write is executed, and its answer is lost.
    pub(super) lose_next: bool,
    /// Watches do not deliver writes.
    pub(super) unseen: bool,
    /// A prefix of the resource versions in answers.
    pub(super) prefix: &'static str,
}

impl Api {
    fn answer(&self, method: &Method, path: &str, body: &Value) -> (u16, Value) {
        let mut parts = path.trim_start_matches("/api/v1/namespaces/").split('/');
        let namespace = parts.next().unwrap();
        if parts.next() != Some("configmaps") {
            return self.uncovered.lock().answer(method, path, body);
        }
        let name = parts
            .next()
            .or(body["metadata"]["name"].as_str())
            .map(str::to_owned);
        let generated = || {
            let prefix = body["metadata"]["generateName"].as_str().unwrap();
            let names = (0..).map(|number| format!("{prefix}{number}"));
            names
                .into_iter()
                .find(|name| self.server.get(namespace, name).is_none())
                .unwrap()
        };
        let name = name.unwrap_or_else(generated);
        let old = self.server.get(namespace, &name);
        let mut new = match (method, &old) {
            (&Method::POST, Some(_)) => return refusal(409, "AlreadyExists"),
            (&Method::POST, None) => body.clone(),
            (_, None) => return refusal(404, "NotFound"),
            (&Method::PUT, Some(old)) => {
                let version = &body["metadata"]["resourceVersion"];
                if !version.is_null() && *version != old["metadata"]["resourceVersion"] {
                    return refusal(409, "Conflict");
                }
                body.clone()
            }
            (&Method::DELETE, Some(old)) if old["metadata"]["finalizers"].is_array() => {
                let mut new = old.clone();
                new["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
                new
            }
            (&Method::DELETE, Some(old)) => {
                self.delete(namespace, &name);
                let details = json!({"name": name, "kind": "configmaps", "uid": old["metadata"]["uid"]});
                return (
                    200,
                    json!({"kind": "Status", "status": "Success", "details": details}),
                );
            }
            (_, Some(old)) => {
                let mut new = old.clone();
                if parts.next() == Some("status") {
                    merge(&mut new["status"], &body["status"]);
                } else {
                    merge(&mut new, body);
                    new["status"] = old["status"].clone();
                }
                new
            }
        };
        new["metadata"]["namespace"] = namespace.into();
        new["metadata"]["name"] = name.clone().into();
        if let Some(old) = old
            && significant(&old) == significant(&new)
        {
            return (200, old);
        }
        let is_removed = new["metadata"]["deletionTimestamp"].is_string()
            && new["metadata"]["finalizers"].as_array().is_none_or(Vec::is_empty);
        if is_removed {
            self.delete(namespace, &name);
            return (200, new);
        }
        if self.quirks.lock().unseen {
            self.server.put_unseen(&new);
        } else {
            self.server.put(&new);
        }
        let mut written = self.server.get(namespace, &name).unwrap();
        let prefix = self.quirks.lock().prefix;
        let version = written["metadata"]["resourceVersion"].as_str().unwrap();
        written["metadata"]["resourceVersion"] = format!("{prefix}{version}").into();
        (200, written)
    }

    fn delete(&self, namespace: &str, name: &str) {
        if self.quirks.lock().unseen {
            self.server.delete_unseen(namespace, name);
        } else {
            self.server.delete(namespace, name);
        }
    }
}

fn refusal(code: u16, reason: &str) -> (u16, Value) {
    let details = json!({"name": "a", "kind": "configmaps"});
    (
        code,
        json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": "scripted", "details": details}),
    )
}

fn significant(object: &Value) -> (Value, Value, Value) {
    let mut metadata = object["metadata"].clone();
    let fields = metadata.as_object_mut().unwrap();
    for field in ["resourceVersion", "managedFields", "uid"] {
        fields.remove(field);
    }
    (metadata, object["data"].clone(), object["status"].clone())
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                if value.is_null() {
                    into.remove(key);
                } else {
                    merge(into.entry(key).or_insert(Value::Null), value);
                }
            }
        }
        (into, from) => *into = from.clone(),
    }
}

/// The metrics of the controller.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) waits: AtomicU64,
    pub(super) overdue: AtomicU64,
    pub(super) own_events: AtomicU64,
    pub(super) follow_ups: AtomicU64,
    pub(super) delayed_follow_ups: AtomicU64,
}

impl QueueMetrics for Counts {}
impl ControllerMetrics for Counts {
    fn write_wait_started(&self) {
        self.waits.fetch_add(1, Ordering::Relaxed);
    }
    fn write_wait_timed_out(&self) {
        self.overdue.fetch_add(1, Ordering::Relaxed);
    }
    fn own_event_ignored(&self) {
        self.own_events.fetch_add(1, Ordering::Relaxed);
    }
    fn follow_up_scheduled(&self) {
        self.follow_ups.fetch_add(1, Ordering::Relaxed);
    }
    fn follow_up_delayed(&self) {
        self.delayed_follow_ups.fetch_add(1, Ordering::Relaxed);
    }
}

/// The scripted server serves a status subresource.
impl WithStatus for ConfigMap {}

pub(super) type Client = TypedClient<ConfigMap, (Create, Update, Patch, Apply, Delete, PatchStatus)>;

/// A server, an informer of its ConfigMaps, and a client that writes them.
pub(super) struct World {
    pub(super) server: Arc<Server>,
    pub(super) quirks: Arc<Mutex<Quirks>>,
    pub(super) uncovered: Arc<Mutex<Uncovered>>,
    pub(super) factory: SharedInformerFactory,
    pub(super) informer: SharedInformer<ConfigMap>,
    pub(super) connection: Connection,
    pub(super) client: Client,
}

/// A running controller of a world.
pub(super) struct Controller {
    pub(super) queue: Arc<WorkQueue>,
    pub(super) calls: Calls,
    pub(super) counts: Arc<Counts>,
    stop: CancellationToken,
    run: JoinHandle<Drained>,
}

impl World {
    /// Makes a server with these ConfigMaps; the informer is not started.
    pub(super) fn new(names: &[&str]) -> Self {
        let server = Server::new();
        for name in names {
            server.put(&support::config_map(name, "0"));
        }
        let quirks = Arc::<Mutex<Quirks>>::default();
        let uncovered = Arc::<Mutex<Uncovered>>::default();
        let api = Api {
            server: server.clone(),
            uncovered: uncovered.clone(),
            quirks: quirks.clone(),
        };
        let service = tower::service_fn(move |request: Request<Body>| {
            let api = api.clone();
            async move {
                let (parts, body) = request.into_parts();
                let body = body.collect().await?.to_bytes();
                let body = serde_json::from_slice(&body).unwrap_or_default();
                let answer = api.answer(&parts.method, parts.uri.path(), &body);
                let (is_lost, delay) = {
                    let mut quirks = api.quirks.lock();
                    (std::mem::take(&mut quirks.lose_next), quirks.delay)
                };
                sleep(delay).await;
                if is_lost {
                    return Err("the answer is lost".into());
                }
                let (code, body) = answer;
                let response = Response::builder().status(code);
                Ok::<_, tower::BoxError>(response.body(Body::from(body.to_string().into_bytes()))?)
            }
        });
        let factory = server.factory();
        let connection = Connection::new(kube::Client::new(service, "default"));
        Self {
            informer: factory.of(),
            client: TypedClient::new(connection.clone()),
            connection,
            server,
            quirks,
            uncovered,
            factory,
        }
    }

    /// The object of a kind without informer, by its path.
    pub(super) fn uncovered(&self, path: &str) -> Option<Value> {
        self.uncovered.lock().objects.get(path).cloned()
    }

    pub(super) fn lister(&self) -> Lister<ConfigMap> {
        self.informer.lister()
    }

    /// Runs a controller of the ConfigMaps, and waits until the initial list is reconciled.
    pub(super) async fn run<F>(&self, register: impl FnOnce(&mut ControllerBuilder), script: F) -> Controller
    where
        F: Fn(String, usize) -> BoxFuture<'static, Result<Action, ReconcileError>> + Send + Sync + 'static,
    {
        let calls = Calls::new();
        let scripted = Scripted {
            calls: calls.clone(),
            script,
        };
        let mut builder = ControllerBuilder::new("test".to_owned(), scripted);
        builder.informers = Some(self.factory.clone());
        builder
            .reconciles(&self.informer)
            .rate_limiter(ItemExponential::new(millis(5), Duration::from_secs(1000)));
        register(&mut builder);
        let counts = Arc::new(Counts::default());
        let runner = ControllerRunner::new(builder, counts.clone()).unwrap();
        let (queue, stop) = (runner.queue().clone(), CancellationToken::new());
        self.factory.start();
        self.factory.wait_for_cache_sync().await;
        let run = tokio::spawn(runner.run(stop.clone(), millis(0)));
        sleep(millis(1)).await;
        Controller {
            queue,
            calls,
            counts,
            stop,
            run,
        }
    }

    /// Writes a foreign change.
    pub(super) fn foreign(&self, name: &str, datum: &str) {
        self.server.put(&support::config_map(name, datum));
    }

    /// The datum on the server.
    pub(super) fn datum(&self, name: &str) -> String {
        self.server.contents()[name].clone()
    }
}

impl Controller {
    /// The number of the key's reconciles.
    pub(super) fn count(&self, name: &str) -> usize {
        self.calls.of(&format!("default/{name}")).len()
    }

    pub(super) fn add(&self, name: &str) {
        self.queue.add(support::name(name));
    }

    pub(super) async fn stop(self) {
        self.stop.cancel();
        self.run.await.unwrap();
    }
}

/// Returns the ConfigMap's datum in the cache.
pub(super) fn cached(lister: &Lister<ConfigMap>, key: &str) -> Option<String> {
    let name: NamespacedName = key.parse().unwrap();
    Some(support::entry(&*lister.get(&name).ok()?).1)
}

/// Returns a merge patch of the datum.
pub(super) fn datum(datum: &str) -> crate::client::PatchBody<Value> {
    crate::client::PatchBody::Merge(json!({"data": {"datum": datum}}))
}
