//! Seeding: tests put objects into the stores of informers that are not started.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    SharedInformer, SharedInformerFactory, StorageMode, fifo::Delta, selector_match,
    untyped_informer::UntypedInformer,
};
use crate::{ApiResource, View};

/// An object could not be seeded; the store is unchanged.
#[derive(Debug, Clone, thiserror::Error)]
#[error("cannot seed the informer of {kind}: {problem}")]
pub struct SeedError {
    kind: String,
    problem: String,
}

impl SharedInformerFactory {
    /// Puts an object into the store of each informer of its kind that selects it by namespace, labels and fields, as
    /// [`SharedInformer::seed`] does. Returns the number of those informers.
    #[doc(hidden)]
    pub fn seed(&self, info: &ApiResource, object: &Value) -> Result<usize, SeedError> {
        let mut seeded = 0;
        for (informer, namespaces) in self.informers_with_namespaces() {
            if informer.info() == info && selector_match::matches(&informer.options, &namespaces, object) {
                informer.seed(object)?;
                seeded += 1;
            }
        }
        Ok(seeded)
    }
}

impl<K: View> SharedInformer<K> {
    /// Puts an object into the store, for tests, and marks the informer as synced. Handlers and sinks are not called.
    ///
    /// Fails if the object has no name, or if the informer has started: then only its reflector writes the store.
    #[doc(hidden)]
    pub fn seed(&self, json: &Value) -> Result<(), SeedError> {
        self.untyped.seed(json)
    }
}

impl UntypedInformer {
    pub(super) fn seed(self: &Arc<Self>, json: &Value) -> Result<(), SeedError> {
        let error = |problem: String| SeedError {
            kind: self.info().kind.to_string(),
            problem,
        };
        if self.is_started() {
            return Err(error("it has started; seed it before".to_owned()));
        }
        let indexes = self.store.indexes();
        let sent = match self.options.storage {
            StorageMode::Metadata => json!({
                "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": json["metadata"],
            }),
            _ => json.clone(),
        };
        let sent = sent.to_string();
        let mut scanner = self.scanner();
        let item = scanner
            .item(sent.as_bytes(), |_| {})
            .map_err(|problem| error(problem.to_string()))?;
        let object = self.encode(item, &indexes);
        self.store.apply(vec![Delta::Upserted(object)], false);
        self.set_synced();
        Ok(())
    }
}
