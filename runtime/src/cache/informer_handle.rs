//! Informer without its type: whether its cache shows a write yet.

use std::{fmt, sync::Arc};

use super::{
    Change, HandlerOptions, HandlerRegistration,
    informer_observer::{InformerObserver, ObserverId},
    processor::Listener,
    selector_match,
    untyped_informer::UntypedInformer,
};
use crate::{ApiResource, NamespacedName, client::CachedObject};

/// An informer without its type, for the consistency store: which objects its cache holds, and up to which resource version.
#[derive(Clone)]
pub(crate) struct InformerHandle(Arc<UntypedInformer>);

impl InformerHandle {
    pub(super) fn of(core: Arc<UntypedInformer>) -> Self {
        Self(core)
    }

    /// Whether both handles are of one informer.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Adds a sink: [`SharedInformer::add_sink_with`](super::SharedInformer::add_sink_with).
    pub(crate) fn add_sink(
        &self,
        sink: impl Fn(&Change<'_>) + Send + Sync + 'static,
        options: HandlerOptions,
    ) -> HandlerRegistration {
        self.0.listen(Listener::Sink(Box::new(sink)), options, "a sink")
    }

    pub(crate) fn info(&self) -> &ApiResource {
        self.0.info()
    }

    /// Whether the cache has synced.
    pub(crate) fn has_synced(&self) -> bool {
        self.0.has_synced()
    }

    /// Waits for the cache sync, or until the informer is removed or its factory is shut down. Cancel safe.
    pub(crate) async fn wait_for_sync_or_stop(&self) {
        self.0.wait_for_sync_or_stop().await;
    }

    /// Excludes the informer from readiness: it is about to be started for a source that is added at run time.
    pub(crate) fn set_optional(&self) {
        self.0.set_optional();
    }

    /// Includes the informer in readiness: a registered source needs it.
    pub(crate) fn set_required(&self) {
        self.0.set_required();
    }

    /// Whether the informer is expected to show the written object: it runs and has synced, it lists the object's namespace, and the object
    /// matches its selectors, or is in the store and will leave it. `json` is the written object, if it is known.
    pub(crate) fn covers(&self, name: &NamespacedName, uid: &str, json: Option<&[u8]>) -> bool {
        let is_current = self.0.has_synced() && !self.0.stop.is_cancelled() && !self.0.is_stopped();
        if !is_current || self.0.store.version(name.namespace()).is_none() {
            return false;
        }
        let options = &self.0.options;
        let is_selected = || {
            let object = json.and_then(|json| serde_json::from_slice(json).ok());
            object.is_some_and(|object| selector_match::matches(options, &[None], &object))
        };
        (options.label_selector.is_none() && options.field_selector.is_none())
            || is_selected()
            || self.holds(name, uid)
    }

    /// Whether the store holds everything of the object's namespace up to the resource version. None if versions have no order.
    pub(crate) fn has_reached(&self, name: &NamespacedName, version: &str) -> Option<bool> {
        self.0.store.has_reached(name.namespace(), version)
    }

    /// Whether the store holds the object with this uid, not a later one of the same name.
    pub(crate) fn holds(&self, name: &NamespacedName, uid: &str) -> bool {
        let stored = self.0.store.get(name);
        stored.is_some_and(|stored| stored.metadata.uid() == uid)
    }

    /// Whether the store holds the object with this uid, without a deletion timestamp.
    pub(crate) fn holds_alive(&self, name: &NamespacedName, uid: &str) -> bool {
        let stored = self.0.store.get(name);
        stored.is_some_and(|stored| stored.metadata.uid() == uid && !stored.metadata.is_deleting())
    }

    /// The object of this name in the store, as that of the informer with this index.
    pub(crate) fn cached(&self, name: &NamespacedName, informer_index: usize) -> Option<CachedObject> {
        let stored = self.0.store.get(name)?;
        Some(CachedObject {
            informer_index,
            uid: stored.metadata.uid().into(),
            version: stored.metadata.resource_version().into(),
            is_deleting: stored.metadata.is_deleting(),
        })
    }

    /// How often a list was older than the store's content. Afterwards nothing that was recorded of versions before is valid.
    pub(crate) fn rewinds(&self) -> u64 {
        self.0.store.rewinds()
    }

    /// Adds an observer of the informer's batches and of its removal; none if the informer was removed, or its factory was shut down.
    pub(crate) fn observe(&self, observer: impl InformerObserver + 'static) -> Option<ObserverId> {
        self.0.observers.add(Arc::new(observer), &self.0.stop)
    }

    /// Removes an observer. A call of it may still be running.
    pub(crate) fn stop_observing(&self, id: ObserverId) {
        self.0.observers.remove(id);
    }

    /// The number of observers.
    #[cfg(test)]
    pub(crate) fn observer_count(&self) -> usize {
        self.0.observers.count()
    }

    /// The store, to check that it is freed.
    #[cfg(test)]
    pub(crate) fn weak_store(&self) -> std::sync::Weak<dyn std::any::Any + Send + Sync> {
        let store: Arc<dyn std::any::Any + Send + Sync> = self.0.store.clone();
        Arc::downgrade(&store)
    }

    pub(super) fn untyped(&self) -> &Arc<UntypedInformer> {
        &self.0
    }
}

impl fmt::Debug for InformerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InformerHandle").field(self.0.info()).finish()
    }
}
