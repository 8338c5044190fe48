//! One controller, as it was registered.

use std::{fmt, sync::Arc, time::Duration};

use futures::{Stream, StreamExt as _, future::BoxFuture, stream::BoxStream};
use parking_lot::Mutex;

use super::{BoxReconciler, Expectations, OwnEvents, Pause, Reconciler, RegistrationError};
use crate::{
    ApiResource, Clock, NamespacedName, Scope, View,
    cache::{Change, HandlerOptions, InformerHandle, SharedInformer, SharedInformerFactory},
    workqueue::{self, RateLimiter},
};

/// A key waits so long for the cache to show what it wrote.
const WRITE_WAIT: Duration = Duration::from_secs(10);

/// One controller, as it was registered; see [`Setup::controller`](super::Setup::controller).
pub struct ControllerBuilder {
    pub(super) name: String,
    pub(super) reconciler: BoxReconciler,
    pub(super) workers: usize,
    pub(super) limiter: Box<dyn RateLimiter<NamespacedName>>,
    pub(super) sources: Vec<Source>,
    pub(super) timeout: Option<Duration>,
    pub(super) write_wait: Duration,
    pub(super) own_events: OwnEvents,
    pub(super) pause: Pause,
    pub(super) resync: Option<Duration>,
    /// Keys from outside. The lock makes what can be sent shareable.
    pub(super) streams: Mutex<Vec<BoxStream<'static, NamespacedName>>>,
    /// All informers that reconcile may read.
    pub(super) informers: Option<SharedInformerFactory>,
    pub(super) clock: Clock,
}

/// An informer that feeds the controller's queue, without its type.
pub(super) struct Source {
    pub(super) kind: ApiResource,
    pub(super) mapping: Mapping,
    pub(super) conditions: Vec<Condition>,
    pub(super) expectations: Option<Expectations>,
    pub(super) synced: Synced,
    pub(super) progress: InformerHandle,
    pub(super) connect: Box<dyn FnOnce(Sink, HandlerOptions) + Send + Sync>,
}

/// Whether an informer holds its first list, and how to wait for that.
#[derive(Clone)]
pub(super) struct Synced {
    pub(super) now: Arc<dyn Fn() -> bool + Send + Sync>,
    pub(super) wait: Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>,
}

/// What an informer calls for each change.
pub(super) type Condition = Box<dyn Fn(&Change<'_>) -> bool + Send + Sync>;

pub(super) type Sink = Box<dyn Fn(&Change<'_>) + Send + Sync>;

/// What the user maps changes with.
type Map = Box<dyn Fn(&Change<'_>) -> Vec<NamespacedName> + Send + Sync>;

/// Which keys a change wakes.
pub(super) enum Mapping {
    /// The key of the object itself.
    Primary,
    /// The keys of its controller owners, before and after.
    Owner,
    /// What the user says.
    Custom(Map),
}

impl ControllerBuilder {
    pub(super) fn new(name: String, reconciler: impl Reconciler) -> Self {
        Self {
            name,
            reconciler: BoxReconciler::new(reconciler),
            workers: 1,
            limiter: Box::new(workqueue::default_limiter()),
            sources: Vec::new(),
            timeout: None,
            write_wait: WRITE_WAIT,
            own_events: OwnEvents::default(),
            pause: Pause::new(),
            resync: None,
            streams: Mutex::default(),
            informers: None,
            clock: Clock::system(),
        }
    }

    /// The primary kind: every add, update and delete of an object wakes its key.
    pub fn reconciles<K: View>(&mut self, informer: &SharedInformer<K>) -> &mut Self {
        self.source(informer, Mapping::Primary)
    }

    /// A kind whose objects the primary kind owns: a change wakes the controller owner, and the former one when it changed.
    ///
    /// Resyncs, updates with an equal resource version, wake nobody. Owners are compared by group and kind, not by uid.
    pub fn owns<K: View>(&mut self, informer: &SharedInformer<K>) -> &mut Self {
        self.source(informer, Mapping::Owner)
    }

    /// A kind whose changes wake the keys that `map` returns. It is called in line with the store's changes: it must be
    /// quick and must not block.
    pub fn watches<K: View>(
        &mut self,
        informer: &SharedInformer<K>,
        map: impl Fn(&Change<'_>) -> Vec<NamespacedName> + Send + Sync + 'static,
    ) -> &mut Self {
        self.source(informer, Mapping::Custom(Box::new(map)))
    }

    /// Only changes that `condition` accepts wake keys, of the kind that was named just before: `.owns(&pods).when(|change| …)`. It is called in
    /// line with the store's changes, must be quick and must not block. Without a kind named before it does nothing. LogOnce twice,
    /// both must accept. [`predicates`](super::predicates) has the usual ones.
    pub fn when(&mut self, condition: impl Fn(&Change<'_>) -> bool + Send + Sync + 'static) -> &mut Self {
        if let Some(source) = self.sources.last_mut() {
            source.conditions.push(Box::new(condition));
        }
        self
    }

    /// Tells these expectations of the objects of the kind that was named just before, whatever conditions say; each counts for the
    /// keys that it would wake. Without a kind named before it does nothing.
    pub fn expects(&mut self, expectations: &Expectations) -> &mut Self {
        if let Some(source) = self.sources.last_mut() {
            source.expectations = Some(expectations.clone());
        }
        self
    }

    /// Keys that `stream` yields are woken: by a webhook, a timer, a message queue. It is polled while the controller runs, and may end.
    pub fn wakes_on(&mut self, stream: impl Stream<Item = NamespacedName> + Send + 'static) -> &mut Self {
        self.streams.get_mut().push(stream.boxed());
        self
    }

    /// After this time, again and again, each object in the caches of the controller's kinds is told again: those of the primary kind wake their
    /// keys, behind all that changed. Nothing is asked of the API server. Zero: never. See [`HandlerOptions::resync`];
    /// [`Setup::set_resync`](super::Setup::set_resync) is for all controllers that do not say.
    pub fn resync(&mut self, period: Duration) -> &mut Self {
        self.resync = Some(period);
        self
    }

    /// Drops a reconcile that takes longer, at an await; it counts as failed, and is tried again with a growing delay. By default none is.
    pub fn reconcile_timeout(&mut self, timeout: Duration) -> &mut Self {
        self.timeout = Some(timeout);
        self
    }

    /// How long a key waits for the cache to show what it wrote; 10 s unless said otherwise, zero: not at all. See [`Reconciler`].
    pub fn write_wait(&mut self, bound: Duration) -> &mut Self {
        self.write_wait = bound;
        self
    }

    /// Whether the events of its own writes wake a key; they do not unless said otherwise. See [`Reconciler`].
    pub fn own_events(&mut self, own_events: OwnEvents) -> &mut Self {
        self.own_events = own_events;
        self
    }

    /// Stops and continues the controller while the operator runs.
    pub fn pause_handle(&self) -> Pause {
        self.pause.clone()
    }

    /// How many keys are reconciled at once; 1 unless said otherwise.
    pub fn workers(&mut self, workers: usize) -> &mut Self {
        self.workers = workers;
        self
    }

    /// How long a key waits after a failure. Default: the longer of 5 ms · 2ⁿ up to 1000 s for the key, and what a bucket of 100
    /// tokens, 10 more a second, says for the controller.
    pub fn rate_limiter(&mut self, limiter: impl RateLimiter<NamespacedName>) -> &mut Self {
        self.limiter = Box::new(limiter);
        self
    }

    /// The controller's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many keys are reconciled at once.
    pub fn worker_count(&self) -> usize {
        self.workers
    }

    /// The kind that it reconciles.
    pub fn primary(&self) -> Option<&ApiResource> {
        self.kinds(|mapping| matches!(mapping, Mapping::Primary)).next()
    }

    /// The kinds whose objects the primary kind owns.
    pub fn owned(&self) -> impl Iterator<Item = &ApiResource> {
        self.kinds(|mapping| matches!(mapping, Mapping::Owner))
    }

    /// The other kinds whose changes wake keys.
    pub fn watched(&self) -> impl Iterator<Item = &ApiResource> {
        self.kinds(|mapping| matches!(mapping, Mapping::Custom(_)))
    }

    /// The reconciler.
    pub fn reconciler(&self) -> BoxReconciler {
        self.reconciler.clone()
    }

    /// What is wrong with it.
    pub(super) fn errors(&self) -> Vec<RegistrationError> {
        let controller = self.name.clone();
        let mut errors = Vec::new();
        match self.kinds(|mapping| matches!(mapping, Mapping::Primary)).count() {
            0 => errors.push(RegistrationError::NoPrimary {
                controller: controller.clone(),
            }),
            1 => {}
            _ => errors.push(RegistrationError::SecondPrimary {
                controller: controller.clone(),
            }),
        }
        if self.workers == 0 {
            errors.push(RegistrationError::NoWorkers {
                controller: controller.clone(),
            });
        }
        if let Some(owner) = self.primary().filter(|owner| owner.scope == Scope::Namespaced) {
            errors.extend(
                self.owned()
                    .filter(|owned| owned.scope == Scope::Cluster)
                    .map(|owned| RegistrationError::OwnsAcrossScopes {
                        controller: controller.clone(),
                        owner: owner.kind.to_string(),
                        owned: owned.kind.to_string(),
                    }),
            );
        }
        errors
    }

    fn kinds(&self, which: impl Fn(&Mapping) -> bool) -> impl Iterator<Item = &ApiResource> {
        self.sources
            .iter()
            .filter(move |source| which(&source.mapping))
            .map(|source| &source.kind)
    }

    fn source<K: View>(&mut self, informer: &SharedInformer<K>, mapping: Mapping) -> &mut Self {
        let (looked_at, waited_for, connected) = (informer.clone(), informer.clone(), informer.clone());
        self.sources.push(Source {
            kind: informer.info().clone(),
            mapping,
            conditions: Vec::new(),
            expectations: None,
            progress: informer.progress(),
            synced: Synced {
                now: Arc::new(move || looked_at.has_synced()),
                wait: Arc::new(move || {
                    let informer = waited_for.clone();
                    Box::pin(async move { informer.wait_for_sync().await })
                }),
            },
            connect: Box::new(move |sink, options| {
                connected.add_sink_with(sink, options);
            }),
        });
        self
    }
}

impl fmt::Debug for ControllerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControllerBuilder")
            .field("name", &self.name)
            .field("workers", &self.workers)
            .field("primary", &self.primary().map(|kind| &kind.kind))
            .finish_non_exhaustive()
    }
}
