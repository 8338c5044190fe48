//! Start of workers after cache sync, and objects that do not decode.

use std::sync::Arc;

use futures::FutureExt;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use serde_json::json;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{super::*, Calls, Nothing, Outcomes, Scripted, deployment, factory, millis, name, seeded};
use crate::{NamespacedName, cache::Lister};

#[tokio::test(start_paused = true)]
async fn workers_start_after_cache_sync() {
    let calls = Calls::new();
    let script = |_: String, _: usize| async { Ok(Action::await_change()) }.boxed();
    let mut builder = ControllerBuilder::new(
        "test".to_owned(),
        Scripted {
            calls: calls.clone(),
            script,
        },
    );
    let (deployments, owned) = (seeded(&[deployment("a")]), factory().of::<ReplicaSet>());
    builder.reconciles(&deployments).owns(&owned);
    let runner = ControllerRunner::new(builder, Arc::new(NoMetrics)).unwrap();
    assert_eq!(
        runner
            .not_synced()
            .into_iter()
            .map(|kind| kind.kind.into_owned())
            .collect::<Vec<_>>(),
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
async fn controller_without_cache_sync_stops() {
    let mut builder = ControllerBuilder::new("test".to_owned(), Nothing);
    builder.reconciles(&factory().of::<Deployment>());
    let runner = ControllerRunner::new(builder, Arc::new(NoMetrics)).unwrap();
    let stop = CancellationToken::new();
    let run = tokio::spawn(runner.run(stop.clone(), millis(0)));
    sleep(millis(10)).await;
    stop.cancel();
    assert_eq!(run.await.unwrap(), Drained::default());
}

/// A retry would read the same bytes: only a change of the object helps.
#[tokio::test(start_paused = true)]
async fn object_that_does_not_decode_is_not_retried() {
    struct Reads(Lister<Deployment>);
    impl Reconciler for Reads {
        async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
            self.0.get(key)?;
            Ok(Action::await_change())
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

    let mut builder = ControllerBuilder::new("test".to_owned(), reads);
    builder.reconciles(&informer);
    let outcomes = Arc::new(Outcomes::default());
    let runner = ControllerRunner::new(builder, outcomes.clone()).unwrap();
    for key in ["default/bad", "default/gone"] {
        runner.queue().add(name(key));
    }
    let stop = CancellationToken::new();
    let run = tokio::spawn(runner.run(stop.clone(), millis(0)));
    sleep(millis(1)).await;
    assert_eq!(
        outcomes.0.lock().as_slice(),
        [Some(Outcome::TerminalError), Some(Outcome::Error)],
        "an object that is not found is retried"
    );
    stop.cancel();
    run.await.unwrap();
}
