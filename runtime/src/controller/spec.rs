//! One controller, as it was registered.

use std::fmt;

use futures::future::BoxFuture;

use super::{BoxReconciler, Reconciler, RegistrationError};
use crate::{
    KindInfo, ObjectName, Scope, View,
    cache::{Change, SharedInformer},
    workqueue::{self, RateLimiter},
};

/// One controller, as it was registered; see [`Setup::controller`](super::Setup::controller).
pub struct ControllerSpec {
    name: String,
    reconciler: BoxReconciler,
    workers: usize,
    pub(super) limiter: Box<dyn RateLimiter<ObjectName>>,
    pub(super) sources: Vec<Source>,
}

/// An informer that feeds the controller's queue, without its type.
pub(super) struct Source {
    pub(super) kind: KindInfo,
    pub(super) mapping: Mapping,
    pub(super) condition: Option<Condition>,
    pub(super) synced: Synced,
    pub(super) connect: Box<dyn FnOnce(Sink) + Send + Sync>,
}

/// Whether an informer holds its first list, and how to wait for that.
pub(super) struct Synced {
    pub(super) now: Box<dyn Fn() -> bool + Send + Sync>,
    pub(super) wait: Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>,
}

/// What an informer calls for each change.
pub(super) type Condition = Box<dyn Fn(&Change<'_>) -> bool + Send + Sync>;

pub(super) type Sink = Box<dyn Fn(&Change<'_>) + Send + Sync>;

/// What the user maps changes with.
type Map = Box<dyn Fn(&Change<'_>) -> Vec<ObjectName> + Send + Sync>;

/// Which keys a change wakes.
pub(super) enum Mapping {
    /// The key of the object itself.
    Primary,
    /// The keys of its controller owners, before and after.
    Owner,
    /// What the user says.
    Custom(Map),
}

impl ControllerSpec {
    pub(super) fn new(name: String, reconciler: impl Reconciler) -> Self {
        Self {
            name,
            reconciler: BoxReconciler::new(reconciler),
            workers: 1,
            limiter: Box::new(workqueue::default_limiter()),
            sources: Vec::new(),
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
        map: impl Fn(&Change<'_>) -> Vec<ObjectName> + Send + Sync + 'static,
    ) -> &mut Self {
        self.source(informer, Mapping::Custom(Box::new(map)))
    }

    /// Only changes that `condition` accepts wake keys, of the kind that was named just before: `.owns(&pods).when(|change| …)`. It is called in
    /// line with the store's changes, must be quick and must not block. Without a kind named before it does nothing.
    pub fn when(&mut self, condition: impl Fn(&Change<'_>) -> bool + Send + Sync + 'static) -> &mut Self {
        if let Some(source) = self.sources.last_mut() {
            source.condition = Some(Box::new(condition));
        }
        self
    }

    /// How many keys are reconciled at once; 1 unless said otherwise.
    pub fn workers(&mut self, workers: usize) -> &mut Self {
        self.workers = workers;
        self
    }

    /// How long a key waits after a failure. Default: the longer of 5 ms · 2ⁿ up to 1000 s for the key, and what a bucket of 100
    /// tokens, 10 more a second, says for the controller.
    pub fn rate_limiter(&mut self, limiter: impl RateLimiter<ObjectName>) -> &mut Self {
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
    pub fn primary(&self) -> Option<&KindInfo> {
        self.kinds(|mapping| matches!(mapping, Mapping::Primary)).next()
    }

    /// The kinds whose objects the primary kind owns.
    pub fn owned(&self) -> impl Iterator<Item = &KindInfo> {
        self.kinds(|mapping| matches!(mapping, Mapping::Owner))
    }

    /// The other kinds whose changes wake keys.
    pub fn watched(&self) -> impl Iterator<Item = &KindInfo> {
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

    fn kinds(&self, which: impl Fn(&Mapping) -> bool) -> impl Iterator<Item = &KindInfo> {
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
            condition: None,
            synced: Synced {
                now: Box::new(move || looked_at.has_synced()),
                wait: Box::new(move || {
                    let informer = waited_for.clone();
                    Box::pin(async move { informer.wait_for_sync().await })
                }),
            },
            connect: Box::new(move |sink| {
                connected.add_sink(sink);
            }),
        });
        self
    }
}

impl fmt::Debug for ControllerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControllerSpec")
            .field("name", &self.name)
            .field("workers", &self.workers)
            .field("primary", &self.primary().map(|kind| &kind.kind))
            .finish_non_exhaustive()
    }
}
