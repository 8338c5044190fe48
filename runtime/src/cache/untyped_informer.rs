//! One informer without types: reflectors, queue, store and listeners put together.

use std::{
    sync::{Arc, OnceLock, atomic::Ordering},
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::watch;

use super::{
    HandlerOptions, InformerOptions, InformerStats, SeedError, StorageMode,
    compression::{Compressor, Encoder},
    decoded_cache::DecodedCacheHandle,
    decoder::{ANYBODY, Decoder},
    fifo::{Delta, SharedFifo},
    index::{Index, IndexSpec},
    object::StoredObject,
    processor::{HandlerRegistration, Listener, Registrations},
    reflector::ErrorHandler,
    scan::Scanner,
    stats::Counters,
    storage_mode::Paths,
    store::Store,
    watch_health::WatchHealth,
};
use crate::{ApiResource, View};

/// Called when everybody was told of a batch.
type Hook = Arc<dyn Fn() + Send + Sync>;

/// What every [`SharedInformer`](super::SharedInformer) and [`Lister`](super::Lister) of one store points at.
pub(super) struct UntypedInformer {
    pub(super) options: InformerOptions,
    pub(super) store: Arc<Store>,
    pub(super) settling: Arc<Compressor>,
    /// Decodes what arrives.
    pin: Option<fn(&Decoder, &StoredObject)>,
    pub(super) views: Arc<Decoder>,
    pub(super) counters: Arc<Counters>,
    pub(super) error_handler: ErrorHandler,
    pub(super) watch_health: Arc<WatchHealth>,
    pub(super) registrations: Arc<Registrations>,
    /// Called when everybody was told of a batch.
    told: Mutex<Arc<[Hook]>>,
    synced: watch::Sender<bool>,
    /// Set by the start.
    fifo: OnceLock<Arc<SharedFifo>>,
    /// The period of handlers that name none.
    resync: Mutex<Option<Duration>>,
    seeding: Mutex<Scanner>,
}

impl UntypedInformer {
    /// `V` is what objects are decoded as when they arrive, where that is wanted.
    pub(super) fn new<V: View>(
        info: ApiResource,
        options: InformerOptions,
        hot: Arc<DecodedCacheHandle>,
    ) -> Self {
        let counters = Arc::new(Counters::default());
        let sensitive = options.sensitive || info.is_secret();
        let views = Arc::new(Decoder::new(info, sensitive, counters.clone(), hot));
        Self {
            store: Arc::default(),
            settling: Arc::new(Compressor::new(sensitive || options.storage == StorageMode::Raw)),
            pin: (options.storage == StorageMode::Decoded).then_some(Decoder::pin::<V>),
            seeding: Mutex::new(Scanner::keeping(views.clone(), &options.storage)),
            options,
            views,
            counters,
            error_handler: ErrorHandler::default(),
            watch_health: Arc::default(),
            registrations: Arc::default(),
            told: Mutex::new(Arc::new([])),
            synced: watch::Sender::new(false),
            fifo: OnceLock::new(),
            resync: Mutex::default(),
        }
    }

    pub(super) fn info(&self) -> &ApiResource {
        self.views.info()
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

    /// A scanner that finds what this informer keeps of its objects.
    pub(super) fn scanner(&self) -> Scanner {
        Scanner::keeping(self.views.clone(), &self.options.storage)
    }

    /// The queue of the informer that starts now; none if it was started before.
    pub(super) fn set_started(&self, queue: SharedFifo) -> Option<Arc<SharedFifo>> {
        let queue = Arc::new(queue);
        self.fifo.set(queue.clone()).ok()?;
        Some(queue)
    }

    pub(super) fn set_synced(&self) {
        self.synced.send_replace(true);
    }

    pub(super) fn is_started(&self) -> bool {
        self.fifo.get().is_some()
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.registrations.is_stopped()
    }

    /// The kind's objects hold what must not stand anywhere else: from now on, and what is there, too.
    pub(super) fn mark_sensitive(&self) {
        self.views.mark_sensitive();
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

    /// Calls the hooks that run after each batch.
    pub(super) fn call_batch_hooks(&self) {
        let hooks = self.told.lock().clone();
        for hook in hooks.iter() {
            hook();
        }
    }

    pub(super) fn add_index(&self, spec: &IndexSpec) {
        let problem = match Index::by_path(spec) {
            Ok(index) if self.can_fill(&index) => {
                self.store.add_index(index);
                return;
            }
            Ok(_) => format!(
                "{} is not among what is kept of the objects that are there; add the index before the informer starts, or keep that, too",
                spec.path
            ),
            Err(error) => error.to_string(),
        };
        tracing::error!(
            "index {} of {} stays empty: {problem}",
            spec.name,
            self.info().kind
        );
    }

    /// Whether an index finds all that is in the store: what a projection leaves out is seen once, when the object arrives.
    fn can_fill(&self, index: &Index) -> bool {
        let StorageMode::Projection(paths) = self.options.storage else {
            return true;
        };
        let is_empty = !self.is_started() && self.store.all().is_empty();
        is_empty || Paths::new(paths).is_ok_and(|paths| index.path().is_none_or(|path| paths.hold(path)))
    }

    /// A new object, before it is queued: indexed, and reported if it is defective. Older ones may be compressed instead of it.
    pub(super) fn arrived(&self, object: StoredObject, indexes: &[Arc<Index>]) -> Arc<StoredObject> {
        let object = Arc::new(object);
        object.index(indexes);
        if let Some(defect) = &object.defect {
            self.views.report(&object, ANYBODY, defect);
        }
        if let Some(pin) = self.pin {
            pin(&self.views, &object);
        }
        self.settling.arrived(&object, &self.store);
        object
    }

    /// Whether metadata alone would not do: something was decoded or read as JSON, or is looked up by what is not metadata.
    pub(super) fn needs_bodies(&self) -> bool {
        let is_decoded = self.counters.decodes.load(Ordering::Relaxed) > 0;
        is_decoded
            || self.views.was_json_read()
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

    /// Puts an object into the store without telling anybody, and counts the informer as synced.
    pub(super) fn seed(&self, json: &serde_json::Value) -> Result<(), SeedError> {
        let indexes = self.store.indexes();
        let sent = match self.options.storage {
            StorageMode::Metadata => json!({
                "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": json["metadata"],
            }),
            _ => json.clone(),
        };
        let object = self.seeding.lock().object(sent.to_string().as_bytes(), &indexes);
        let object = object.map_err(|error| SeedError {
            kind: self.info().kind.to_string(),
            problem: error.to_string(),
        })?;
        let object = self.arrived(object, &indexes);
        self.store.apply(vec![Delta::Upserted(object)], false);
        self.synced.send_replace(true);
        Ok(())
    }
}
