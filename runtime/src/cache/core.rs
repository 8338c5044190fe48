//! One informer without types: reflectors, queue, store and listeners put together.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    InformerOptions, InformerStats, Keep, ListerWatcher, SeedError,
    compression::Settling,
    fifo::{BatchingFifo, Delta, Namespace, SharedFifo},
    hot::HotSet,
    index::{Index, IndexSpec},
    object::StoredObject,
    processor::{HandlerRegistration, Listener, Processor, Registrations},
    reflector::{ErrorHandler, Reflector, ReflectorOptions},
    scan::Scanner,
    stats::Counters,
    store::{Store, Stored},
    views::Views,
};
use crate::{KindInfo, View};

/// After so many changes other tasks get their turn.
const CHANGES_AT_A_TIME: usize = 1000;

/// What every [`SharedInformer`](super::SharedInformer) and [`Lister`](super::Lister) of one store points at.
pub(super) struct Core {
    pub(super) options: InformerOptions,
    pub(super) store: Store,
    settling: Settling,
    /// Decodes what arrives.
    pin: Option<fn(&Views, &StoredObject)>,
    pub(super) views: Arc<Views>,
    pub(super) counters: Arc<Counters>,
    pub(super) error_handler: ErrorHandler,
    registrations: Registrations,
    synced: watch::Sender<bool>,
    started: AtomicBool,
    seeding: Mutex<Scanner>,
}

impl Core {
    /// `V` is what objects are decoded as when they arrive, where that is wanted.
    pub(super) fn new<V: View>(info: KindInfo, options: InformerOptions, hot: Arc<HotSet>) -> Self {
        let counters = Arc::new(Counters::default());
        let sensitive = options.sensitive || (info.group.is_empty() && info.kind == "Secret");
        Self {
            store: Store::default(),
            settling: Settling::new(sensitive || options.keep == Keep::Raw),
            pin: (options.keep == Keep::Decoded).then_some(Views::pin::<V>),
            seeding: Mutex::new(Scanner::keeping(&info, &options.keep)),
            options,
            views: Arc::new(Views::new(info, sensitive, counters.clone(), hot)),
            counters,
            error_handler: ErrorHandler::default(),
            registrations: Registrations::default(),
            synced: watch::Sender::new(false),
            started: AtomicBool::new(false),
        }
    }

    pub(super) fn info(&self) -> &KindInfo {
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

    pub(super) fn is_started(&self) -> bool {
        self.started.load(Ordering::Relaxed)
    }

    pub(super) fn listen(&self, listener: Listener) -> HandlerRegistration {
        self.registrations.add(listener)
    }

    pub(super) fn add_index(&self, spec: &IndexSpec) {
        match Index::by_path(spec) {
            Ok(index) => {
                self.store.add_index(index);
            }
            Err(error) => tracing::error!("index {} of {} stays empty: {error}", spec.name, self.info().kind),
        }
    }

    /// A new object, before it is queued: indexed, and reported if it is defective. Older ones may be compressed instead of it.
    pub(super) fn arrived(&self, object: StoredObject, indexes: &[Arc<Index>]) -> Arc<StoredObject> {
        let object = Arc::new(object);
        object.index(indexes);
        if let Some(defect) = &object.defect {
            self.views.report(&object, defect);
        }
        if let Some(pin) = self.pin {
            pin(&self.views, &object);
        }
        self.settling.arrived(&object, &self.store);
        object
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
            kept_bytes,
            index_errors: index_errors.sum(),
            ..self.counters.snapshot()
        }
    }

    /// Puts an object into the store without telling anybody, and counts the informer as synced.
    pub(super) fn seed(&self, json: &serde_json::Value) -> Result<(), SeedError> {
        let indexes = self.store.indexes();
        let sent = match self.options.keep {
            Keep::Metadata => json!({
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
        self.store.apply(vec![Delta::Upserted(object)]);
        self.synced.send_replace(true);
        Ok(())
    }

    /// Starts once; a later call does nothing.
    pub(super) fn start(
        self: &Arc<Self>,
        sources: Vec<(Namespace, Arc<dyn ListerWatcher>)>,
        options: &ReflectorOptions,
        tracker: &TaskTracker,
        cancel: &CancellationToken,
    ) {
        if self.started.swap(true, Ordering::Relaxed) {
            return;
        }
        let fifo = Arc::new(SharedFifo::new(BatchingFifo::new(
            sources.iter().map(|(namespace, _)| namespace.clone()),
        )));
        for (namespace, source) in sources {
            let reflector = Reflector::new(self.clone(), source, namespace, fifo.clone(), options.clone());
            let cancel = cancel.clone();
            tracker.spawn(async move { cancel.run_until_cancelled(reflector.run()).await });
        }
        let processor = Processor::new(tracker.clone(), cancel.clone());
        let process = self.clone().process(fifo, processor);
        let cancel = cancel.clone();
        tracker.spawn(async move { cancel.run_until_cancelled(process).await });
    }

    /// Moves batches from the queue to the store, then tells the listeners. The only writer of the store, and the only one who tells.
    async fn process(self: Arc<Self>, fifo: Arc<SharedFifo>, mut processor: Processor) {
        let mut has_synced = false;
        loop {
            let replay = || self.store.all().iter().cloned().map(Stored::Added).collect();
            processor.adopt(&self.registrations, replay, has_synced);
            let batch = tokio::select! {
                biased;
                () = self.registrations.added() => continue,
                batch = fifo.pop() => batch,
            };
            processor.sweep();
            for (position, change) in self.store.apply(batch).iter().enumerate() {
                if let Stored::Updated { old, .. } | Stored::Deleted { old, .. } = change {
                    old.slot.clear();
                }
                processor.tell(change, !has_synced);
                if position % CHANGES_AT_A_TIME == CHANGES_AT_A_TIME - 1 {
                    tokio::task::yield_now().await;
                }
            }
            if fifo.processed() && !has_synced {
                has_synced = true;
                processor.synced();
                self.synced.send_replace(true);
            }
        }
    }
}
