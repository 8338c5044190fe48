//! One informer without types: reflectors, queue, store and listeners put together.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, OnceLock, atomic::Ordering},
    time::Duration,
};

use futures::{FutureExt as _, StreamExt as _, stream::FuturesUnordered};
use parking_lot::Mutex;
use tokio::{runtime::Handle, sync::watch, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    HandlerOptions, IndexError, InformerOptions, InformerStats, ListerWatcher, QueueKind, StorageMode,
    absorbing::absorbing,
    compression::{Compressor, Encoder},
    decoded_cache::DecodedCacheHandle,
    decoder::{ANY_TYPE, Decoder},
    fifo::{Delta, Namespace, SharedFifo},
    index::{Index, IndexSpec},
    object::StoredObject,
    processor::{HandlerRegistration, Handlers, Listener, Processor, Registrations},
    reflector::{ErrorHandler, Reflector, ReflectorOptions},
    stats::{Counters, count},
    storage_mode::Paths,
    store::{Store, StoreEvent},
    watch_health::WatchHealth,
};
use crate::{ApiResource, View, panics, wake_batch::together};

/// After so many changes other tasks get their turn.
const CHANGES_AT_A_TIME: usize = 1000;

/// Called when everybody was told of a batch.
type Hook = Arc<dyn Fn() + Send + Sync>;

/// What every [`SharedInformer`](super::SharedInformer) and [`Lister`](super::Lister) of one store points at.
pub(super) struct UntypedInformer {
    pub(super) options: InformerOptions,
    pub(super) store: Arc<Store>,
    pub(super) settling: Arc<Compressor>,
    /// Decodes what arrives.
    decode_on_arrival: Option<fn(&Decoder, &StoredObject)>,
    pub(super) decoder: Arc<Decoder>,
    pub(super) counters: Arc<Counters>,
    pub(super) error_handler: ErrorHandler,
    pub(super) watches: WatchHealth,
    registrations: Arc<Registrations>,
    /// Called when everybody was told of a batch.
    told: Mutex<Arc<[Hook]>>,
    synced: watch::Sender<bool>,
    /// Set by the start.
    fifo: OnceLock<Arc<SharedFifo>>,
    /// The period of handlers that name none.
    resync: Mutex<Option<Duration>>,
}

impl UntypedInformer {
    /// `V` is what objects are decoded as when they arrive, where that is wanted.
    pub(super) fn new<V: View>(
        info: ApiResource,
        options: InformerOptions,
        decoded_cache: Arc<DecodedCacheHandle>,
    ) -> Self {
        let counters = Arc::new(Counters::default());
        let sensitive = options.sensitive || info.is_secret();
        let decoder = Arc::new(Decoder::new(info, sensitive, counters.clone(), decoded_cache));
        Self {
            store: Arc::default(),
            settling: Arc::new(Compressor::new(sensitive || options.storage == StorageMode::Raw)),
            decode_on_arrival: (options.storage == StorageMode::Decoded)
                .then_some(Decoder::decode_on_arrival::<V>),
            options,
            decoder,
            counters,
            error_handler: ErrorHandler::default(),
            watches: WatchHealth::default(),
            registrations: Arc::default(),
            told: Mutex::new(Arc::new([])),
            synced: watch::Sender::new(false),
            fifo: OnceLock::new(),
            resync: Mutex::default(),
        }
    }

    pub(super) fn info(&self) -> &ApiResource {
        self.decoder.info()
    }

    pub(super) fn has_synced(&self) -> bool {
        *self.synced.borrow()
    }

    /// Waits for the first list. Cancel safe.
    pub(super) async fn wait_for_sync(&self) {
        // The sender lives as long as `self`.
        let _ = self.synced.subscribe().wait_for(|synced| *synced).await;
    }

    /// What becomes of objects that may be compressed.
    pub(super) fn fresh(&self) -> Option<Encoder> {
        self.settling.fresh()
    }

    pub(super) fn is_started(&self) -> bool {
        self.fifo.get().is_some()
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.registrations.is_stopped()
    }

    /// The kind's objects hold what must not stand anywhere else: from now on, and what is there, too.
    pub(super) fn mark_sensitive(&self) {
        self.decoder.mark_sensitive();
        self.settling.switch_off(&self.store);
    }

    /// After this time handlers are resynced that are added afterwards and do not say themselves.
    pub(super) fn set_resync(&self, period: Option<Duration>) {
        *self.resync.lock() = period;
    }

    /// `name` is that of the listener, for the log.
    pub(super) fn listen(
        &self,
        listener: Listener,
        options: HandlerOptions,
        name: &str,
    ) -> HandlerRegistration {
        let name = format!("{name} of the {} informer", self.info().kind);
        let options = HandlerOptions {
            resync: options.resync.or(*self.resync.lock()),
            ..options
        };
        self.registrations.add(listener, options, name)
    }

    /// Calls `hook` after each batch, when it is in the store and the sinks were told of it. It must be quick.
    pub(super) fn after_each_batch(&self, hook: Hook) {
        let mut told = self.told.lock();
        *told = told.iter().cloned().chain([hook]).collect();
    }

    /// Everybody was told of what is in the store.
    fn was_told(&self) {
        let hooks = self.told.lock().clone();
        for hook in hooks.iter() {
            hook();
        }
    }

    /// Adds an index by path and fills it.
    pub(super) fn add_index(&self, spec: &IndexSpec) -> Result<(), IndexError> {
        match Index::by_path(spec) {
            Ok(index) if self.can_fill(&index) => self.add(index),
            Ok(_) => Err(self.index_error(
                spec.name,
                format!(
                    "the projection that the informer keeps lacks {}; add the index before the informer starts, or add the path to the \
                     projection",
                    spec.path
                ),
            )),
            Err(error) => Err(self.index_error(spec.name, error.to_string())),
        }
    }

    /// Adds an index and fills it, unless another one has its name.
    pub(super) fn add(&self, index: Index) -> Result<(), IndexError> {
        let name = index.name.clone();
        if self.store.add_index(index) {
            return Ok(());
        }
        Err(self.index_error(
            &name,
            "another index has this name; choose another name".to_owned(),
        ))
    }

    fn index_error(&self, index: &str, problem: String) -> IndexError {
        IndexError {
            kind: self.info().kind.to_string(),
            index: index.to_owned(),
            problem,
        }
    }

    /// Whether an index finds all that is in the store: what a projection leaves out is seen once, when the object arrives.
    fn can_fill(&self, index: &Index) -> bool {
        let StorageMode::Projection(paths) = self.options.storage else {
            return true;
        };
        let is_empty = !self.is_started() && self.store.all().is_empty();
        is_empty || Paths::new(paths).is_ok_and(|paths| index.path().is_none_or(|path| paths.contain(path)))
    }

    /// A new object, before it is queued: indexed, and reported if it is defective. Older ones may be compressed instead of it.
    pub(super) fn arrived(&self, object: StoredObject, indexes: &[Arc<Index>]) -> Arc<StoredObject> {
        let object = Arc::new(object);
        object.index(indexes);
        if let Some(defect) = &object.defect {
            self.decoder.report(&object, ANY_TYPE, defect);
        }
        if let Some(decode_on_arrival) = self.decode_on_arrival {
            decode_on_arrival(&self.decoder, &object);
        }
        self.settling.arrived(&object, &self.store);
        object
    }

    /// Whether metadata alone would not do: something was decoded or read as JSON, or is looked up by what is not metadata.
    pub(super) fn needs_bodies(&self) -> bool {
        let is_decoded = self.counters.decodes.load(Ordering::Relaxed) > 0;
        is_decoded
            || self.decoder.was_json_read()
            || self.store.indexes().iter().any(|index| index.needs_body())
    }

    pub(super) fn stats(&self) -> InformerStats {
        let (objects, bytes, kept_bytes) = self.store.size();
        let index_errors = self.store.indexes();
        let index_errors = index_errors
            .iter()
            .map(|index| index.errors.load(Ordering::Relaxed));
        InformerStats {
            objects,
            bytes,
            kept_bytes: kept_bytes + self.settling.exemplars(),
            index_errors: index_errors.sum(),
            queued: self.fifo.get().map_or(0, |fifo| fifo.len()),
            pending: self.registrations.pending(),
            ..self.counters.snapshot()
        }
    }

    /// Marks the first list as being in the store.
    pub(super) fn set_synced(&self) {
        self.synced.send_replace(true);
    }

    /// What runs the informer, in one task; nothing, if it was started before. Must be called within a runtime, whose threads run handlers.
    pub(super) fn start(
        self: &Arc<Self>,
        sources: Vec<(Namespace, Arc<dyn ListerWatcher>)>,
        queue: QueueKind,
        options: &ReflectorOptions,
        tracker: &TaskTracker,
        cancel: &CancellationToken,
    ) -> Option<impl Future<Output = ()> + Send + 'static> {
        let namespaces = sources.iter().map(|(namespace, _)| namespace.clone());
        let fifo = Arc::new(SharedFifo::new(queue, namespaces, &self.store));
        self.fifo.set(fifo.clone()).ok()?;
        let parts = FuturesUnordered::new();
        self.watches.start(sources.len());
        for (namespace, source) in sources {
            let reflector = Reflector::new(self.clone(), source, namespace, fifo.clone(), options.clone());
            parts.push(reflector.run().boxed());
        }
        let handlers = Handlers {
            tracker: tracker.clone(),
            runtime: Handle::current(),
            cancel: cancel.clone(),
        };
        let processor = Processor::new(self.registrations.clone(), handlers);
        parts.push(self.clone().process(fifo, processor).boxed());
        let cancel = cancel.clone();
        let core = self.clone();
        // One task: what a reflector has read is in the store before anything else is read.
        Some(async move {
            let ended = cancel.run_until_cancelled(absorbing(parts.collect::<()>()));
            if let Err(panic) = AssertUnwindSafe(ended).catch_unwind().await {
                let (kind, panic) = (&core.info().kind, panics::message(&*panic));
                tracing::error!(
                    "the informer of {kind} panicked, and its cache stays as it is from now on, so that probes will fail: {panic}"
                );
            }
        })
    }

    /// Moves batches from the queue to the store, then tells the listeners. The only writer of the store, and the only one who tells.
    async fn process(self: Arc<Self>, fifo: Arc<SharedFifo>, mut processor: Processor) {
        let mut has_synced = false;
        loop {
            let replay = || self.store.all().iter().cloned().map(StoreEvent::Added).collect();
            processor.adopt(replay, has_synced);
            let batch = tokio::select! {
                biased;
                () = self.registrations.changed() => continue,
                () = processor.resync_due() => {
                    if processor.begin_resync() {
                        fifo.push([Delta::SyncAll]);
                    }
                    continue;
                }
                batch = fifo.pop() => batch,
                () = self.settling.may_move() => {
                    self.settling.move_some();
                    continue;
                }
            };
            let started = Instant::now();
            let changes = self.store.apply(batch, processor.is_resyncing());
            for (position, some) in changes.chunks(CHANGES_AT_A_TIME).enumerate() {
                if position > 0 {
                    tokio::task::yield_now().await;
                }
                together(|| {
                    for change in some {
                        if let Some(old) = change.outdated() {
                            old.decoded.clear();
                        }
                        self.settling.check(change.object());
                        processor.distribute(change, !has_synced);
                    }
                });
                processor.flush();
            }
            self.was_told();
            if fifo.processed() && !has_synced {
                has_synced = true;
                processor.set_synced();
                self.synced.send_replace(true);
            }
            self.count_batch(started);
        }
    }

    fn count_batch(&self, started: Instant) {
        count(&self.counters.batches);
        let nanos = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.counters.processing_nanos.fetch_add(nanos, Ordering::Relaxed);
    }
}
