//! Tests of controllers, from a change to the result of reconcile, on a paused clock. This file has the shared helpers.

mod changes;
mod consistency;
mod expectations;
mod log;
mod options;
mod predicates;
mod registration;
mod results;
mod start;

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use futures::future::BoxFuture;
use k8s_openapi::api::apps::v1::Deployment;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{
    NamespacedName,
    cache::{SharedInformer, SharedInformerFactory},
    client::Connection,
    workqueue::{ItemExponential, QueueMetrics, WorkQueue},
};

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn name(name: &str) -> NamespacedName {
    name.parse().unwrap()
}

/// Calls a test's script, and records each call.
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

    fn record(&self, key: &NamespacedName) -> usize {
        let mut calls = self.0.lock();
        let at = u64::try_from(self.1.elapsed().as_millis()).unwrap();
        let key = key.to_string();
        calls.push((key.clone(), at));
        calls.iter().filter(|(called, _)| *called == key).count()
    }

    /// The times of the key's reconciles, in milliseconds.
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
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let call = self.calls.record(key);
        (self.script)(key.to_string(), call).await
    }
}

/// The outcomes in order, none for cancelled reconciles, and the number of running ones.
#[derive(Default)]
struct Outcomes(Mutex<Vec<Option<Outcome>>>, AtomicI64);

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
    SharedInformerFactory::new(Connection::late())
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

/// A running controller.
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
    start_with(grace, script, |builder| {
        builder.workers(workers);
    })
}

fn start_with<F>(grace: Duration, script: F, options: impl FnOnce(&mut ControllerBuilder)) -> Running
where
    F: Fn(String, usize) -> BoxFuture<'static, Result<Action, ReconcileError>> + Send + Sync + 'static,
{
    let calls = Calls::new();
    let mut builder = ControllerBuilder::new(
        "test".to_owned(),
        Scripted {
            calls: calls.clone(),
            script,
        },
    );
    builder
        .reconciles(&seeded(&[deployment("seeded")]))
        .rate_limiter(ItemExponential::new(millis(5), Duration::from_secs(1000)));
    options(&mut builder);
    let outcomes = Arc::new(Outcomes::default());
    let runner = ControllerRunner::new(builder, outcomes.clone()).unwrap();
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

struct Nothing;

impl Reconciler for Nothing {
    async fn reconcile(&self, _: &NamespacedName) -> Result<Action, ReconcileError> {
        Ok(Action::await_change())
    }
}
