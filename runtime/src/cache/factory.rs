//! One informer per (kind, namespaces, selectors, what it keeps).

use std::{fmt, sync::Arc, time::Duration};

use futures::future::join_all;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::{DynamicObject, PartialObjectMeta};
use parking_lot::Mutex;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    IndexSpec, InformerHandle, InformerStats, ListerWatcher, QueueKind, ReflectorOptions, SeedError,
    SharedInformer, StorageMode, api_list_watch::ApiListWatch, cached_objects::InformerCaches,
    decoded_cache::DecodedCacheHandle, fifo::Namespace, freshness::Quorum, seeding, thread::InformerThread,
    untyped_informer::UntypedInformer, warnings,
};
use crate::{
    ApiResource, CustomKind, Kind, Projection, Scope, View,
    client::{CachedObjects, Connection},
};

/// What distinguishes two informers of one kind: equal options are one informer, others are a list, a watch and a store each.
///
/// Selectors are the API server's business: they are not checked here, and one that it does not understand shows as a list that fails.
/// An object that no longer matches is told of as a deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct InformerOptions {
    /// Only these namespaces (empty: all); none: those of the factory. Ignored for cluster-scoped kinds.
    pub namespaces: Option<Vec<String>>,
    /// Only objects whose labels match, as kubectl's `-l`.
    pub label_selector: Option<String>,
    /// Only objects whose fields match, as kubectl's `--field-selector`.
    pub field_selector: Option<String>,
    /// What is kept of each object.
    pub storage: StorageMode,
    /// The objects hold what must not stand anywhere else: they enter no dictionary, and no error quotes them. Secrets always are. What
    /// code of yours says when it panics is up to you: a handler's is logged.
    pub sensitive: bool,
}

impl InformerOptions {
    fn keeping(self, storage: StorageMode) -> Self {
        Self { storage, ..self }
    }
}

/// A custom kind that an informer was made of.
#[derive(Clone, Debug)]
pub struct RegisteredKind {
    /// How the API server names it.
    pub info: ApiResource,
    /// Makes its definition; see [`CustomKind::definition`].
    pub definition: fn() -> CustomResourceDefinition,
    /// Whether somebody else owns the definition.
    pub external: bool,
    /// The indexes that its derive names.
    pub indexes: &'static [IndexSpec],
}

type Sources = dyn Fn(&ApiResource, Option<&str>, &InformerOptions) -> Arc<dyn ListerWatcher> + Send + Sync;

/// Makes informers and runs them. Cloning copies a pointer.
///
/// Guaranteed: every reader of one kind with the same options shares one store, one list and one watch. Nothing is sent before
/// [`start`](Self::start), which starts each informer once; one that is made afterwards needs another call. What
/// [`shutdown`](Self::shutdown) has ended stays readable, and never starts again.
///
/// Not guaranteed: that informers are at the same version as one another; an order in which they sync.
#[derive(Clone)]
pub struct SharedInformerFactory {
    shared: Arc<Shared>,
}

struct Shared {
    sources: Box<Sources>,
    state: Mutex<State>,
    hot: Arc<DecodedCacheHandle>,
    thread: InformerThread,
    tracker: TaskTracker,
    cancel: CancellationToken,
}

#[derive(Default, Clone)]
struct State {
    informers: Vec<Arc<UntypedInformer>>,
    namespaces: Vec<String>,
    queue: QueueKind,
    kinds: Vec<RegisteredKind>,
    reflectors: ReflectorOptions,
    /// Kinds whose derive says so.
    sensitive: Vec<ApiResource>,
    resync: Option<Duration>,
}

impl fmt::Debug for SharedInformerFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInformerFactory")
            .field("informers", &self.informers())
            .finish_non_exhaustive()
    }
}

impl SharedInformerFactory {
    /// A factory that lists and watches through `connection`. Nothing is sent before [`start`](Self::start).
    pub fn new(connection: Connection) -> Self {
        Self::from_sources(move |info, namespace, options| {
            Arc::new(ApiListWatch::new(connection.clone(), info, namespace, options))
        })
    }

    /// A factory whose informers list and watch what `sources` makes for a kind, a namespace (none: all) and options.
    pub fn from_sources(
        sources: impl Fn(&ApiResource, Option<&str>, &InformerOptions) -> Arc<dyn ListerWatcher>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                sources: Box::new(sources),
                state: Mutex::default(),
                hot: Arc::default(),
                thread: InformerThread::default(),
                tracker: TaskTracker::new(),
                cancel: CancellationToken::new(),
            }),
        }
    }

    /// The namespaces that informers without namespaces of their own watch; empty: all. Takes effect for informers that start afterwards.
    pub fn set_namespaces(&self, namespaces: Vec<String>) {
        self.shared.state.lock().namespaces = namespaces;
    }

    /// How many bytes of memory the decoded objects of this factory's informers may take, together; none: 0. A factory of which nothing is
    /// said shares 32 MiB with all others of the process. What was decoded before is not counted here, and stays until it changes.
    ///
    /// What [`Lister::get`](super::Lister::get) decoded a second time stays decoded within this, until the object changes. An object is charged eight
    /// times the length of its JSON. Lists and handlers do not fill it. When it is full, what was not read lately goes.
    pub fn set_hot_set(&self, bytes: usize) {
        self.shared.hot.set_budget(bytes);
    }

    /// The queue between reflectors and store. Takes effect for informers that start afterwards.
    pub fn set_queue(&self, queue: QueueKind) {
        self.shared.state.lock().queue = queue;
    }

    /// How informers list and watch that start afterwards.
    pub fn set_reflector_options(&self, options: ReflectorOptions) {
        self.shared.state.lock().reflectors = options;
    }

    /// After this time, again and again, handlers are resynced that do not say how often themselves; see
    /// [`HandlerOptions::resync`](super::HandlerOptions::resync). For informers that are made afterwards. By default: never.
    /// [`SharedInformer::set_resync`] is for one informer.
    pub fn set_resync(&self, period: Option<Duration>) {
        self.shared.state.lock().resync = period;
    }

    /// The informer of a kind.
    pub fn of<K: Kind>(&self) -> SharedInformer<K> {
        self.with(InformerOptions::default())
    }

    /// The informer of a kind, restricted.
    pub fn with<K: Kind>(&self, options: InformerOptions) -> SharedInformer<K> {
        self.of_kind(K::info(), options)
    }

    /// The informer of a kind that keeps no more than what `P` shows.
    pub fn projected<P: Projection>(&self) -> SharedInformer<P> {
        self.projected_with(InformerOptions::default())
    }

    /// The same, restricted. What the options say of [`storage`](InformerOptions::keep) does not count.
    pub fn projected_with<P: Projection>(&self, options: InformerOptions) -> SharedInformer<P> {
        self.of_kind(P::info(), options.keeping(StorageMode::Projection(P::PATHS)))
    }

    /// The informer of a kind that is sent, and keeps, nothing but metadata.
    pub fn metadata_only<K>(&self) -> SharedInformer<PartialObjectMeta<K>>
    where
        K: Kind,
        PartialObjectMeta<K>: View,
    {
        self.metadata_only_with(InformerOptions::default())
    }

    /// The same, restricted. What the options say of [`storage`](InformerOptions::keep) does not count.
    pub fn metadata_only_with<K>(&self, options: InformerOptions) -> SharedInformer<PartialObjectMeta<K>>
    where
        K: Kind,
        PartialObjectMeta<K>: View,
    {
        self.of_kind(K::info(), options.keeping(StorageMode::Metadata))
    }

    /// The informer of a kind that is known only when the program runs. [`ApiResource::discover`] asks the API server for it.
    pub fn dynamic(&self, kind: ApiResource, options: InformerOptions) -> SharedInformer<DynamicObject> {
        self.of_kind(kind, options)
    }

    /// As [`dynamic`](Self::dynamic), with nothing but metadata, whatever the options say of [`storage`](InformerOptions::keep).
    pub fn dynamic_metadata(
        &self,
        kind: ApiResource,
        options: InformerOptions,
    ) -> SharedInformer<PartialObjectMeta<DynamicObject>> {
        self.of_kind(kind, options.keeping(StorageMode::Metadata))
    }

    fn of_kind<V: View>(&self, info: ApiResource, options: InformerOptions) -> SharedInformer<V> {
        let mut state = self.shared.state.lock();
        let known = state
            .informers
            .iter()
            .find(|core| *core.info() == info && core.options == options);
        let core = known.cloned().unwrap_or_else(|| {
            let core = Arc::new(UntypedInformer::new::<V>(info, options, self.shared.hot.clone()));
            if state.sensitive.iter().any(|kind| kind.is_version_of(core.info())) {
                core.mark_sensitive();
            }
            core.set_resync(state.resync);
            state.informers.push(core.clone());
            core
        });
        SharedInformer::over(core)
    }

    /// Adds indexes to the informer of a kind; one whose name is there already is left alone.
    pub fn indexed<K: Kind>(&self, indexes: &[IndexSpec]) -> SharedInformer<K> {
        self.indexed_with(InformerOptions::default(), indexes)
    }

    fn indexed_with<K: Kind>(&self, options: InformerOptions, indexes: &[IndexSpec]) -> SharedInformer<K> {
        let informer = self.with::<K>(options);
        for index in indexes {
            informer.add_index(index);
        }
        informer
    }

    /// The informer of a custom kind, with the indexes that its derive names; remembers the kind for [`custom_kinds`](Self::custom_kinds).
    pub fn custom<K: CustomKind>(&self) -> SharedInformer<K> {
        self.custom_with(InformerOptions::default())
    }

    /// The same, restricted.
    pub fn custom_with<K: CustomKind>(&self, options: InformerOptions) -> SharedInformer<K> {
        let info = K::info();
        let mut state = self.shared.state.lock();
        if !state.kinds.iter().any(|known| known.info == info) {
            state.kinds.push(RegisteredKind {
                info,
                definition: K::definition,
                external: K::EXTERNAL,
                indexes: K::indexes(),
            });
        }
        if K::SENSITIVE {
            let info = K::info();
            let cores = state.informers.iter();
            cores
                .filter(|core| core.info().is_version_of(&info))
                .for_each(|core| core.mark_sensitive());
            state.sensitive.push(info);
        }
        drop(state);
        self.indexed_with(options, K::indexes())
    }

    /// The custom kinds of which informers were made.
    pub fn custom_kinds(&self) -> Vec<RegisteredKind> {
        self.shared.state.lock().kinds.clone()
    }

    /// Starts the informers that are not running yet; may be called again after more were made. Must be called within a tokio runtime.
    ///
    /// In a runtime of several threads all informers of a factory share a thread of their own, named `informers`: what they call in line
    /// (transforms, functions of indexes, mappings to keys, predicates) should not block. Handlers run on the runtime's threads.
    pub fn start(&self) {
        let Shared {
            sources,
            state,
            thread,
            tracker,
            cancel,
            ..
        } = &*self.shared;
        if cancel.is_cancelled() {
            tracing::warn!("the informers were shut down and do not start again");
            return;
        }
        let State {
            informers,
            namespaces: factory_namespaces,
            queue,
            reflectors,
            ..
        } = state.lock().clone();
        for core in informers.iter().filter(|core| !core.is_started()) {
            let namespaces = namespaces(core, &factory_namespaces);
            for hint in warnings::before_start(core, &namespaces, &informers) {
                tracing::warn!("{hint}");
            }
            let sources = namespaces.into_iter().map(|namespace| {
                let source = sources(core.info(), namespace.as_deref(), &core.options);
                (namespace, source)
            });
            let Some(informer) = core.start(sources.collect(), queue, &reflectors, tracker, cancel) else {
                continue;
            };
            thread.spawn(tracker, informer);
            let (unread, cancel) = (warnings::unread(core.clone()), cancel.clone());
            tracker.spawn(async move {
                if let Some(Some(hint)) = cancel.run_until_cancelled(unread).await {
                    tracing::info!("{hint}");
                }
            });
        }
    }

    /// Waits until all started informers hold their first list, or until [`shutdown`](Self::shutdown). Cancel safe.
    pub async fn wait_for_cache_sync(&self) {
        let cores = self.cores();
        let synced = async {
            for core in cores.iter().filter(|core| core.is_started()) {
                core.wait_for_sync().await;
            }
        };
        self.shared.cancel.run_until_cancelled(synced).await;
    }

    /// Waits until all started informers hold what the API server has now: each asks it for a list of one object, at a cost of one request
    /// and at most a short watch a namespace. For whoever acts on a cache that was only looked at for a long time, as a replica does that
    /// becomes leader.
    ///
    /// Waits as long as something is known to be missing; an API server that says neither yes nor no, because it sends no bookmarks, is
    /// waited for half a minute, which is logged. Versions that are no numbers are not waited for, which is logged, too. Ends with
    /// [`shutdown`](Self::shutdown). Cancel safe.
    pub async fn wait_until_current(&self) {
        let Shared {
            sources,
            state,
            cancel,
            ..
        } = &*self.shared;
        let State {
            informers,
            namespaces: factory_namespaces,
            ..
        } = state.lock().clone();
        let started = informers.iter().filter(|core| core.is_started());
        let waits = started.flat_map(|core| {
            let namespaces = namespaces(core, &factory_namespaces).into_iter();
            namespaces.map(move |namespace| {
                let source = sources(core.info(), namespace.as_deref(), &core.options);
                Quorum::new(core.clone(), namespace, source).reached()
            })
        });
        cancel.run_until_cancelled(join_all(waits)).await;
    }

    /// Stops all informers and returns when their tasks ended. They do not start again.
    pub async fn shutdown(&self) {
        self.shared.cancel.cancel();
        self.shared.tracker.close();
        self.shared.tracker.wait().await;
    }

    /// What was made, for roles and hints. A kind that stands twice is listed and watched twice.
    pub fn informers(&self) -> Vec<(ApiResource, InformerOptions)> {
        self.cores()
            .iter()
            .map(|core| (core.info().clone(), core.options.clone()))
            .collect()
    }

    /// The kinds of which there is more than one informer, each with what distinguishes them.
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

    /// How far each informer is.
    pub(crate) fn progress(&self) -> Vec<InformerHandle> {
        self.cores().into_iter().map(InformerHandle::of).collect()
    }

    /// Figures of every informer.
    pub fn stats(&self) -> Vec<(ApiResource, InformerOptions, InformerStats)> {
        let stats = |core: &Arc<UntypedInformer>| (core.info().clone(), core.options.clone(), core.stats());
        self.cores().iter().map(stats).collect()
    }

    /// The started informers that wait for their first list.
    pub fn unsynced(&self) -> Vec<ApiResource> {
        let cores = self.cores();
        let waiting = cores
            .iter()
            .filter(|core| core.is_started() && !core.has_synced());
        waiting.map(|core| core.info().clone()).collect()
    }

    /// What keeps the started informers of a kind from being up to date: they hold no first list yet, or have had no watch for longer
    /// than `patience`.
    pub fn check(&self, kind: &ApiResource, patience: Duration) -> Result<(), String> {
        let cores = self.cores();
        let of_kind = |core: &&Arc<UntypedInformer>| core.is_started() && core.info() == kind;
        for core in cores.iter().filter(of_kind) {
            if !core.has_synced() {
                return Err(format!("waiting for the first list of {}", kind.group_resource()));
            }
            if let Some(missing) = core.watches.missing_for().filter(|missing| *missing > patience) {
                return Err(format!(
                    "no watch of {} for {} s",
                    kind.group_resource(),
                    missing.as_secs()
                ));
            }
        }
        Ok(())
    }

    /// Puts an object into the store of each informer of its kind whose namespaces and selectors it matches, as
    /// [`SharedInformer::seed`] does. Says how many those were.
    pub fn seed(&self, info: &ApiResource, object: &serde_json::Value) -> Result<usize, SeedError> {
        let factory_namespaces = self.shared.state.lock().namespaces.clone();
        let mut seeded = 0;
        for core in self.cores().iter().filter(|core| core.info() == info) {
            if seeding::matches(&core.options, &namespaces(core, &factory_namespaces), object) {
                core.seed(object)?;
                seeded += 1;
            }
        }
        Ok(seeded)
    }

    /// Read access for clients. It does not keep the informers alive.
    pub(crate) fn cached_objects(&self) -> Arc<dyn CachedObjects> {
        let shared = Arc::downgrade(&self.shared);
        Arc::new(InformerCaches::new(move |kind| {
            let Some(shared) = shared.upgrade() else {
                return Vec::new();
            };
            let state = shared.state.lock();
            let of_kind = state.informers.iter().filter(|core| core.info() == kind);
            of_kind.cloned().collect()
        }))
    }

    fn cores(&self) -> Vec<Arc<UntypedInformer>> {
        self.shared.state.lock().informers.clone()
    }
}

/// The namespaces that an informer lists one by one, or none in particular.
fn namespaces(core: &UntypedInformer, factory: &[String]) -> Vec<Namespace> {
    let mut namespaces: Vec<Namespace> = match core.info().scope {
        Scope::Cluster => Vec::new(),
        Scope::Namespaced => {
            let names = core.options.namespaces.as_deref().unwrap_or(factory);
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
