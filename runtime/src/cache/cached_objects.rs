//! The caches as the typed client sees them.

use std::sync::Arc;

use bytes::Bytes;

use super::untyped_informer::UntypedInformer;
use crate::{ApiResource, NamespacedName, client::CachedObjects};

/// Finds the informers of a kind.
type FindInformers = dyn Fn(&ApiResource) -> Vec<Arc<UntypedInformer>> + Send + Sync;

/// The caches of a factory's informers.
pub(super) struct InformerCaches {
    informers: Box<FindInformers>,
}

impl InformerCaches {
    pub(super) fn new(
        informers: impl Fn(&ApiResource) -> Vec<Arc<UntypedInformer>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            informers: Box::new(informers),
        }
    }
}

impl CachedObjects for InformerCaches {
    fn object_at(
        &self,
        kind: &ApiResource,
        name: &NamespacedName,
        is_version: &dyn Fn(&str, &str) -> bool,
    ) -> Option<Bytes> {
        let mut whole = None;
        for informer in (self.informers)(kind) {
            let Some(stored) = informer.store.get(name) else {
                continue;
            };
            if !is_version(stored.metadata.uid(), stored.metadata.resource_version()) {
                return None;
            }
            if informer.options.storage.keeps_whole_objects() {
                informer.decoder.mark_json_read();
                whole = Some(stored);
            }
        }
        let whole = whole.filter(|stored| stored.defect.is_none())?;
        whole.payload.json().ok()
    }
}

#[cfg(test)]
#[path = "cached_objects_tests.rs"]
mod tests;
