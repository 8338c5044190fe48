//! One informer without types: what typed informers, listers and the running informer share.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{
    AddIndexError, HandlerOptions, InformerOptions, InformerStats, StorageMode,
    compression::{Payload, PayloadCodec},
    decoded_cache::DecodedCacheHandle,
    decoder::{ANY_TYPE, Decoder},
    fifo::SharedFifo,
    index::Index,
    informer_observer::InformerObservers,
    object::StoredObject,
    processor::{HandlerRegistration, Listener, Registrations},
    reflector::ErrorHandler,
    scan::{ScannedObject, Scanner},
    stats::Counters,
    storage_mode::Paths,
    store::Store,
    watch_health::WatchHealth,
};
use crate::{ApiResource, View, index_spec::IndexSpec};

/// What every [`SharedInformer`](super::SharedInformer) and [`Lister`](super::Lister) of one store refers to.
///
/// [`start`](Self::start) makes the future that fills it.
pub(super) struct UntypedInformer {
    pub(super) options: InformerOptions,
    pub(super) store: Arc<Store>,
    pub(super) codec: PayloadCodec,
    /// Decodes each object when it arrives, with `StorageMode::Decoded`.
    decode_on_arrival: Option<fn(&Decoder, &StoredObject)>,
    /// Whether the failure of a transform was logged.
    transform_failed: AtomicBool,
    pub(super) decoder: Arc<Decoder>,
    pub(super) counters: Arc<Counters>,
    pub(super) error_handler: ErrorHandler,
    pub(super) watch_health: Arc<WatchHealth>,
    pub(super) registrations: Arc<Registrations>,
    pub(super) observers: InformerObservers,
    /// Cancelled when the informer is removed from its factory, or the factory is shut down.
    pub(super) stop: CancellationToken,
    /// Whether it was started for a source that was added while a controller runs, so that readiness does not depend on it.
    pub(super) is_optional: AtomicBool,
    /// Whether a registered source needs it, so that it cannot become optional.
    pub(super) is_required: AtomicBool,
    pub(super) synced: watch::Sender<bool>,
    /// Set when the informer starts.
    fifo: OnceLock<Arc<SharedFifo>>,
    /// The resync period of handlers that set none.
    resync: Mutex<Option<Duration>>,
}

impl UntypedInformer {
    /// `V` is the type that objects are decoded as when they arrive, with `StorageMode::Decoded`. `stop` ends the informer.
    pub(super) fn new<V: View>(
        info: ApiResource,
        options: InformerOptions,
        decoded_cache: Arc<DecodedCacheHandle>,
        stop: CancellationToken,
    ) -> Self {
        let (store, counters) = (Arc::<Store>::default(), Arc::new(Counters::default()));
        let sensitive = options.sensitive || info.is_secret();
        let decoder = Arc::new(Decoder::new(info, sensitive, counters.clone(), decoded_cache));
        Self {
            codec: PayloadCodec::new(store.clone(), sensitive || options.storage == StorageMode::Raw),
            store,
            decode_on_arrival: (options.storage == StorageMode::Decoded)
                .then_some(Decoder::decode_on_arrival::<V>),
            transform_failed: AtomicBool::new(false),
            options,
            decoder,
            counters,
            error_handler: ErrorHandler::default(),
            watch_health: Arc::default(),
            registrations: Arc::default(),
            observers: InformerObservers::default(),
            stop,
            is_optional: AtomicBool::new(false),
            is_required: AtomicBool::new(false),
            synced: watch::Sender::new(false),
            fifo: OnceLock::new(),
            resync: Mutex::default(),
        }
    }

    pub(super) fn info(&self) -> &ApiResource {
        self.decoder.info()
    }

    /// A scanner for the objects of this informer.
    pub(super) fn scanner(&self) -> Scanner {
        Scanner::for_mode(self.info(), &self.options.storage)
    }

    /// Sets the queue of an informer that starts. None if it was started before.
    pub(super) fn set_started(&self, queue: SharedFifo) -> Option<Arc<SharedFifo>> {
        let queue = Arc::new(queue);
        self.fifo.set(queue.clone()).ok()?;
        Some(queue)
    }

    pub(super) fn is_started(&self) -> bool {
        self.fifo.get().is_some()
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.registrations.is_stopped()
    }

    /// Marks the kind as sensitive: its objects are kept raw from now on, those in the store too, and no error quotes them.
    pub(super) fn mark_sensitive(&self) {
        self.decoder.mark_sensitive();
        self.codec.switch_off();
    }

    /// Sets the resync period of handlers that are added afterwards and set none.
    pub(super) fn set_resync(&self, period: Option<Duration>) {
        *self.resync.lock() = period;
    }

    /// Adds a handler or a sink. `name` is for logs.
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

    /// Adds an index by path and fills it.
    pub(super) fn add_index(&self, spec: &IndexSpec) -> Result<(), AddIndexError> {
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
    pub(super) fn add(&self, index: Index) -> Result<(), AddIndexError> {
        let name = index.name.clone();
        if self.store.add_index(index) {
            return Ok(());
        }
        Err(self.index_error(
            &name,
            "another index has this name; choose another name".to_owned(),
        ))
    }

    fn index_error(&self, index: &str, problem: String) -> AddIndexError {
        AddIndexError {
            kind: self.info().kind.to_string(),
            index: index.to_owned(),
            problem,
        }
    }

    /// Whether an index can find every stored object. Paths outside of a projection can only be read when an object arrives.
    fn can_fill(&self, index: &Index) -> bool {
        let StorageMode::Projection(paths) = self.options.storage else {
            return true;
        };
        let is_empty = !self.is_started() && self.store.all().is_empty();
        is_empty || Paths::new(paths).is_ok_and(|paths| index.path().is_none_or(|path| paths.contain(path)))
    }

    /// Makes the stored form of an object that was scanned: transformed, indexed and encoded. Reports it if it does not decode.
    pub(super) fn encode(&self, mut scanned: ScannedObject<'_>, indexes: &[Arc<Index>]) -> Arc<StoredObject> {
        let transformed = self.transform(&scanned);
        let json = transformed.as_deref().unwrap_or(scanned.json);
        let keys = scanned.index_keys(indexes, json);
        let ScannedObject {
            metadata,
            defect,
            owners,
            ..
        } = scanned;
        let mut object = StoredObject::new(self.decoder.clone(), metadata, Payload::default(), defect);
        *object.indexed.get_mut() = keys;
        let object = self.codec.encode(object, owners, json);
        object.index(indexes);
        if let Some(defect) = &object.defect {
            self.decoder.report(&object, ANY_TYPE, defect);
        }
        if let Some(decode_on_arrival) = self.decode_on_arrival {
            decode_on_arrival(&self.decoder, &object);
        }
        object
    }

    /// The JSON that the informer's transform makes of an object; none without a transform, or if it fails.
    fn transform(&self, object: &ScannedObject<'_>) -> Option<Vec<u8>> {
        let StorageMode::Transformed(transform) = &self.options.storage else {
            return None;
        };
        let transformed = transform.apply(object.json);
        if let Err(problem) = &transformed
            && !self.transform_failed.swap(true, Ordering::Relaxed)
        {
            let (kind, name) = (&self.info().kind, object.metadata.name());
            let problem = self.decoder.quotable(problem.clone());
            tracing::error!(
                "the transform of {kind} failed for {name}, which is stored untransformed: {problem}; further failures are not logged"
            );
        }
        transformed.ok()
    }

    /// Whether the informer's users need more than metadata: an object was decoded or read as JSON, or an index needs its body.
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
            kept_bytes: kept_bytes + self.codec.base_bytes(),
            index_errors: index_errors.sum(),
            queued: self.fifo.get().map_or(0, |fifo| fifo.len()),
            pending: self.registrations.pending(),
            ..self.counters.snapshot()
        }
    }
}
