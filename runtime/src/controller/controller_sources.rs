//! Sources that are added to and removed from a controller while it runs.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{
    RegistrationError,
    source::{EventSource, KeyMapping, Source},
    source_set::SourceSet,
};
use crate::{NamespacedName, View, cache::Change};

/// Adds sources to a controller and removes them, also while it runs (controller-runtime's `Controller.Watch`): for kinds that come and
/// go, such as those of custom resource definitions. Cloning copies a pointer.
///
/// Get it from [`ControllerBuilder::sources_handle`](super::ControllerBuilder::sources_handle). A reconciler that adds sources itself needs
/// one before its controller is registered: make it with [`new`](Self::new), and connect it with
/// [`ControllerBuilder::with_sources`](super::ControllerBuilder::with_sources).
///
/// An added source works as a registered one: mapping, predicates, [`Expectations`](super::Expectations) and
/// [`OwnEvents`](super::OwnEvents) are the same. Before the controller runs, sources are queued and connected when it is created. Its informer
/// is started if the informer factory runs; objects that are already in its store enqueue keys at low priority, like an initial list. Once
/// its cache has synced, keys also wait until it shows their writes.
///
/// - **Permissions.** Kinds that are found at run time are unknown when the operator's role is printed: declare list and watch with
///   [`Setup::needs`](super::Setup::needs), and so for clients of such kinds.
/// - **Readiness.** An informer that was first started for an added source is excluded from readiness and from the waits at the start: its
///   kind may be deleted at any time, after which no list succeeds. Reconcile can find its cache empty or stale; check
///   [`SharedInformer::has_synced`](crate::cache::SharedInformer::has_synced) before you conclude that an object does not exist. Its lists
///   are retried with backoff, and failures are logged, until it is removed. It does not delay the shutdown.
/// - **Removal.** [`remove`](Self::remove) ends the source; the informer runs on for its other users. To end the watch and free the store,
///   call [`SharedInformerFactory::remove`](crate::cache::SharedInformerFactory::remove): that ends all sources of the informer, those of
///   other controllers too.
///
/// ```
/// # use kubewright::{ApiResource, cache::{InformerOptions, SharedInformerFactory}, controller::{ControllerSources, RegistrationError, SourceId}};
/// /// A custom resource definition appeared.
/// fn follow(kind: ApiResource, informers: &SharedInformerFactory, sources: &ControllerSources) -> Result<SourceId, RegistrationError> {
///     let informer = informers.dynamic(kind, InformerOptions::default());
///     sources.owns(&informer)
/// }
///
/// /// It was deleted.
/// fn unfollow(kind: ApiResource, informers: &SharedInformerFactory) {
///     // The same kind and options return the same informer.
///     informers.remove(&informers.dynamic(kind, InformerOptions::default()));
/// }
/// ```
#[derive(Clone, Default)]
pub struct ControllerSources(pub(super) Arc<SourceSet>);

/// Identifies an added source, for [`ControllerSources::remove`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId(u64);

impl SourceId {
    /// An id that no other source of the process has.
    pub(super) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl ControllerSources {
    /// Returns a handle for a controller that is registered later.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a kind that the primary kind owns; see [`ControllerBuilder::owns`](super::ControllerBuilder::owns). Must be called within a
    /// tokio runtime once the controller was created.
    ///
    /// Fails if the informer was removed or its factory shut down, if the controller has stopped or is disabled, if a namespaced primary
    /// kind would own a cluster-scoped one, or if the source's expectations belong to another controller. Errors of a queued source are
    /// errors of the operator's start.
    pub fn owns<K: View>(&self, source: impl Into<Source<K>>) -> Result<SourceId, RegistrationError> {
        self.add(source.into().erase(KeyMapping::Owner))
    }

    /// Adds a kind, and enqueues the keys that `map` returns for a change; see
    /// [`ControllerBuilder::watches`](super::ControllerBuilder::watches). Fails as [`owns`](Self::owns), except that scopes do not matter.
    pub fn watches<K: View>(
        &self,
        source: impl Into<Source<K>>,
        map: impl Fn(&Change<'_>) -> Vec<NamespacedName> + Send + Sync + 'static,
    ) -> Result<SourceId, RegistrationError> {
        self.add(source.into().erase(KeyMapping::Custom(Box::new(map))))
    }

    /// Removes a source: its informer's changes no longer enqueue keys, except for a change that is being handled. Returns false if it was
    /// removed before, with its informer for example.
    ///
    /// Keys that waited until this informer shows their writes no longer wait, unless another source of the controller has the same
    /// informer. Keys in the work queue stay. Expectations that no other source observes are dropped, and keys that waited for them are
    /// enqueued.
    pub fn remove(&self, id: SourceId) -> bool {
        self.0.remove(id)
    }

    /// Returns the number of sources that were added and not removed. Registered sources are not counted.
    pub fn count(&self) -> usize {
        self.0.added_count()
    }

    fn add(&self, source: EventSource) -> Result<SourceId, RegistrationError> {
        self.0.add(source)
    }
}

impl fmt::Debug for ControllerSources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControllerSources")
            .field("count", &self.count())
            .finish_non_exhaustive()
    }
}
