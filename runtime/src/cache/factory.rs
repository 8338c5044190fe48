//! The shared informer factory: one informer for each kind, set of namespaces, selectors and storage mode.

use std::{fmt, sync::Arc, time::Duration};

use kube::core::{DynamicObject, PartialObjectMeta};
use parking_lot::Mutex;
use tokio::sync::SetOnce;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    AddIndexError, IndexSpec, InformerHandle, InformerStats, ListerWatcher, QueueKind, ReflectorOptions,
    SharedInformer, StorageMode, api_list_watch::ApiListWatch, cached_objects::InformerCaches,
    decoded_cache::DecodedCacheHandle, fifo::Namespace, registered_kind::RegisteredKind,
    thread::InformerThread, untyped_informer::UntypedInformer,
};
use crate::{
    ApiResource, CustomKind, Kind, Projection, Scope, View,
    client::{CachedObjects, Connection},
};

/// The options of an informer: namespaces, selectors and storage mode. Informers of one kind with equal options are shared; others have
/// a list, a watch and a store each.
///
/// Selectors are evaluated by the API server and not checked here: one that it refuses makes the lists fail. An object that no longer
/// matches is delivered as a deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct InformerOptions {
    /// Only these namespaces (empty: all); none: the namespaces of the factory. Ignored for cluster-scoped kinds, with a warning.
    pub namespaces: Option<Vec<String>>,
    /// A label selector, as for kubectl's `-l`.
    pub label_selector: Option<String>,
    /// A field selector, as for kubectl's `--field-selector`.
    pub field_selector: Option<String>,
    /// What the informer stores of each object.
    pub storage: StorageMode,
    /// The objects contain sensitive data: they are never compressed, and no error quotes their values. Secrets are always sensitive. Panic
    /// messages of your own code, such as a handler's, are logged nevertheless.
    pub sensitive: bool,
    /// The watch shares a connection with up to 63 others that ask for it, where the API server offers HTTP/2. That saves 45 KB, and an event costs about
    /// half as much CPU again: for kinds of which objects change rarely. Handlers that do not return delay the other watches of the connection.
    pub shares_connection: bool,
}

impl InformerOptions {
    fn with_storage(self, storage: StorageMode) -> Self {
        if self.storage != StorageMode::default() && self.storage != storage {
            tracing::warn!(
                "the storage mode {} of the informer's options is ignored: projected and metadata-only informers have their own",
                self.storage.name()
            );
        }
        Self { storage, ..self }
    }
}

pub(super) type ListWatchFactory =
    dyn Fn(&ApiResource, Option<&str>, &InformerOptions) -> Arc<dyn ListerWatcher> + Send + Sync;

/// Creates and runs shared informers (client-go's SharedInformerFactory). Cloning copies a pointer.
///
/// Guaranteed: all readers of one kind with the same options share one store, one list and one watch. No request is sent before
/// [`start`](Self::start), which starts each informer once; call it again for informers that are created afterwards. After
/// [`shutdown`](Self::shutdown) the stores can still be read; the informers never start again. [`remove`](Self::remove) ends one informer.
///
/// Not guaranteed: that two informers are at the same resource version; an order in which they sync.
#[derive(Clone)]
pub struct SharedInformerFactory {
    pub(super) shared: Arc<FactoryShared>,
}

pub(super) struct FactoryShared {
    pub(super) list_watch: Box<ListWatchFactory>,
    pub(super) state: Mutex<FactoryState>,
    decoded_cache: Arc<DecodedCacheHandle>,
    pub(super) thread: InformerThread,
    pub(super) tracker: TaskTracker,
    /// The parent of the informers' tokens.
    pub(super) cancel: CancellationToken,
    /// The panic of an informer.
    pub(super) failure: Arc<SetOnce<String>>,
}

#[derive(Default, Clone)]
pub(super) struct FactoryState {
    pub(super) informers: Vec<Arc<UntypedInformer>>,
    pub(super) namespaces: Vec<String>,
    pub(super) queue: QueueKind,
    kinds: Vec<RegisteredKind>,
    pub(super) reflector_options: ReflectorOptions,
    /// Kinds that their derive marks as sensitive.
    sensitive: Vec<ApiResource>,
    resync: Option<Duration>,
    /// The informers that were asked for since the record began; none if nothing is recorded.
    asked_for: Option<Vec<Arc<UntypedInformer>>>,
    /// Whether [`start`](SharedInformerFactory::start) was called.
    pub(super) is_started: bool,
}

impl fmt::Debug for SharedInformerFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInformerFactory")
            .field("informers", &self.informers())
            .finish_non_exhaustive()
    }
}

impl SharedInformerFactory {
    /// Creates a factory that lists and watches through `connection`. No request is sent before [`start`](Self::start).
    pub fn new(connection: Connection) -> Self {
        Self::from_sources(move |info, namespace, options| {
            Arc::new(ApiListWatch::new(connection.clone(), info, namespace, options))
        })
    }

    /// Creates a factory with custom list-watches: `sources` returns one for a kind, a namespace (none: all) and options.
    pub fn from_sources(
        sources: impl Fn(&ApiResource, Option<&str>, &InformerOptions) -> Arc<dyn ListerWatcher>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self {
            shared: Arc::new(FactoryShared {
                list_watch: Box::new(sources),
                state: Mutex::default(),
                decoded_cache: Arc::default(),
                thread: InformerThread::default(),
                tracker: TaskTracker::new(),
                cancel: CancellationToken::new(),
                failure: Arc::default(),
            }),
        }
    }

    /// Sets the namespaces of informers without namespaces in their options; empty: all. Applies to informers that start afterwards.
    pub fn set_namespaces(&self, namespaces: Vec<String>) {
        self.shared.state.lock().namespaces = namespaces;
    }

    /// Sets the budget of the decoded cache of this factory's informers, in bytes; zero switches it off. Default: 32 MiB, shared with all
    /// other factories of the process. Objects that are cached already stay in the shared cache until they change.
    ///
    /// An object that [`Lister::get`](super::Lister::get) decodes a second time is cached until it changes. It is charged eight times the
    /// bytes of its JSON. Lists and handlers do not fill the cache. If it is full, objects that were not read recently are evicted.
    pub fn set_decoded_cache_bytes(&self, bytes: usize) {
        self.shared.decoded_cache.set_budget(bytes);
    }

    /// Sets the kind of the delta queue between reflectors and store. Applies to informers that start afterwards.
    pub fn set_queue(&self, queue: QueueKind) {
        self.shared.state.lock().queue = queue;
    }

    /// Sets how informers list and watch. Applies to informers that start afterwards.
    pub fn set_reflector_options(&self, options: ReflectorOptions) {
        self.shared.state.lock().reflector_options = options;
    }

    /// Sets the default resync period of handlers; see [`HandlerOptions::resync`](super::HandlerOptions::resync). Applies to informers that
    /// are created afterwards. Default: never. [`SharedInformer::set_resync`] sets it for one informer.
    pub fn set_resync(&self, period: Option<Duration>) {
        self.shared.state.lock().resync = period;
    }

    /// Returns the informer of a kind.
    pub fn of<K: Kind>(&self) -> SharedInformer<K> {
        self.with(InformerOptions::default())
    }

    /// Returns the informer of a kind with options.
    pub fn with<K: Kind>(&self, options: InformerOptions) -> SharedInformer<K> {
        self.of_kind(K::info(), options)
    }

    /// Returns the informer of a kind that stores only the paths of the projection `P`.
    pub fn projected<P: Projection>(&self) -> SharedInformer<P> {
        self.projected_with(InformerOptions::default())
    }

    /// As [`projected`](Self::projected), with options; their [`storage`](InformerOptions::storage) is ignored.
    pub fn projected_with<P: Projection>(&self, options: InformerOptions) -> SharedInformer<P> {
        self.of_kind(P::info(), options.with_storage(StorageMode::Projection(P::PATHS)))
    }

    /// Returns the informer of a kind that requests and stores only metadata.
    pub fn metadata_only<K>(&self) -> SharedInformer<PartialObjectMeta<K>>
    where
        K: Kind,
        PartialObjectMeta<K>: View,
    {
        self.metadata_only_with(InformerOptions::default())
    }

    /// As [`metadata_only`](Self::metadata_only), with options; their [`storage`](InformerOptions::storage) is ignored.
    pub fn metadata_only_with<K>(&self, options: InformerOptions) -> SharedInformer<PartialObjectMeta<K>>
    where
        K: Kind,
        PartialObjectMeta<K>: View,
    {
        self.of_kind(K::info(), options.with_storage(StorageMode::Metadata))
    }

    /// Returns the informer of a kind that is known only at run time. [`ApiResource::discover`] finds it on the API server.
    pub fn dynamic(&self, kind: ApiResource, options: InformerOptions) -> SharedInformer<DynamicObject> {
        self.of_kind(kind, options)
    }

    /// As [`dynamic`](Self::dynamic), with metadata only; the options' [`storage`](InformerOptions::storage) is ignored.
    pub fn dynamic_metadata(
        &self,
        kind: ApiResource,
        options: InformerOptions,
    ) -> SharedInformer<PartialObjectMeta<DynamicObject>> {
        self.of_kind(kind, options.with_storage(StorageMode::Metadata))
    }

    fn of_kind<V: View>(&self, info: ApiResource, options: InformerOptions) -> SharedInformer<V> {
        let mut state = self.shared.state.lock();
        let known = state
            .informers
            .iter()
            .find(|informer| *informer.info() == info && informer.options == options);
        let informer = known.cloned().unwrap_or_else(|| {
            let informer = Arc::new(UntypedInformer::new::<V>(
                info,
                options,
                self.shared.decoded_cache.clone(),
                self.shared.cancel.child_token(),
            ));
            if state
                .sensitive
                .iter()
                .any(|kind| kind.is_version_of(informer.info()))
            {
                informer.mark_sensitive();
            }
            informer.set_resync(state.resync);
            state.informers.push(informer.clone());
            informer
        });
        if let Some(asked_for) = &mut state.asked_for
            && !asked_for.iter().any(|known| Arc::ptr_eq(known, &informer))
        {
            asked_for.push(informer.clone());
        }
        SharedInformer::over(informer)
    }

    /// Returns the informer of a kind with these indexes; see [`SharedInformer::add_index`] for why it fails.
    pub fn indexed<K: Kind>(&self, indexes: &[IndexSpec]) -> Result<SharedInformer<K>, AddIndexError> {
        let informer = self.of::<K>();
        for index in indexes {
            informer.add_index(index)?;
        }
        Ok(informer)
    }

    /// Returns the informer of a custom kind, with the indexes that its derive declares.
    pub fn custom<K: CustomKind>(&self) -> SharedInformer<K> {
        self.custom_with(InformerOptions::default())
    }

    /// As [`custom`](Self::custom), with options.
    pub fn custom_with<K: CustomKind>(&self, options: InformerOptions) -> SharedInformer<K> {
        let mut state = self.shared.state.lock();
        RegisteredKind::of::<K>().add_to(&mut state.kinds);
        if K::SENSITIVE {
            let info = K::info();
            let informers = state.informers.iter();
            informers
                .filter(|informer| informer.info().is_version_of(&info))
                .for_each(|informer| informer.mark_sensitive());
            if !state.sensitive.contains(&info) {
                state.sensitive.push(info);
            }
        }
        drop(state);
        let informer = self.with::<K>(options);
        for index in K::indexes() {
            // The derive has checked the path: only an index of the same name and another path, added by hand before, fails here.
            if let Err(error) = informer.add_index(index) {
                tracing::error!("{error}");
            }
        }
        informer
    }

    /// Returns the custom kinds that have informers.
    #[doc(hidden)]
    pub fn custom_kinds(&self) -> Vec<RegisteredKind> {
        self.shared.state.lock().kinds.clone()
    }

    /// Returns the kind and the options of each informer. A kind that occurs twice is listed and watched twice.
    pub fn informers(&self) -> Vec<(ApiResource, InformerOptions)> {
        self.untyped_informers()
            .iter()
            .map(|informer| (informer.info().clone(), informer.options.clone()))
            .collect()
    }

    /// Returns the kinds that have more than one informer, each with the options of its informers.
    pub fn duplicates(&self) -> Vec<(ApiResource, Vec<InformerOptions>)> {
        let mut kinds: Vec<(ApiResource, Vec<InformerOptions>)> = Vec::new();
        for (info, options) in self.informers() {
            match kinds.iter_mut().find(|(known, _)| *known == info) {
                Some((_, all)) => all.push(options),
                None => kinds.push((info, vec![options])),
            }
        }
        kinds.retain(|(_, all)| all.len() > 1);
        kinds
    }

    /// Returns a handle of each informer.
    pub(crate) fn progress(&self) -> Vec<InformerHandle> {
        self.untyped_informers()
            .into_iter()
            .map(InformerHandle::of)
            .collect()
    }

    /// Records from now on which informers are asked for, in `record`, or no longer. Returns the record before.
    pub(crate) fn record_requests(&self, record: Option<Vec<InformerHandle>>) -> Option<Vec<InformerHandle>> {
        let record = record.map(|handles| handles.iter().map(|handle| handle.untyped().clone()).collect());
        let before = std::mem::replace(&mut self.shared.state.lock().asked_for, record);
        before.map(|informers| informers.into_iter().map(InformerHandle::of).collect())
    }

    /// Returns the statistics of every informer.
    #[doc(hidden)]
    pub fn stats(&self) -> Vec<(ApiResource, InformerOptions, InformerStats)> {
        let stats = |informer: &Arc<UntypedInformer>| {
            (
                informer.info().clone(),
                informer.options.clone(),
                informer.stats(),
            )
        };
        self.untyped_informers().iter().map(stats).collect()
    }

    /// Returns each informer with the namespaces that it lists; [`None`] is all namespaces.
    pub(super) fn informers_with_namespaces(&self) -> Vec<(Arc<UntypedInformer>, Vec<Namespace>)> {
        let FactoryState {
            informers,
            namespaces: factory_namespaces,
            ..
        } = self.shared.state.lock().clone();
        let with_namespaces = informers.into_iter().map(|informer| {
            let namespaces = namespaces(&informer, &factory_namespaces);
            (informer, namespaces)
        });
        with_namespaces.collect()
    }

    /// Read access for clients. It does not keep the informers alive.
    pub(crate) fn cached_objects(&self) -> Arc<dyn CachedObjects> {
        let shared = Arc::downgrade(&self.shared);
        Arc::new(InformerCaches::new(move |kind| {
            let Some(shared) = shared.upgrade() else {
                return Vec::new();
            };
            let state = shared.state.lock();
            let of_kind = state.informers.iter().filter(|informer| informer.info() == kind);
            of_kind.cloned().collect()
        }))
    }

    pub(super) fn untyped_informers(&self) -> Vec<Arc<UntypedInformer>> {
        self.shared.state.lock().informers.clone()
    }
}

/// Returns the namespaces that an informer lists one by one; a single none for all namespaces.
pub(super) fn namespaces(informer: &UntypedInformer, factory: &[String]) -> Vec<Namespace> {
    let mut namespaces: Vec<Namespace> = match informer.info().scope {
        Scope::Cluster => Vec::new(),
        Scope::Namespaced => {
            let names = informer.options.namespaces.as_deref().unwrap_or(factory);
            names.iter().map(|name| Some(name.as_str().into())).collect()
        }
    };
    namespaces.sort_unstable();
    namespaces.dedup();
    if namespaces.is_empty() {
        namespaces.push(None);
    }
    namespaces
}
