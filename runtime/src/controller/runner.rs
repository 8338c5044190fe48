//! Controller runner: connects informers with the work queue, and runs the workers.

use std::{
    any::Any,
    future::pending,
    panic::{AssertUnwindSafe, resume_unwind},
    sync::Arc,
    time::Duration,
};

use futures::{FutureExt as _, StreamExt as _, stream::BoxStream};
use parking_lot::Mutex;
use tokio::{task::JoinSet, time};
use tokio_util::sync::CancellationToken;

use super::{
    ControllerBuilder, ControllerMetrics, RegistrationError,
    consistency::ConsistencyStore,
    enqueue::readable_informers,
    source_target::{SourceTarget, SourcesGuard},
    worker::Worker,
};
use crate::{
    ApiResource, NamespacedName, cache::HandlerOptions, client::with_controller_agent, panics,
    workqueue::WorkQueue,
};

/// Runs one controller.
pub struct ControllerRunner {
    worker: Worker,
    workers: usize,
    sources: SourcesGuard,
    /// The streams of keys of [`watches_stream`](ControllerBuilder::watches_stream).
    streams: Mutex<Vec<BoxStream<'static, NamespacedName>>>,
}

/// How a controller stopped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Drained {
    /// The keys of reconciles that were cancelled after the grace period.
    pub cancelled: Vec<NamespacedName>,
}

impl ControllerRunner {
    /// Connects the controller's informers with a work queue. Keys stay in the queue until the controller runs.
    ///
    /// Call it before the informers start, so that no change is missed.
    pub fn new(
        builder: ControllerBuilder,
        metrics: Arc<dyn ControllerMetrics>,
    ) -> Result<Self, RegistrationError> {
        let runner = Self::standby(builder, metrics)?;
        runner.start_enqueueing();
        Ok(runner)
    }

    /// Makes a runner that enqueues nothing before it runs, or before [`start_enqueueing`](Self::start_enqueueing): a replica that waits for
    /// the leader lease would collect the keys of all objects that ever changed. Then it enqueues all objects in the caches, as a start does.
    pub(crate) fn standby(
        builder: ControllerBuilder,
        metrics: Arc<dyn ControllerMetrics>,
    ) -> Result<Self, RegistrationError> {
        let Some(primary) = builder.primary().cloned() else {
            return Err(RegistrationError::NoPrimary {
                controller: builder.name().to_owned(),
            });
        };
        let queue = Arc::new(WorkQueue::with_metrics(builder.limiter, metrics.clone()));
        let consistency = ConsistencyStore::new(
            &builder.name,
            queue.clone(),
            metrics.clone(),
            (builder.write_wait, builder.own_events),
            &readable_informers(&builder.sources, builder.informers.as_ref()),
        );
        if let Some(observer) = builder.write_wait_observer {
            consistency.observe_write_waits(observer);
        }
        let target = SourceTarget {
            controller: builder.name.clone().into(),
            primary: primary.clone(),
            queue: queue.clone(),
            consistency: consistency.clone(),
            options: HandlerOptions {
                resync: builder.resync,
                ..HandlerOptions::default()
            },
            factory: builder.informers,
        };
        let sources = builder.added_sources;
        sources.0.0.connect_all(builder.sources, target)?;
        Ok(Self {
            worker: Worker {
                name: builder.name.into(),
                primary,
                queue,
                reconciler: builder.reconciler,
                timeout: builder.timeout,
                clock: builder.clock,
                pause: builder.pause,
                consistency,
                metrics,
            },
            workers: builder.workers,
            sources,
            streams: builder.streams,
        })
    }

    /// Enqueues the objects in the caches, and all changes from now on. A second call has no effect.
    pub(crate) fn start_enqueueing(&self) {
        self.sources.0.0.start_enqueueing();
    }

    /// Returns the controller's name.
    pub fn name(&self) -> &str {
        &self.worker.name
    }

    /// Returns the controller's work queue, for metrics and to add keys.
    pub fn queue(&self) -> &Arc<WorkQueue> {
        &self.worker.queue
    }

    /// Returns the kinds of registered sources without cache sync yet.
    pub fn not_synced(&self) -> Vec<ApiResource> {
        let unsynced = self.sources.0.0.unsynced();
        unsynced.iter().map(|informer| informer.info().clone()).collect()
    }

    /// Waits for the cache sync of the controller's informers, then runs the workers until `stop` is cancelled.
    ///
    /// After that no reconcile starts, and running ones are cancelled after the grace period. Keys in the queue are dropped: the next start
    /// lists all objects. Dropping the future cancels all reconciles at once.
    ///
    /// # Panics
    ///
    /// If a worker panics outside of a reconcile, such as in a rate limiter of the user's: the controller could go on with fewer workers, or
    /// none, without a sign of it. All reconciles are cancelled.
    pub async fn run(self, stop: CancellationToken, grace: Duration) -> Drained {
        let stopped = stop.clone();
        let cancelled = async move {
            stopped.cancelled().await;
            time::sleep(grace).await;
        };
        self.run_until(stop, cancelled).await
    }

    /// Runs as [`run`](Self::run), with a grace period that ends with `cancelled`. A leader that lost its lease has none.
    pub async fn run_until(self, stop: CancellationToken, cancelled: impl Future<Output = ()>) -> Drained {
        self.start_enqueueing();
        tokio::select! {
            () = stop.cancelled() => return Drained::default(),
            () = self.sources.0.0.wait_for_sync() => {}
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
            let enqueue = async move {
                while let Some(key) = stream.next().await {
                    queue.add(key);
                }
            };
            let name = worker.name.clone();
            workers.spawn(async move {
                let ended = AssertUnwindSafe(stop.run_until_cancelled(enqueue));
                if let Err(panic) = ended.catch_unwind().await {
                    let panic = panics::message(&*panic);
                    tracing::error!(
                        controller = &*name,
                        "a stream of keys panicked: {panic}; it enqueues nothing any more"
                    );
                }
            });
        }
        let (consistency, stop_follow_ups) = (worker.consistency.clone(), stop.clone());
        workers.spawn(async move {
            let follow_ups = consistency.run_delayed_follow_ups();
            stop_follow_ups
                .run_until_cancelled(follow_ups)
                .await
                .unwrap_or_default();
        });
        let (sources, stop_expiry) = (self.sources.0.0.clone(), stop.clone());
        workers.spawn(async move {
            let expiry = sources.run_expiry();
            stop_expiry.run_until_cancelled(expiry).await.unwrap_or_default();
        });
        tokio::select! {
            () = stop.cancelled() => {}
            panic = first_panic(&mut workers) => resume_unwind(panic),
        }
        worker.queue.shut_down();
        let drained = drain(&worker, workers, cancelled).await;
        drop(self.sources);
        drained
    }
}

/// Waits for the workers, and aborts those that still run when `cancelled` ends.
async fn drain(worker: &Worker, mut workers: JoinSet<()>, cancelled: impl Future<Output = ()>) -> Drained {
    /// How long an aborted worker may take to reach an await.
    const ABORT_TIMEOUT: Duration = Duration::from_secs(1);
    tokio::select! {
        () = join(worker, &mut workers) => return Drained::default(),
        () = cancelled => {}
    }
    let cancelled = worker.queue.processing();
    for key in &cancelled {
        tracing::warn!(controller = &*worker.name, %key, "reconcile cancelled: it did not end within the grace period");
    }
    workers.abort_all();
    if time::timeout(ABORT_TIMEOUT, join(worker, &mut workers))
        .await
        .is_err()
    {
        let keys = worker.queue.processing();
        tracing::error!(
            controller = &*worker.name,
            ?keys,
            "reconcile not cancelled: it blocks its thread"
        );
        workers.detach_all();
    }
    Drained { cancelled }
}

/// Waits until a worker panics; forever if none does. Cancel safe.
async fn first_panic(workers: &mut JoinSet<()>) -> Box<dyn Any + Send> {
    while let Some(ended) = workers.join_next().await {
        if let Some(panic) = ended.err().and_then(|error| error.try_into_panic().ok()) {
            return panic;
        }
    }
    pending().await
}

async fn join(worker: &Worker, workers: &mut JoinSet<()>) {
    while let Some(ended) = workers.join_next().await {
        if let Some(error) = ended.err().filter(|error| !error.is_cancelled()) {
            tracing::error!(controller = &*worker.name, %error, "worker ended early");
        }
    }
}
