//! A started informer: reflectors in, store and listeners out, in one task.
//!
//! A reflector calls [`apply`](ReflectorStore::apply), which puts the deltas into the queue and, in the same call, takes the batches out
//! again: into the store, then to the listeners. [`maintain`](RunningInformer::maintain) is the second future of the task and seldom runs:
//! handlers that are added late, resyncs, and re-encoding of stored objects.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, atomic::Ordering},
};

use futures::{FutureExt as _, StreamExt as _, stream::FuturesUnordered};
use parking_lot::Mutex;
use tokio::{
    runtime::Handle,
    sync::Notify,
    task::yield_now,
    time::{Instant, Interval, MissedTickBehavior, interval_at},
};
use tokio_util::task::TaskTracker;

use super::{
    ListWatchError, ListerWatcher, QueueKind,
    fifo::{Delta, Namespace, SharedFifo},
    index::Index,
    metadata::Metadata,
    object::StoredObject,
    processor::{Handlers, Processor},
    reflector::{Reflector, ReflectorOptions, ReflectorStore},
    scan::{ScannedObject, Scanner},
    stats::{Counters, count},
    store::StoreEvent,
    untyped_informer::UntypedInformer,
    watch_health::WatchHealth,
};
use crate::{ApiResource, panics, wake_batch::batch_wakes};

/// After so many changes other tasks get their turn.
const CHANGES_BETWEEN_YIELDS: usize = 1000;

pub(super) struct RunningInformer {
    informer: Arc<UntypedInformer>,
    queue: Arc<SharedFifo>,
    /// The right to take batches out of the queue. A future takes it out while it works: no lock is held across an await or a callback, and
    /// there is one writer of the store.
    idle_processing: Mutex<Option<Processing>>,
    /// Notified when the processing was put back.
    put_back: Notify,
}

struct Processing {
    processor: Processor,
    /// Whether the first list of every namespace was distributed.
    has_synced: bool,
}

impl UntypedInformer {
    /// The future that runs the informer until [`stop`](Self::stop) is cancelled; none if it was started before. Must be called within a runtime: its threads run the
    /// handlers.
    pub(super) fn start(
        self: &Arc<Self>,
        sources: Vec<(Namespace, Arc<dyn ListerWatcher>)>,
        queue: QueueKind,
        options: &ReflectorOptions,
        tracker: &TaskTracker,
    ) -> Option<impl Future<Output = Result<(), String>> + Send + 'static> {
        let namespaces = sources.iter().map(|(namespace, _)| namespace.clone());
        let queue = self.set_started(SharedFifo::new(queue, namespaces, &self.store))?;
        self.watch_health.start(sources.len());
        let handlers = Handlers {
            tracker: tracker.clone(),
            runtime: Handle::current(),
            cancel: self.stop.clone(),
        };
        let running = Arc::new(RunningInformer {
            informer: self.clone(),
            queue,
            idle_processing: Mutex::new(Some(Processing {
                processor: Processor::new(self.registrations.clone(), handlers),
                has_synced: false,
            })),
            put_back: Notify::new(),
        });
        // One task: a batch is in the store before the next is read.
        let parts = FuturesUnordered::new();
        for (namespace, source) in sources {
            let reflector = Reflector::new(running.clone(), source, namespace, options.clone());
            parts.push(reflector.run().boxed());
        }
        parts.push(running.maintain().boxed());
        let informer = self.clone();
        Some(async move {
            let ended = async {
                tokio::select! {
                    // First: a removed informer takes nothing more from its watch.
                    biased;
                    () = informer.stop.cancelled() => {}
                    () = parts.collect::<()>() => {}
                }
            };
            if let Err(panic) = AssertUnwindSafe(ended).catch_unwind().await {
                let (kind, panic) = (&informer.info().kind, panics::message(&*panic));
                let failure = format!("the informer of {kind} panicked: {panic}");
                tracing::error!("{failure}; its cache is no longer updated, and health checks fail");
                return Err(failure);
            }
            Ok(())
        })
    }
}

impl RunningInformer {
    /// Adopts handlers, starts resyncs and re-encodes stored objects. Never returns.
    async fn maintain(self: Arc<Self>) {
        let mut resync_timer = None;
        loop {
            // Handlers that were added or removed.
            self.process_queue().await;
            if resync_timer.is_none() {
                resync_timer = self
                    .informer
                    .registrations
                    .resync_check_period()
                    .map(resync_interval);
            }
            tokio::select! {
                biased;
                () = self.informer.registrations.changed() => {}
                () = next_tick(&mut resync_timer) => self.resync().await,
                () = self.informer.codec.reencoding_due() => self.informer.codec.reencode_some(),
            }
        }
    }

    /// Re-delivers every stored object to the listeners with a resync period that has passed.
    async fn resync(&self) {
        let mut processing = self.take_processing().await;
        if processing.processor.begin_resync() {
            self.queue.push([Delta::SyncAll]);
            self.process_batches(&mut processing).await;
        }
        self.put_back(processing);
    }

    /// Processes the queue, after another future that does so. Not cancel safe.
    async fn process_queue(&self) {
        let mut processing = self.take_processing().await;
        self.process_batches(&mut processing).await;
        self.put_back(processing);
    }

    async fn take_processing(&self) -> Processing {
        loop {
            let idle = self.idle_processing.lock().take();
            if let Some(processing) = idle {
                return processing;
            }
            self.put_back.notified().await;
        }
    }

    fn put_back(&self, processing: Processing) {
        *self.idle_processing.lock() = Some(processing);
        self.put_back.notify_one();
    }

    /// Moves batches from the queue to the store, then to the listeners, until the queue is empty.
    async fn process_batches(&self, processing: &mut Processing) {
        let store = &self.informer.store;
        let mut changes_since_yield = 0;
        loop {
            let replay = || store.all().iter().cloned().map(StoreEvent::Added).collect();
            processing.processor.adopt(replay, processing.has_synced);
            let Some(batch) = self.queue.pop() else { return };
            let started = Instant::now();
            let changes = store.apply(batch, processing.processor.is_resyncing());
            for some in changes.chunks(CHANGES_BETWEEN_YIELDS) {
                if changes_since_yield >= CHANGES_BETWEEN_YIELDS {
                    changes_since_yield = 0;
                    yield_now().await;
                }
                changes_since_yield += some.len();
                self.distribute(some, processing);
            }
            self.informer.observers.batch_delivered();
            if self.queue.processed() && !processing.has_synced {
                processing.has_synced = true;
                processing.processor.set_synced();
                self.informer.set_synced();
            }
            self.count_batch(started);
        }
    }

    /// Hands changes that are in the store to the listeners. Wakes each worker once for all changes.
    fn distribute(&self, changes: &[StoreEvent], processing: &Processing) {
        if self.informer.codec.was_switched_off() {
            // They may have been encoded before.
            for change in changes {
                change.object().payload.make_raw();
            }
        }
        batch_wakes(|| {
            for change in changes {
                if let Some(old) = change.outdated() {
                    old.decoded.clear();
                }
                processing.processor.distribute(change, !processing.has_synced);
            }
        });
        processing.processor.flush();
    }

    fn count_batch(&self, started: Instant) {
        let counters = &self.informer.counters;
        count(&counters.batches);
        let nanos = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        counters.processing_nanos.fetch_add(nanos, Ordering::Relaxed);
    }
}

impl ReflectorStore for RunningInformer {
    fn info(&self) -> &ApiResource {
        self.informer.info()
    }

    fn scanner(&self) -> Scanner {
        self.informer.scanner()
    }

    fn indexes(&self) -> Vec<Arc<Index>> {
        self.informer.store.indexes()
    }

    fn find_version(&self, metadata: &Metadata) -> Option<Arc<StoredObject>> {
        self.informer.store.get_same_version(metadata)
    }

    fn prefetch(&self, owners: u64) {
        self.informer.codec.prefetch(owners);
    }

    fn encode(&self, object: ScannedObject<'_>, indexes: &[Arc<Index>]) -> Arc<StoredObject> {
        self.informer.encode(object, indexes)
    }

    fn apply(&self, deltas: impl IntoIterator<Item = Delta> + Send) -> impl Future<Output = ()> + Send {
        self.queue.push(deltas);
        self.process_queue()
    }

    fn counters(&self) -> &Counters {
        &self.informer.counters
    }

    fn watch_health(&self) -> &Arc<WatchHealth> {
        &self.informer.watch_health
    }

    fn report_failure(&self, error: &ListWatchError) {
        self.informer.error_handler.call(error);
    }
}

fn resync_interval(period: std::time::Duration) -> Interval {
    let mut interval = interval_at(Instant::now() + period, period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

/// Waits for the next tick; without an interval for ever. Cancel safe.
async fn next_tick(interval: &mut Option<Interval>) {
    match interval {
        Some(interval) => {
            interval.tick().await;
        }
        None => std::future::pending().await,
    }
}
