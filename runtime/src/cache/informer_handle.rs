//! How far an informer is, for those who wait until it shows what they wrote.

use std::{fmt, sync::Arc};

use super::{selector_match, untyped_informer::UntypedInformer};
use crate::{ApiResource, NamespacedName};

/// An informer without its type: what it holds, and up to which version.
#[derive(Clone)]
pub(crate) struct InformerHandle(Arc<UntypedInformer>);

impl InformerHandle {
    pub(super) fn of(core: Arc<UntypedInformer>) -> Self {
        Self(core)
    }

    /// Whether both are of one informer.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn info(&self) -> &ApiResource {
        self.0.info()
    }

    /// Whether it is to be expected that the informer shows what was written: it runs, it lists the object's namespace, and the object
    /// matches its selectors, or is in the store and will leave it. `json` is the object as it was written, none where that is not known.
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

    /// Whether everything of the object's namespace up to the version is in the store. None when that cannot be told.
    pub(crate) fn has_reached(&self, name: &NamespacedName, version: &str) -> Option<bool> {
        self.0.store.has_reached(name.namespace(), version)
    }

    /// Whether the store has the object, that one and not a later one of the name.
    pub(crate) fn holds(&self, name: &NamespacedName, uid: &str) -> bool {
        let stored = self.0.store.get(name);
        stored.is_some_and(|stored| stored.metadata.uid() == uid)
    }

    /// Whether the store has the object and knows nothing of its deletion.
    pub(crate) fn holds_alive(&self, name: &NamespacedName, uid: &str) -> bool {
        let stored = self.0.store.get(name);
        stored.is_some_and(|stored| stored.metadata.uid() == uid && !stored.metadata.is_deleting())
    }

    /// The uid of the object that the store has.
    pub(crate) fn uid(&self, name: &NamespacedName) -> Option<String> {
        Some(self.0.store.get(name)?.metadata.uid().to_owned())
    }

    /// How often a list was older than what the store had; what was known of versions before says nothing any more.
    pub(crate) fn rewinds(&self) -> u64 {
        self.0.store.rewinds()
    }

    /// Calls `hook` after each batch, when it is in the store and the sinks were told of it.
    pub(crate) fn after_each_batch(&self, hook: impl Fn() + Send + Sync + 'static) {
        self.0.after_each_batch(Arc::new(hook));
    }
}

impl fmt::Debug for InformerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InformerHandle").field(self.0.info()).finish()
    }
}
