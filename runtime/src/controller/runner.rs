//! Runs one controller: feeds its queue and keeps its workers at work.

use std::{sync::Arc, time::Duration};

use futures::{StreamExt as _, stream::BoxStream};
use parking_lot::Mutex;
use tokio::{task::JoinSet, time};
use tokio_util::sync::CancellationToken;

use super::{
    ControllerBuilder, ControllerMetrics, Expectations, RegistrationError,
    builder::Synced,
    consistency::ConsistencyStore,
    enqueue::{EnqueueHandler, readable},
    worker::Worker,
};
use crate::{
    ApiResource, NamespacedName, cache::HandlerOptions, client::with_controller_agent, workqueue::WorkQueue,
};

/// Runs one controller.
pub struct ControllerRunner {
    worker: Worker,
    workers: usize,
    informers: Vec<(ApiResource, Synced)>,
    /// Keys from outside.
    streams: Mutex<Vec<BoxStream<'static, NamespacedName>>>,
    /// Each once.
    expectations: Vec<Expectations>,
}

/// How a controller ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Drained {
    /// The keys whose reconcile did not end within the grace period and was cancelled.
    pub cancelled: Vec<NamespacedName>,
}

impl ControllerRunner {
    /// Connects the controller's informers with a queue. To be made before the informers start, so that no change is missed; keys wait in the
    /// queue until the controller runs.
    pub fn new(
        spec: ControllerBuilder,
        metrics: Arc<dyn ControllerMetrics>,
    ) -> Result<Self, RegistrationError> {
        let Some(primary) = spec.primary().cloned() else {
            return Err(RegistrationError::NoPrimary {
                controller: spec.name().to_owned(),
            });
        };
        let queue = Arc::new(WorkQueue::new(spec.limiter, metrics.clone()));
        let own_writes = ConsistencyStore::new(
            &spec.name,
            queue.clone(),
            metrics.clone(),
            (spec.write_wait, spec.own_events),
            readable(&spec.sources, spec.informers.as_ref()),
        );
        let options = HandlerOptions {
            resync: spec.resync,
            ..HandlerOptions::default()
        };
        let (mut informers, mut expectations) = (Vec::new(), Vec::<Expectations>::new());
        for source in &spec.sources {
            if let Some(new) = &source.expectations
                && !expectations.iter().any(|known| known.is_same(new))
            {
                expectations.push(new.clone());
            }
        }
        for mut source in spec.sources {
            let connect = std::mem::replace(&mut source.connect, Box::new(|_, _| {}));
            informers.push((source.kind.clone(), source.synced.clone()));
            let feed = EnqueueHandler::new(source, primary.clone(), &queue, &own_writes);
            connect(Box::new(move |change| feed.tell(change)), options);
        }
        Ok(Self {
            worker: Worker {
                name: spec.name.into(),
                primary,
                queue,
                reconciler: spec.reconciler,
                timeout: spec.timeout,
                pause: spec.pause,
                own_writes,
                metrics,
            },
            workers: spec.workers,
            informers,
            streams: spec.streams,
            expectations,
        })
    }

    /// The controller's name.
    pub fn name(&self) -> &str {
        &self.worker.name
    }

    /// The controller's queue, for what is counted and to add keys from outside.
    pub fn queue(&self) -> &Arc<WorkQueue> {
        &self.worker.queue
    }

    /// The kinds whose first list the controller still waits for.
    pub fn not_synced(&self) -> impl Iterator<Item = &ApiResource> {
        self.informers
            .iter()
            .filter(|(_, synced)| !(synced.now)())
            .map(|(kind, _)| kind)
    }

    /// Waits until the controller's informers hold their first list, then reconciles until `stop` is cancelled.
    ///
    /// Then no reconcile is started any more, and those that run may end within `grace`; after it they are cancelled. What waits in the queue
    /// is given up: the next start lists everything again. Dropping the future cancels all at once.
    pub async fn run(self, stop: CancellationToken, grace: Duration) -> Drained {
        let stopped = stop.clone();
        let cancelled = async move {
            stopped.cancelled().await;
            time::sleep(grace).await;
        };
        self.run_until(stop, cancelled).await
    }

    /// [`run`](Self::run) with the end of the grace given by `cancelled`: a leader that lost its lease has none.
    pub async fn run_until(self, stop: CancellationToken, cancelled: impl Future<Output = ()>) -> Drained {
        tokio::select! {
            () = stop.cancelled() => return Drained::default(),
            () = self.wait_for_sync() => {}
        }
        tracing::info!(
            controller = &*self.worker.name,
            workers = self.workers,
            "starting workers"
        );
        let worker = Arc::new(self.worker);
        let mut workers = JoinSet::new();
        for _ in 0..self.workers {
            let (worker, stop) = (worker.clone(), stop.clone());
            let name = worker.name.clone();
            workers.spawn(with_controller_agent(
                &name,
                async move { worker.run(&stop).await },
            ));
        }
        for mut stream in self.streams.into_inner() {
            let (queue, stop) = (worker.queue.clone(), stop.clone());
            let woken = async move {
                while let Some(key) = stream.next().await {
                    queue.add(key);
                }
            };
            workers.spawn(async move { stop.run_until_cancelled(woken).await.unwrap_or_default() });
        }
        for expectations in self.expectations {
            let stop = stop.clone();
            let expiring = async move { expectations.expire().await };
            workers.spawn(async move { stop.run_until_cancelled(expiring).await.unwrap_or_default() });
        }
        stop.cancelled().await;
        worker.queue.shut_down();
        drain(&worker, workers, cancelled).await
    }

    async fn wait_for_sync(&self) {
        for (_, synced) in &self.informers {
            (synced.wait)().await;
        }
    }
}

/// Waits for the workers, and cancels those that still run when `cancelled` ends.
async fn drain(worker: &Worker, mut workers: JoinSet<()>, cancelled: impl Future<Output = ()>) -> Drained {
    /// How long a cancelled worker may take to get to an await.
    const CANCELLING: Duration = Duration::from_secs(1);
    tokio::select! {
        () = join(worker, &mut workers) => return Drained::default(),
        () = cancelled => {}
    }
    let cancelled = worker.queue.processing();
    for key in &cancelled {
        tracing::warn!(controller = &*worker.name, %key, "reconcile cancelled: it did not end in time");
    }
    workers.abort_all();
    if time::timeout(CANCELLING, join(worker, &mut workers))
        .await
        .is_err()
    {
        let keys = worker.queue.processing();
        tracing::error!(
            controller = &*worker.name,
            ?keys,
            "reconcile blocks its thread and cannot be cancelled"
        );
        workers.detach_all();
    }
    Drained { cancelled }
}

async fn join(worker: &Worker, workers: &mut JoinSet<()>) {
    while let Some(ended) = workers.join_next().await {
        if let Some(error) = ended.err().filter(|error| !error.is_cancelled()) {
            tracing::error!(controller = &*worker.name, %error, "a worker ended");
        }
    }
}
