//! Informer without its type: whether its cache shows a write yet.

use std::{fmt, sync::Arc};

use super::{selector_match, untyped_informer::UntypedInformer};
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

    pub(crate) fn info(&self) -> &ApiResource {
        self.0.info()
    }

    /// Whether the informer is expected to show the written object: it runs, it lists the object's namespace, and the object matches its
    /// selectors, or is in the store and will leave it. `json` is the written object, if it is known.
    pub(crate) fn covers(&self, name: &NamespacedName, uid: &str, json: Option<&[u8]>) -> bool {
        if self.0.is_stopped() || self.0.store.version(name.namespace()).is_none() {
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

    /// Calls `hook` after each batch: it is in the store by then, and the sinks have received it.
    pub(crate) fn after_each_batch(&self, hook: impl Fn() + Send + Sync + 'static) {
        self.0.after_each_batch(Arc::new(hook));
    }
}

impl fmt::Debug for InformerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InformerHandle").field(self.0.info()).finish()
    }
}
