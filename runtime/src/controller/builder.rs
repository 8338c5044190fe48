//! Registration of one controller: its sources, workers, rate limiter and resync period.

use std::{fmt, time::Duration};

use futures::{Stream, StreamExt as _, stream::BoxStream};
use parking_lot::Mutex;

use super::{
    BoxReconciler, ControllerSources, OwnEvents, Pause, Reconciler, RegistrationError,
    consistency::WriteWaitObserver,
    source::{EventSource, KeyMapping, Source},
    source_target::SourcesGuard,
};
use crate::{
    ApiResource, Clock, NamespacedName, View,
    cache::{Change, SharedInformerFactory},
    workqueue::{self, RateLimiter},
};

/// How long a key waits for the cache to show its writes, by default.
const DEFAULT_WRITE_WAIT: Duration = Duration::from_secs(10);

/// One registered controller; see [`Setup::controller`](super::Setup::controller).
pub struct ControllerBuilder {
    pub(super) name: String,
    pub(super) reconciler: BoxReconciler,
    pub(super) workers: usize,
    pub(super) limiter: Box<dyn RateLimiter<NamespacedName>>,
    pub(super) sources: Vec<EventSource>,
    pub(super) timeout: Option<Duration>,
    pub(super) write_wait: Duration,
    pub(super) own_events: OwnEvents,
    pub(super) pause: Pause,
    pub(super) resync: Option<Duration>,
    /// Streams of keys. The mutex makes a `Send` stream `Sync`.
    pub(super) streams: Mutex<Vec<BoxStream<'static, NamespacedName>>>,
    /// All informers that reconcile may read.
    pub(super) informers: Option<SharedInformerFactory>,
    pub(super) clock: Clock,
    pub(super) added_sources: SourcesGuard,
    /// The index of the component that it is part of.
    pub(super) component: Option<usize>,
    pub(super) write_wait_observer: Option<WriteWaitObserver>,
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
            write_wait: DEFAULT_WRITE_WAIT,
            own_events: OwnEvents::default(),
            pause: Pause::new(),
            resync: None,
            streams: Mutex::default(),
            informers: None,
            clock: Clock::system(),
            added_sources: SourcesGuard(ControllerSources::new()),
            component: None,
            write_wait_observer: None,
        }
    }

    /// Sets the primary kind: each addition, update and deletion of an object enqueues its key.
    pub fn reconciles<K: View>(&mut self, source: impl Into<Source<K>>) -> &mut Self {
        self.add_source(source.into(), KeyMapping::Primary)
    }

    /// Adds a kind that the primary kind owns: a change of an object enqueues the key of the controller owner, and of the former controller
    /// owner if it changed (owner mapping, controller-runtime's EnqueueRequestForOwner).
    ///
    /// Resyncs, updates with an equal resource version, enqueue nothing. Owner references are compared by group and kind, not by uid.
    pub fn owns<K: View>(&mut self, source: impl Into<Source<K>>) -> &mut Self {
        self.add_source(source.into(), KeyMapping::Owner)
    }

    /// Adds a kind, and enqueues the keys that `map` returns for a change.
    ///
    /// `map` is called in line with the store's changes: it must be quick and must not block.
    pub fn watches<K: View>(
        &mut self,
        source: impl Into<Source<K>>,
        map: impl Fn(&Change<'_>) -> Vec<NamespacedName> + Send + Sync + 'static,
    ) -> &mut Self {
        self.add_source(source.into(), KeyMapping::Custom(Box::new(map)))
    }

    /// Enqueues every key that `stream` yields, for example from a webhook, a timer or a message queue. The stream is polled while the
    /// controller runs, and may end.
    pub fn watches_stream(
        &mut self,
        stream: impl Stream<Item = NamespacedName> + Send + 'static,
    ) -> &mut Self {
        self.streams.get_mut().push(stream.boxed());
        self
    }

    /// Sets the resync period: re-delivers every cached object of the controller's kinds at this interval, which enqueues the objects of the
    /// primary kind at low priority. Sends no request to the API server. Zero disables resyncs.
    ///
    /// See [`HandlerOptions::resync`](crate::cache::HandlerOptions::resync). [`Setup::set_resync`](super::Setup::set_resync) sets the
    /// default of all controllers.
    pub fn resync(&mut self, period: Duration) -> &mut Self {
        self.resync = Some(period);
        self
    }

    /// Cancels a reconcile that exceeds the timeout, at its next await; it is retried with backoff. By default reconciles have no timeout.
    pub fn reconcile_timeout(&mut self, timeout: Duration) -> &mut Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets how long a key waits for the cache to show its writes. Default: 10 s; zero: keys do not wait. See [`Reconciler`].
    pub fn write_wait(&mut self, timeout: Duration) -> &mut Self {
        self.write_wait = timeout;
        self
    }

    /// Calls `observe` when a key begins to wait for the cache, with the kind of the first object that the cache lacks. It is for
    /// metrics: the worker waits until it returns.
    #[doc(hidden)]
    pub fn on_write_wait(&mut self, observe: impl Fn(&ApiResource) + Send + Sync + 'static) -> &mut Self {
        self.write_wait_observer = Some(Box::new(observe));
        self
    }

    /// Sets how the events of a key's own writes are handled. Default: [`OwnEvents::ReconcileOnce`].
    pub fn own_events(&mut self, own_events: OwnEvents) -> &mut Self {
        self.own_events = own_events;
        self
    }

    /// Returns a handle that pauses and resumes the controller while the operator runs.
    pub fn pause_handle(&self) -> Pause {
        self.pause.clone()
    }

    /// Returns a handle that adds sources and removes them while the operator runs.
    pub fn sources_handle(&self) -> ControllerSources {
        self.added_sources.0.clone()
    }

    /// Sets the handle that adds sources and removes them while the operator runs, instead of [`sources_handle`](Self::sources_handle), for
    /// a reconciler that has it. A handle belongs to one controller.
    pub fn with_sources(&mut self, sources: &ControllerSources) -> &mut Self {
        self.added_sources = SourcesGuard(sources.clone());
        self
    }

    /// Sets the number of workers: how many keys are reconciled concurrently (controller-runtime's `MaxConcurrentReconciles`). Default: 1.
    pub fn workers(&mut self, workers: usize) -> &mut Self {
        self.workers = workers;
        self
    }

    /// Sets the rate limiter: the backoff of a key after a failure or [`Action::Requeue`](super::Action::Requeue).
    ///
    /// Default, as in client-go: the longer of an exponential backoff per key (5 ms · 2ⁿ, at most 1000 s) and a token bucket for the whole
    /// controller (10 tokens a second, burst 100).
    pub fn rate_limiter(&mut self, limiter: impl RateLimiter<NamespacedName>) -> &mut Self {
        self.limiter = Box::new(limiter);
        self
    }

    /// Returns the index of the component that it is part of.
    pub(crate) fn component(&self) -> Option<usize> {
        self.component
    }

    /// Returns the controller's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of workers.
    pub fn worker_count(&self) -> usize {
        self.workers
    }

    /// Returns the primary kind.
    pub fn primary(&self) -> Option<&ApiResource> {
        self.kinds(|mapping| matches!(mapping, KeyMapping::Primary))
            .next()
    }

    /// Returns the kinds of [`owns`](Self::owns).
    pub fn owned(&self) -> impl Iterator<Item = &ApiResource> {
        self.kinds(|mapping| matches!(mapping, KeyMapping::Owner))
    }

    /// Returns the kinds of [`watches`](Self::watches).
    pub fn watched(&self) -> impl Iterator<Item = &ApiResource> {
        self.kinds(|mapping| matches!(mapping, KeyMapping::Custom(_)))
    }

    /// Returns the reconciler.
    #[doc(hidden)]
    pub fn reconciler(&self) -> BoxReconciler {
        self.reconciler.clone()
    }

    /// Returns the errors of this registration.
    pub(super) fn errors(&self) -> Vec<RegistrationError> {
        let controller = self.name.clone();
        let mut errors = Vec::new();
        match self
            .kinds(|mapping| matches!(mapping, KeyMapping::Primary))
            .count()
        {
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
        if let Some(owner) = self.primary() {
            let owned = self.owned();
            errors.extend(
                owned.filter_map(|owned| {
                    RegistrationError::check_owned_scope(&controller, owner, owned).err()
                }),
            );
        }
        errors
    }

    fn kinds(&self, matches: impl Fn(&KeyMapping) -> bool) -> impl Iterator<Item = &ApiResource> {
        self.sources
            .iter()
            .filter(move |source| matches(&source.mapping))
            .map(|source| source.informer.info())
    }

    fn add_source<K: View>(&mut self, source: Source<K>, mapping: KeyMapping) -> &mut Self {
        self.sources.push(source.erase(mapping));
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
