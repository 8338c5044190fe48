//! The shared informer of one kind.

use std::{any::type_name, fmt, marker::PhantomData, sync::Arc, time::Duration};

use super::{
    Change, Deleted, EventHandler, HandlerOptions, HandlerRegistration, IndexError, IndexKey, IndexSpec,
    InformerHandle, InformerOptions, InformerStats, ListWatchError, Lister, Object,
    index::Index,
    processor::{Handler, Listener},
    store::StoreEvent,
    untyped_informer::UntypedInformer,
};
use crate::{ApiResource, View, panics::caught};

/// A shared informer: one list and watch, any number of readers. Cloning copies a pointer.
///
/// Guaranteed: a handler or sink that is told of an object finds it, or something newer, in the [`lister`](Self::lister). Of one
/// object it is told in order: added, updated any number of times, deleted. When the watch broke, intermediate states are missed; a
/// deletion that was missed is told with `final_state_known` false, and a deletion and recreation that was missed is told as one update
/// with another uid. What a relist finds unchanged is told only to those who [resync](HandlerOptions::resync) at that time.
///
/// Not guaranteed: an order among objects, or among handlers.
pub struct SharedInformer<K> {
    pub(super) core: Arc<UntypedInformer>,
    kind: PhantomData<fn() -> K>,
}

impl<K> Clone for SharedInformer<K> {
    fn clone(&self) -> Self {
        Self::over(self.core.clone())
    }
}

impl<K> fmt::Debug for SharedInformer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInformer")
            .field("info", self.core.info())
            .finish_non_exhaustive()
    }
}

impl<K> SharedInformer<K> {
    pub(super) fn over(core: Arc<UntypedInformer>) -> Self {
        Self {
            core,
            kind: PhantomData,
        }
    }
}

impl<K: View> SharedInformer<K> {
    /// The kind that is watched.
    pub fn info(&self) -> &ApiResource {
        self.core.info()
    }

    /// Which of its objects are watched.
    pub fn options(&self) -> &InformerOptions {
        &self.core.options
    }

    /// Reads the store.
    pub fn lister(&self) -> Lister<K> {
        Lister::over(self.core.clone())
    }

    /// Whether the first list is in the store, and every sink was told of it.
    pub fn has_synced(&self) -> bool {
        self.core.has_synced()
    }

    /// Whether it was stopped. It does not start again; what it held last can still be read.
    pub fn is_stopped(&self) -> bool {
        self.core.is_stopped()
    }

    /// Returns once [`has_synced`](Self::has_synced). Never when the informer is not started. Cancel safe.
    pub async fn wait_for_sync(&self) {
        self.core.wait_for_sync().await;
    }

    /// Adds a handler, also after start: it is told of what is in the store first, as additions of the initial list. After the informer has
    /// stopped it is told nothing, which is logged.
    pub fn add_event_handler(&self, handler: impl EventHandler<K>) -> HandlerRegistration {
        self.add_event_handler_with(handler, HandlerOptions::default())
    }

    /// The same, with options.
    pub fn add_event_handler_with<H: EventHandler<K>>(
        &self,
        handler: H,
        options: HandlerOptions,
    ) -> HandlerRegistration {
        let listener = Listener::Handler(Self::typed(handler));
        self.core
            .listen(listener, options, &format!("handler {}", type_name::<H>()))
    }

    /// Adds a sink that is called in line, after the store was changed and before the next change: it must be quick and must not block.
    /// This is what controllers feed their queues with. It is told in the same order as a handler, with the same guarantees, also when it is
    /// added after start or stop.
    pub fn add_sink(&self, sink: impl Fn(&Change<'_>) + Send + Sync + 'static) -> HandlerRegistration {
        self.add_sink_with(sink, HandlerOptions::default())
    }

    /// The same, with options.
    pub fn add_sink_with(
        &self,
        sink: impl Fn(&Change<'_>) + Send + Sync + 'static,
        options: HandlerOptions,
    ) -> HandlerRegistration {
        self.core
            .listen(Listener::Sink(Box::new(sink)), options, "a sink")
    }

    /// Adds an index, before or after the start: objects in the store are indexed at once. Adding the same index again does nothing.
    ///
    /// Fails, and adds nothing, if the path does not parse, if another index has the name, or if the informer keeps only a
    /// [projection](super::StorageMode::Projection) without that path and already holds objects.
    pub fn add_index(&self, index: &IndexSpec) -> Result<(), IndexError> {
        self.core.add_index(index)
    }

    /// Adds an index whose values `function` computes, before or after the start. Fails if another index has the name.
    ///
    /// `function` is called once for each version of an object, without a lock. A function that reads only metadata is cheap; one that
    /// decodes costs a decoding of each object that arrives: prefer a path. An object for which it fails or panics is left out of the
    /// index and counted in [`InformerStats::index_errors`].
    pub fn add_index_function<I, E>(
        &self,
        name: &str,
        function: impl Fn(&Object<K>) -> Result<I, E> + Send + Sync + 'static,
    ) -> Result<(), IndexError>
    where
        I: IntoIterator<Item = IndexKey>,
        E: fmt::Display,
    {
        let views = self.core.views.clone();
        let function = move |stored: &Arc<_>| {
            let found = caught(|| {
                let keys = function(&Object::new(Arc::clone(stored)));
                keys.map(|keys| keys.into_iter().collect())
                    .map_err(|error| error.to_string())
            });
            let found = found.unwrap_or_else(|panic| Err(format!("it panicked: {panic}")));
            found.map_err(|problem| views.quotable(problem))
        };
        self.core.add(Index::by_function(name, Box::new(function)))
    }

    /// The resource version up to which the store holds everything: that of the list and watch of `namespace` where the informer has one
    /// for each, else that of all namespaces. None before the first list. Never greater than what the store holds, and it never goes
    /// backwards between two lists; a list after the server was restored from a backup may take it back.
    pub fn last_resource_version(&self, namespace: Option<&str>) -> Option<String> {
        self.core.store.version(namespace)
    }

    /// Is told of each list and each watch that fails, before it is tried again: to see it, not to mend it. It is called in line, must be
    /// quick and must not block; a panic is logged and ends there. The last handler counts. An error once the informer has started.
    /// A watch that merely ends, or whose version has expired, is no failure, nor is a server that knows no streaming lists.
    pub fn set_error_handler(
        &self,
        handler: impl Fn(&ListWatchError) + Send + Sync + 'static,
    ) -> Result<(), AlreadyStarted> {
        let is_early = self
            .core
            .error_handler
            .set(Arc::new(handler), || self.core.is_started());
        is_early
            .then_some(())
            .ok_or_else(|| AlreadyStarted(self.info().kind.to_string()))
    }

    /// After this time, again and again, those handlers are resynced that are added afterwards and do not say how often themselves.
    pub fn set_resync(&self, period: Option<Duration>) {
        self.core.set_resync(period);
    }

    pub(crate) fn progress(&self) -> InformerHandle {
        InformerHandle::of(self.core.clone())
    }

    /// Figures of the informer.
    pub fn stats(&self) -> InformerStats {
        self.core.stats()
    }

    fn typed(handler: impl EventHandler<K>) -> Handler {
        let object = |stored: &Arc<_>| Object::<K>::new(Arc::clone(stored));
        Box::new(move |change, is_in_initial_list| match change {
            StoreEvent::Added(new) => handler.on_add(&object(new), is_in_initial_list),
            StoreEvent::Updated { old, new } => handler.on_update(&object(old), &object(new)),
            StoreEvent::Deleted {
                old,
                final_state_known,
            } => handler.on_delete(&Deleted {
                object: object(old),
                final_state_known: *final_state_known,
            }),
        })
    }
}

/// An informer runs already, and cannot be set up any more. It runs on as it was.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the informer of {0} has started: set it up before")]
pub struct AlreadyStarted(String);
