//! The shared informer of one kind: its typed interface.

use std::{any::type_name, fmt, marker::PhantomData, sync::Arc, time::Duration};

use super::{
    AddIndexError, Change, Deleted, EventHandler, HandlerOptions, HandlerRegistration, IndexKey, IndexSpec,
    InformerHandle, InformerOptions, InformerStats, ListWatchError, Lister, Object,
    index::Index,
    processor::{HandlerFn, Listener},
    store::StoreEvent,
    untyped_informer::UntypedInformer,
};
use crate::{ApiResource, View, panics::caught};

/// A shared informer: one list and watch, one store, any number of readers and handlers. Cloning copies a pointer.
///
/// Guaranteed: when a handler or sink receives an object, the [`lister`](Self::lister) already has it, or a newer version. The events of one
/// object are in order: one addition, any number of updates, one deletion. While the watch is broken, intermediate states are missed. A
/// missed deletion is delivered as a tombstone (`final_state_known` is false; client-go's DeletedFinalStateUnknown), a missed deletion and
/// recreation as one update to another uid. Objects that a relist finds unchanged are delivered only to handlers that are in a
/// [resync](HandlerOptions::resync) at that time.
///
/// Not guaranteed: an order among objects, or among handlers.
pub struct SharedInformer<K> {
    pub(super) untyped: Arc<UntypedInformer>,
    kind: PhantomData<fn() -> K>,
}

impl<K> Clone for SharedInformer<K> {
    fn clone(&self) -> Self {
        Self::over(self.untyped.clone())
    }
}

impl<K> fmt::Debug for SharedInformer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInformer")
            .field("info", self.untyped.info())
            .finish_non_exhaustive()
    }
}

impl<K> SharedInformer<K> {
    pub(super) fn over(untyped: Arc<UntypedInformer>) -> Self {
        Self {
            untyped,
            kind: PhantomData,
        }
    }
}

impl<K: View> SharedInformer<K> {
    /// Returns the kind of the informer.
    pub fn info(&self) -> &ApiResource {
        self.untyped.info()
    }

    /// Returns the options of the informer.
    pub fn options(&self) -> &InformerOptions {
        &self.untyped.options
    }

    /// Returns a lister, which reads the store.
    pub fn lister(&self) -> Lister<K> {
        Lister::over(self.untyped.clone())
    }

    /// Whether the informer has stopped. It does not start again; its store can still be read.
    pub fn is_stopped(&self) -> bool {
        self.untyped.is_stopped()
    }

    /// Adds an event handler, before or after the start. It first receives the objects in the store, as additions of the initial list.
    /// After the informer has stopped it receives nothing, with a logged warning.
    pub fn add_event_handler(&self, handler: impl EventHandler<K>) -> HandlerRegistration {
        self.add_event_handler_with(handler, HandlerOptions::default())
    }

    /// As [`add_event_handler`](Self::add_event_handler), with options such as a resync period.
    pub fn add_event_handler_with<H: EventHandler<K>>(
        &self,
        handler: H,
        options: HandlerOptions,
    ) -> HandlerRegistration {
        let listener = Listener::Handler(Self::typed(handler));
        self.untyped
            .listen(listener, options, &format!("handler {}", type_name::<H>()))
    }

    /// Adds a sink, which is called inline after each change of the store and before the next: it must be fast and must not block.
    /// Controllers enqueue keys with sinks. Order and guarantees are those of a handler, also if it is added after start or stop.
    pub fn add_sink(&self, sink: impl Fn(&Change<'_>) + Send + Sync + 'static) -> HandlerRegistration {
        self.add_sink_with(sink, HandlerOptions::default())
    }

    /// As [`add_sink`](Self::add_sink), with options such as a resync period.
    pub fn add_sink_with(
        &self,
        sink: impl Fn(&Change<'_>) + Send + Sync + 'static,
        options: HandlerOptions,
    ) -> HandlerRegistration {
        self.progress().add_sink(sink, options)
    }

    /// Adds an index, before or after the start: objects in the store are indexed at once. Adding the same index again does nothing.
    ///
    /// Fails, and adds nothing, if the path does not parse, if another index has the name, or if the informer keeps only a
    /// [projection](super::StorageMode::Projection) without that path and already holds objects.
    pub fn add_index(&self, index: &IndexSpec) -> Result<(), AddIndexError> {
        self.untyped.add_index(index)
    }

    /// Adds an index with values that `function` computes, before or after the start. Fails if another index has the name.
    ///
    /// `function` is called once for each version of an object, without a lock. A function that reads only metadata is cheap; one that
    /// decodes costs a decoding of each object that arrives: prefer a path. An object for which it fails or panics is left out of the
    /// index and counted in [`InformerStats::index_errors`].
    pub fn add_index_function<I, E>(
        &self,
        name: &str,
        function: impl Fn(&Object<K>) -> Result<I, E> + Send + Sync + 'static,
    ) -> Result<(), AddIndexError>
    where
        I: IntoIterator<Item = IndexKey>,
        E: fmt::Display,
    {
        let decoder = self.untyped.decoder.clone();
        let function = move |stored: &Arc<_>| {
            let keys = caught(|| {
                let keys = function(&Object::new(Arc::clone(stored)));
                keys.map(|keys| keys.into_iter().collect())
                    .map_err(|error| error.to_string())
            });
            let keys = keys.unwrap_or_else(|panic| Err(format!("the function panicked: {panic}")));
            keys.map_err(|problem| decoder.quotable(problem))
        };
        self.untyped.add(Index::by_function(name, Box::new(function)))
    }

    /// Returns the resource version up to which all changes are in the store: that of the list and watch of `namespace` if the informer has
    /// one for each namespace, else that of all namespaces. None before the first list. It increases monotonically, except that a list may
    /// lower it after the API server was restored from a backup.
    pub fn last_resource_version(&self, namespace: Option<&str>) -> Option<String> {
        self.untyped.store.version(namespace)
    }

    /// Sets a handler for failed lists and watches, for observation only (client-go's WatchErrorHandler). It is called before each retry,
    /// inline: it must be fast and must not block; a panic is logged. The last handler that is set counts. Fails once the informer has
    /// started. Not failures: a watch that ends normally or expires (410), and an API server without streaming lists.
    pub fn set_error_handler<F>(
        &self,
        handler: F,
    ) -> Result<(), impl std::error::Error + Send + Sync + use<K, F>>
    where
        F: Fn(&ListWatchError) + Send + Sync + 'static,
    {
        let is_early = self
            .untyped
            .error_handler
            .set(Arc::new(handler), || self.untyped.is_started());
        is_early
            .then_some(())
            .ok_or_else(|| AlreadyStarted(self.info().kind.to_string()))
    }

    /// Sets the default resync period of handlers that are added afterwards without one of their own.
    pub fn set_resync(&self, period: Option<Duration>) {
        self.untyped.set_resync(period);
    }

    pub(crate) fn progress(&self) -> InformerHandle {
        InformerHandle::of(self.untyped.clone())
    }

    /// Returns statistics of the informer.
    #[doc(hidden)]
    pub fn stats(&self) -> InformerStats {
        self.untyped.stats()
    }

    /// Wraps a typed handler for the untyped informer.
    fn typed(handler: impl EventHandler<K>) -> HandlerFn {
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

/// The informer has started, and this can only be set before.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the informer of {0} has started: set the error handler before the start")]
struct AlreadyStarted(String);
