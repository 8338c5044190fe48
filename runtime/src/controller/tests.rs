//! Controllers from the change to the call and back, on a paused clock.

use std::{
    collections::BTreeSet,
    panic::panic_any,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use bytes::Bytes;
use futures::{FutureExt, StreamExt, future::BoxFuture, stream};
use k8s_openapi::api::{
    apps::v1::{Deployment, ReplicaSet},
    core::v1::{ConfigMap, Node},
    rbac::v1::PolicyRule,
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{
    sync::mpsc,
    task::JoinHandle,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use super::{owners::owner_keys, *};
use crate::{
    Kind, ObjectName,
    cache::{
        Change, Chunks, ListOptions, Lister, ListerWatcher, Object, SharedInformer, SharedInformerFactory,
        SourceError, WatchOptions,
    },
    client::{All, Connection, Create, Get, Patch, UpdateStatus},
    events::Recorder,
    workqueue::{ItemExponential, QueueMetrics, WorkQueue},
};

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn name(name: &str) -> ObjectName {
    name.parse().unwrap()
}

/// Reconciles as a test says, and remembers when it was called for what.
struct Scripted<F> {
    calls: Calls,
    script: F,
}

#[derive(Clone)]
struct Calls(Arc<Mutex<Vec<(String, u64)>>>, Instant);

impl Calls {
    fn new() -> Self {
        Self(Arc::default(), Instant::now())
    }

    fn record(&self, key: &ObjectName) -> usize {
        let mut calls = self.0.lock();
        let at = u64::try_from(self.1.elapsed().as_millis()).unwrap();
        calls.push((key.to_string(), at));
        calls
            .iter()
            .filter(|(called, _)| *called == key.to_string())
            .count()
    }

    /// When the key was reconciled.
    fn of(&self, key: &str) -> Vec<u64> {
        self.0
            .lock()
            .iter()
            .filter(|(called, _)| called == key)
            .map(|(_, at)| *at)
            .collect()
    }
}

impl<F> Reconciler for Scripted<F>
where
    F: Fn(String, usize) -> BoxFuture<'static, Result<Action, ReconcileError>> + Send + Sync + 'static,
{
    async fn reconcile(&self, key: &ObjectName) -> Result<Action, ReconcileError> {
        let call = self.calls.record(key);
        (self.script)(key.to_string(), call).await
    }
}

/// Outcomes in their order; running reconciles that were cancelled count as none.
#[derive(Default)]
struct Outcomes(Mutex<Vec<Option<Outcome>>>, std::sync::atomic::AtomicI64);

impl QueueMetrics for Outcomes {}
impl ControllerMetrics for Outcomes {
    fn started(&self) {
        self.1.fetch_add(1, Ordering::Relaxed);
    }
    fn finished(&self, outcome: Option<Outcome>, _took: Duration) {
        self.1.fetch_sub(1, Ordering::Relaxed);
        self.0.lock().push(outcome);
    }
}

fn factory() -> SharedInformerFactory {
    SharedInformerFactory::new(Connection::late().0)
}

fn seeded(objects: &[Value]) -> SharedInformer<Deployment> {
    let informer = factory().of::<Deployment>();
    for object in objects {
        informer.seed(object).unwrap();
    }
    informer
}

fn deployment(name: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment",
           "metadata": {"name": name, "namespace": "default", "uid": "1", "resourceVersion": "1"}})
}

/// A controller that runs, whose queue the test feeds.
struct Running {
    queue: Arc<WorkQueue>,
    calls: Calls,
    outcomes: Arc<Outcomes>,
    stop: CancellationToken,
    run: JoinHandle<Drained>,
}

fn start<F>(workers: usize, grace: Duration, script: F) -> Running
where
    F: Fn(String, usize) -> BoxFuture<'static, Result<Action, ReconcileError>> + Send + Sync + 'static,
{
    let calls = Calls::new();
    let mut spec = ControllerSpec::new(
        "test".to_owned(),
        Scripted {
            calls: calls.clone(),
            script,
        },
    );
    spec.reconciles(&seeded(&[deployment("seeded")]))
        .workers(workers)
        .rate_limiter(ItemExponential::new(millis(5), Duration::from_secs(1000)));
    let outcomes = Arc::new(Outcomes::default());
    let runner = ControllerRunner::new(spec, outcomes.clone()).unwrap();
    let (queue, stop) = (runner.queue().clone(), CancellationToken::new());
    let run = tokio::spawn(runner.run(stop.clone(), grace));
    Running {
        queue,
        calls,
        outcomes,
        stop,
        run,
    }
}

impl Running {
    fn add(&self, key: &str) {
        self.queue.add(name(key));
    }

    async fn stop(self) -> Drained {
        self.stop.cancel();
        self.run.await.unwrap()
    }

    fn outcomes(&self) -> Vec<Option<Outcome>> {
        self.outcomes.0.lock().clone()
    }
}

#[tokio::test(start_paused = true)]
async fn errors_are_retried_with_growing_delays_until_a_success() {
    let running = start(1, millis(0), |_, call| {
        async move {
            if call < 5 {
                Err(ReconcileError::new("not yet"))
            } else {
                Ok(Action::done())
            }
        }
        .boxed()
    });
    running.add("default/a");
    sleep(millis(200)).await;
    assert_eq!(running.calls.of("default/a"), [0, 5, 15, 35, 75]);
    assert_eq!(
        running.queue.num_requeues(&name("default/a")),
        0,
        "success forgets the failures"
    );
    let error = Some(Outcome::Error);
    assert_eq!(
        running.outcomes(),
        [error, error, error, error, Some(Outcome::Success)]
    );
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_an_error_of_its_key_alone() {
    let running = start(1, millis(0), |key, call| {
        // The first panics while it makes the future, the second in it, the third with what is no text.
        assert!(key != "default/bad" || call > 1, "no future for {key}");
        async move {
            match (&*key, call) {
                ("default/bad", 2) => panic!("in the future"),
                ("default/bad", 3) => panic_any(7),
                _ => Ok(Action::done()),
            }
        }
        .boxed()
    });
    for key in ["default/bad", "default/good"] {
        running.add(key);
    }
    sleep(millis(100)).await;
    assert_eq!(running.calls.of("default/bad"), [0, 5, 15, 35]);
    assert_eq!(running.calls.of("default/good"), [0], "its one worker goes on");
    let panics = running
        .outcomes()
        .iter()
        .filter(|outcome| **outcome == Some(Outcome::Panic))
        .count();
    assert_eq!(panics, 3);
    assert_eq!(running.stop().await, Drained::default());
}

#[tokio::test(start_paused = true)]
async fn terminal_errors_wait_for_a_change() {
    let running = start(1, millis(0), |_, _| {
        async { Err(ReconcileError::new("no such size").terminal()) }.boxed()
    });
    running.add("default/a");
    sleep(Duration::from_hours(1)).await;
    assert_eq!(running.calls.of("default/a"), [0]);
    running.add("default/a");
    sleep(millis(1)).await;
    assert_eq!(running.calls.of("default/a").len(), 2);
    assert_eq!(running.outcomes(), [Some(Outcome::TerminalError); 2]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn after_and_again_come_back() {
    let running = start(1, millis(0), |key, call| {
        async move {
            Ok(match (&*key, call) {
                ("default/later", 1) => Action::after(millis(300)),
                ("default/again", 1..=3) => Action::again(),
                _ => Action::done(),
            })
        }
        .boxed()
    });
    running.add("default/later");
    running.add("default/again");
    sleep(Duration::from_secs(1)).await;
    assert_eq!(running.calls.of("default/later"), [0, 300]);
    assert_eq!(
        running.calls.of("default/again"),
        [0, 5, 15, 35],
        "each in a row waits longer"
    );
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_change_comes_before_the_time_of_after() {
    let running = start(1, millis(0), |_, call| {
        async move {
            Ok(if call == 1 {
                Action::after(millis(300))
            } else {
                Action::done()
            })
        }
        .boxed()
    });
    running.add("default/a");
    sleep(millis(100)).await;
    running.add("default/a");
    sleep(Duration::from_secs(1)).await;
    assert_eq!(running.calls.of("default/a"), [0, 100, 300]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn workers_share_the_keys_and_never_one_key() {
    let running = start(2, millis(0), |_, _| {
        async {
            sleep(millis(10)).await;
            Ok(Action::done())
        }
        .boxed()
    });
    for key in ["default/a", "default/b", "default/c"] {
        running.add(key);
    }
    sleep(millis(5)).await;
    running.add("default/a");
    assert_eq!(running.outcomes.1.load(Ordering::Relaxed), 2, "two at once");
    sleep(millis(50)).await;
    assert_eq!(
        running.calls.of("default/a"),
        [0, 10],
        "once more after its own call, not beside it"
    );
    assert_eq!(running.calls.of("default/b"), [0]);
    assert_eq!(running.calls.of("default/c"), [10]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_stop_lets_reconciles_end_and_starts_none() {
    let running = start(1, millis(100), |_, _| {
        async {
            sleep(millis(50)).await;
            Ok(Action::again())
        }
        .boxed()
    });
    running.add("default/a");
    running.add("default/waits");
    sleep(millis(10)).await;
    let (calls, outcomes) = (running.calls.clone(), running.outcomes.clone());
    assert_eq!(running.stop().await, Drained::default());
    assert_eq!(calls.1.elapsed(), millis(50));
    assert_eq!(outcomes.0.lock().as_slice(), [Some(Outcome::Requeue)]);
    assert!(calls.of("default/waits").is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_outlasts_the_grace_period_is_cancelled() {
    let running = start(2, millis(100), |key, _| {
        async move {
            sleep(if key == "default/slow" {
                Duration::from_hours(1)
            } else {
                millis(60)
            })
            .await;
            Ok(Action::done())
        }
        .boxed()
    });
    running.add("default/slow");
    running.add("default/quick");
    sleep(millis(10)).await;
    let (calls, outcomes) = (running.calls.clone(), running.outcomes.clone());
    let cancelled = vec![name("default/slow")];
    assert_eq!(running.stop().await, Drained { cancelled });
    assert_eq!(calls.1.elapsed(), millis(110));
    assert_eq!(outcomes.0.lock().as_slice(), [Some(Outcome::Success), None]);
    assert_eq!(outcomes.1.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn workers_begin_when_the_informers_are_synced() {
    let calls = Calls::new();
    let script = |_: String, _: usize| async { Ok(Action::done()) }.boxed();
    let mut spec = ControllerSpec::new(
        "test".to_owned(),
        Scripted {
            calls: calls.clone(),
            script,
        },
    );
    let (deployments, owned) = (seeded(&[deployment("a")]), factory().of::<ReplicaSet>());
    spec.reconciles(&deployments).owns(&owned);
    let runner = ControllerRunner::new(spec, Arc::new(NoMetrics)).unwrap();
    assert_eq!(
        runner.not_synced().map(|kind| &*kind.kind).collect::<Vec<_>>(),
        ["ReplicaSet"]
    );
    runner.queue().add(name("default/a"));
    let stop = CancellationToken::new();
    let run = tokio::spawn(runner.run(stop.clone(), millis(0)));
    sleep(millis(500)).await;
    assert!(calls.of("default/a").is_empty());
    owned.seed(&json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "r", "namespace": "default",
        "uid": "2", "resourceVersion": "2"}})).unwrap();
    sleep(millis(500)).await;
    assert_eq!(calls.of("default/a"), [500]);
    stop.cancel();
    assert_eq!(run.await.unwrap(), Drained::default());
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_never_syncs_stops_too() {
    let mut spec = ControllerSpec::new("test".to_owned(), Nothing);
    spec.reconciles(&factory().of::<Deployment>());
    let runner = ControllerRunner::new(spec, Arc::new(NoMetrics)).unwrap();
    let stop = CancellationToken::new();
    let run = tokio::spawn(runner.run(stop.clone(), millis(0)));
    sleep(millis(10)).await;
    stop.cancel();
    assert_eq!(run.await.unwrap(), Drained::default());
}

/// An object that is no Deployment is not retried: only a change of it helps.
#[tokio::test(start_paused = true)]
async fn an_object_that_does_not_decode_waits_for_a_change() {
    struct Reads(Lister<Deployment>);
    impl Reconciler for Reads {
        async fn reconcile(&self, key: &ObjectName) -> Result<Action, ReconcileError> {
            self.0.get(key)?;
            Ok(Action::done())
        }
    }
    let mut bad = deployment("bad");
    bad["spec"] = json!({"replicas": "three"});
    let informer = seeded(&[bad]);
    let reads = Reads(informer.lister());
    let text = reads
        .reconcile(&name("default/bad"))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("Deployment default/bad") && text.contains("does not decode"),
        "{text}"
    );

    let mut spec = ControllerSpec::new("test".to_owned(), reads);
    spec.reconciles(&informer);
    let outcomes = Arc::new(Outcomes::default());
    let runner = ControllerRunner::new(spec, outcomes.clone()).unwrap();
    for key in ["default/bad", "default/gone"] {
        runner.queue().add(name(key));
    }
    let stop = CancellationToken::new();
    let run = tokio::spawn(runner.run(stop.clone(), millis(0)));
    sleep(millis(1)).await;
    assert_eq!(
        outcomes.0.lock().as_slice(),
        [Some(Outcome::TerminalError), Some(Outcome::Error)],
        "what is not found is an error like any other"
    );
    stop.cancel();
    run.await.unwrap();
}

/// Collects what is logged on this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn failures_are_logged_with_their_key_cause_and_delay() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .without_time()
        .with_writer(move || writer.clone())
        .finish();
    // While there is only one subscriber, tracing asks that of the thread that comes first to a callsite, which may be another test's: none.
    let _second = tracing::Dispatch::new(tracing_subscriber::fmt().with_writer(std::io::sink).finish());
    let _guard = tracing::subscriber::set_default(subscriber);
    let running = start(1, millis(0), |_, call| {
        async move {
            match call {
                1 => Err(ReconcileError::new("disk full")),
                2 => panic!("slot {} is taken", 7),
                _ => Err(ReconcileError::new("no such size").terminal()),
            }
        }
        .boxed()
    });
    running.add("default/a");
    sleep(millis(100)).await;
    running.stop().await;
    let log = String::from_utf8(log.0.lock().clone()).unwrap();
    let errors: Vec<_> = log.lines().filter(|line| line.contains("ERROR")).collect();
    assert_eq!(errors.len(), 3, "{log}");
    for line in &errors {
        for field in [
            "controller=\"test\"",
            "namespace=\"default\"",
            "name=\"a\"",
            "reconcile_id=",
        ] {
            assert!(line.contains(field), "{line}");
        }
    }
    for (line, fields) in errors.iter().zip([
        [
            "reconcile failed",
            "error=disk full",
            "retry_in=5ms",
            "failures=1",
        ],
        [
            "reconcile panicked",
            "error=\"slot 7 is taken\"",
            "retry_in=10ms",
            "failures=2",
        ],
        [
            "reconcile failed for good",
            "error=no such size",
            "not retried",
            "",
        ],
    ]) {
        assert!(fields.iter().all(|field| line.contains(field)), "{line}");
    }
}

/// The metadata of an owned object, as the cache has it.
fn owned(resource_version: &str, owner: Option<(&str, &str, &str)>) -> Object<ConfigMap> {
    let references: Vec<_> = owner
        .into_iter()
        .map(|(api_version, kind, name)| {
            json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": name, "controller": true})
        })
        .collect();
    let informer = factory().of::<ConfigMap>();
    informer
        .seed(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned", "namespace": "default",
            "uid": "1", "resourceVersion": resource_version, "ownerReferences": references}}))
        .unwrap();
    informer.lister().object(&name("default/owned")).unwrap()
}

#[tokio::test]
async fn a_change_wakes_the_old_and_the_new_owner() {
    let by = |version, owner| owned(version, Some(("apps/v1", "Deployment", owner)));
    let keys = |change: &Change<'_>| {
        owner_keys(change, &Deployment::info())
            .map(|key| key.to_string())
            .collect::<Vec<_>>()
    };
    let (one, same, two) = (by("1", "one"), by("2", "one"), by("3", "two"));
    let (orphan, foreign) = (owned("4", None), owned("5", Some(("v1", "Node", "n"))));
    let updated = |old: &Object<ConfigMap>, new: &Object<ConfigMap>| {
        keys(&Change::Updated {
            old: old.metadata(),
            new: new.metadata(),
        })
    };
    assert_eq!(
        keys(&Change::Added {
            new: one.metadata(),
            is_in_initial_list: true
        }),
        ["default/one"]
    );
    assert_eq!(
        keys(&Change::Deleted {
            old: one.metadata(),
            final_state_known: false
        }),
        ["default/one"]
    );
    assert_eq!(updated(&one, &same), ["default/one"]);
    assert_eq!(updated(&one, &two), ["default/one", "default/two"]);
    assert_eq!(updated(&one, &orphan), ["default/one"]);
    assert_eq!(updated(&orphan, &one), ["default/one"]);
    assert_eq!(updated(&orphan, &foreign), [""; 0]);
    assert_eq!(
        updated(&one, &by("1", "two")),
        [""; 0],
        "an equal resource version is a resync"
    );
}

/// Lists what it is made of, then sends what the test says.
struct Source {
    list: Value,
    watch: Mutex<Option<mpsc::UnboundedReceiver<Value>>>,
}

impl ListerWatcher for Source {
    fn list(&self, _: ListOptions) -> BoxFuture<'_, Result<Chunks, SourceError>> {
        let list = Bytes::from(self.list.to_string());
        async { Ok(stream::iter([Ok(list)]).boxed()) }.boxed()
    }

    fn watch(&self, _: WatchOptions) -> BoxFuture<'_, Result<Chunks, SourceError>> {
        let events = self.watch.lock().take();
        async {
            let lines = stream::unfold(events, |mut events| async {
                let event = match &mut events {
                    Some(events) => events.recv().await?,
                    None => std::future::pending().await,
                };
                Some((Ok(Bytes::from(format!("{event}\n"))), events))
            });
            Ok(lines.boxed())
        }
        .boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn changes_of_all_kinds_wake_the_primary_key() {
    let mut events = std::collections::HashMap::new();
    let mut sources = std::collections::HashMap::new();
    for (kind, api_version) in [
        ("Deployment", "apps/v1"),
        ("ReplicaSet", "apps/v1"),
        ("ConfigMap", "v1"),
    ] {
        let (sender, receiver) = mpsc::unbounded_channel();
        let items = if kind == "Deployment" {
            vec![deployment("listed")]
        } else {
            Vec::new()
        };
        let list = json!({"apiVersion": api_version, "kind": format!("{kind}List"),
                          "metadata": {"resourceVersion": "10"}, "items": items});
        let source: Arc<dyn ListerWatcher> = Arc::new(Source {
            list,
            watch: Mutex::new(Some(receiver)),
        });
        sources.insert(kind, source);
        events.insert(kind, sender);
    }
    let informers = SharedInformerFactory::from_sources(move |kind, _, _| sources[&*kind.kind].clone());
    let calls = Calls::new();
    let script = |_: String, _: usize| async { Ok(Action::done()) }.boxed();
    let mut spec = ControllerSpec::new(
        "test".to_owned(),
        Scripted {
            calls: calls.clone(),
            script,
        },
    );
    spec.reconciles(&informers.of::<Deployment>())
        .owns(&informers.of::<ReplicaSet>())
        .watches(&informers.of::<ConfigMap>(), |change| {
            vec![change.name().sibling("mapped")]
        });
    let runner = ControllerRunner::new(spec, Arc::new(NoMetrics)).unwrap();
    informers.start();
    let stop = CancellationToken::new();
    let run = tokio::spawn(runner.run(stop.clone(), millis(0)));
    sleep(millis(100)).await;
    assert_eq!(calls.of("default/listed").len(), 1);

    let send = |kind: &str, event: &str, object: Value| {
        events[kind]
            .send(json!({"type": event, "object": object}))
            .unwrap();
    };
    let mut changed = deployment("listed");
    changed["metadata"]["resourceVersion"] = json!("11");
    send("Deployment", "DELETED", changed);
    send(
        "ReplicaSet",
        "ADDED",
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {
        "name": "r", "namespace": "default", "uid": "2", "resourceVersion": "12", "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "Deployment", "name": "owner", "uid": "3", "controller": true}]}}),
    );
    send(
        "ConfigMap",
        "ADDED",
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": "c", "namespace": "shop", "uid": "4", "resourceVersion": "13"}}),
    );
    sleep(millis(100)).await;
    assert_eq!(
        calls.of("default/listed").len(),
        2,
        "a deletion wakes the key, too"
    );
    assert_eq!(calls.of("default/owner").len(), 1);
    assert_eq!(calls.of("shop/mapped").len(), 1);
    stop.cancel();
    run.await.unwrap();
    informers.shutdown().await;
}

struct Nothing;

impl Reconciler for Nothing {
    async fn reconcile(&self, _: &ObjectName) -> Result<Action, ReconcileError> {
        Ok(Action::done())
    }
}

fn setup(args: &[&str]) -> Setup {
    let (recorder, _) = Recorder::pipeline("shop");
    Setup::new("shop", Connection::late().0, recorder, FixedArgs::new(args))
}

#[tokio::test]
async fn permissions_follow_from_what_was_registered() {
    let mut setup = setup(&[]);
    let (deployments, nodes) = (
        setup.informers().of::<Deployment>(),
        setup.informers().of::<Node>(),
    );
    let owned = setup.informers().of::<ReplicaSet>();
    let _ = setup.client::<Deployment, (UpdateStatus,)>();
    let _ = setup.client::<ReplicaSet, (Create, Patch)>();
    let _ = setup.client::<ReplicaSet, (Create,)>();
    let _ = setup.recorder();
    setup.needs(PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec!["secrets".to_owned()]),
        verbs: vec!["get".to_owned()],
        ..PolicyRule::default()
    });
    setup
        .controller("shop", Nothing)
        .reconciles(&deployments)
        .owns(&owned)
        .watches(&nodes, |_| Vec::new());
    assert_eq!(setup.errors(), []);
    assert!(setup.warnings().is_empty());
    let permissions: Vec<_> = setup
        .permissions()
        .into_iter()
        .map(|unit| {
            (
                unit.unit,
                unit.place,
                format!("{}: {}", unit.resources.join(","), unit.verbs.join(",")),
            )
        })
        .collect();
    let expected = [
        (
            "client Deployment UpdateStatus",
            Place::Watched,
            "deployments/status: update",
        ),
        ("client ReplicaSet Create", Place::Watched, "replicasets: create"),
        ("client ReplicaSet Patch", Place::Watched, "replicasets: patch"),
        ("events", Place::Watched, "events: create,patch"),
        ("informer Deployment", Place::Watched, "deployments: list,watch"),
        ("informer Node", Place::Cluster, "nodes: list,watch"),
        ("informer ReplicaSet", Place::Watched, "replicasets: list,watch"),
        ("needs get secrets", Place::Watched, "secrets: get"),
        (
            "owner Deployment",
            Place::Watched,
            "deployments/finalizers: update",
        ),
    ];
    assert_eq!(
        permissions,
        expected.map(|(unit, place, what)| (unit.to_owned(), place, what.to_owned()))
    );
}

#[tokio::test]
async fn all_verbs_are_warned_of() {
    let mut setup = setup(&[]);
    let _ = setup.client::<Deployment, All>();
    let _ = setup.client::<Deployment, (Get,)>();
    assert_eq!(setup.warnings().len(), 1);
    assert!(
        setup.warnings()[0].contains("Deployment"),
        "{:?}",
        setup.warnings()
    );
}

#[tokio::test]
async fn wrong_registrations_are_named() {
    let mut setup = setup(&[]);
    let (deployments, nodes) = (
        setup.informers().of::<Deployment>(),
        setup.informers().of::<Node>(),
    );
    setup.controller("none", Nothing);
    setup
        .controller("two", Nothing)
        .reconciles(&deployments)
        .reconciles(&nodes);
    setup
        .controller("two", Nothing)
        .reconciles(&deployments)
        .owns(&nodes)
        .workers(0);
    setup
        .controller("no good", Nothing)
        .reconciles(&nodes)
        .owns(&deployments);
    setup.runnable("", |_| async { Ok(()) });
    let errors: BTreeSet<_> = setup.errors().iter().map(ToString::to_string).collect();
    let expected = [
        "controller \"none\" has no primary kind: call `.reconciles(&informer)` on it",
        "controller \"two\" calls `.reconciles` twice: register a second controller, or use `.watches` for the other kind",
        "controller \"two\" has no workers: `.workers(n)` takes at least 1",
        "controller \"two\": Deployment is namespaced and cannot own Node, which is cluster-scoped: use `.watches`",
        "two controllers are called \"two\": names must differ",
        "controller \"no good\" needs another name: letters, digits, `-`, `_` and `.`, at least one",
        "runnable \"\" needs another name: letters, digits, `-`, `_` and `.`, at least one",
    ];
    assert_eq!(errors, expected.map(str::to_owned).into());
    let no_primary = setup.take_controllers().remove(0);
    assert!(ControllerRunner::new(no_primary, Arc::new(NoMetrics)).is_err());
}

#[tokio::test]
async fn the_operators_own_flags_are_parsed() {
    #[derive(clap::Args)]
    struct Flags {
        #[arg(long, default_value = "eu")]
        region: String,
    }
    assert_eq!(setup(&["--region", "us"]).args::<Flags>().region, "us");
    assert_eq!(setup(&[]).args::<Flags>().region, "eu");
}

#[tokio::test]
async fn runnables_keep_what_was_asked_of_them() {
    let mut setup = setup(&[]);
    setup
        .runnable("connect", |_| async { Err("no database".into()) })
        .before_controllers();
    setup
        .runnable("serve", |stop| async move {
            stop.cancelled().await;
            Ok(())
        })
        .leader_only();
    let [connect, serve] = <[Runnable; 2]>::try_from(setup.take_runnables()).unwrap();
    assert!(connect.is_before_controllers() && !connect.is_leader_only());
    assert!(serve.is_leader_only() && !serve.is_before_controllers());
    let stop = CancellationToken::new();
    assert_eq!(
        connect.run(stop.clone()).await.unwrap_err().to_string(),
        "no database"
    );
    stop.cancel();
    serve.run(stop).await.unwrap();
}
