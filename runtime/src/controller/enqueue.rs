//! Enqueue handler: maps a change of an informer to keys, and adds them to the work queue.

use std::sync::Arc;

use super::{
    RegistrationError,
    consistency::ConsistencyStore,
    owner_mapping::owner_keys,
    source::{EventSource, KeyMapping},
};
use crate::{
    ApiResource, NamespacedName,
    cache::{Change, InformerHandle, SharedInformerFactory},
    workqueue::{Priority, WorkQueue},
};

/// Enqueues the keys of one source's changes.
pub(super) struct EnqueueHandler {
    source: EventSource,
    primary: ApiResource,
    queue: Arc<WorkQueue>,
    consistency: Arc<ConsistencyStore>,
    /// The informer's index in the consistency store.
    informer_index: usize,
}

impl EnqueueHandler {
    /// Connects the source's expectations with the queue. Fails if they belong to another controller, or if the consistency store does not
    /// know the source's informer.
    pub(super) fn new(
        controller: &str,
        source: EventSource,
        primary: ApiResource,
        queue: &Arc<WorkQueue>,
        consistency: &Arc<ConsistencyStore>,
    ) -> Result<Self, RegistrationError> {
        let Some(informer_index) = consistency.informer_index(&source.informer) else {
            return Err(RegistrationError::UnknownInformer {
                controller: controller.to_owned(),
                kind: source.kind.kind.to_string(),
            });
        };
        if let Some(expectations) = &source.expectations {
            expectations.connect(controller, queue)?;
        }
        Ok(Self {
            informer_index,
            source,
            primary,
            queue: queue.clone(),
            consistency: consistency.clone(),
        })
    }

    /// Handles one change: expectations, predicates, mapping to keys, enqueue.
    pub(super) fn handle(&self, change: &Change<'_>) {
        // Before the key is enqueued: its reconcile reads the expectations.
        if let Some(expectations) = &self.source.expectations {
            expectations.observe(change, || self.keys(change));
        }
        if !self.source.predicates.iter().all(|predicate| predicate(change)) {
            return;
        }
        match &self.source.mapping {
            KeyMapping::Primary => self.enqueue(change.name().clone(), change),
            KeyMapping::Owner => owner_keys(change, &self.primary).for_each(|key| self.enqueue(key, change)),
            KeyMapping::Custom(map) => map(change).into_iter().for_each(|key| self.enqueue(key, change)),
        }
    }

    fn keys(&self, change: &Change<'_>) -> Vec<NamespacedName> {
        match &self.source.mapping {
            KeyMapping::Primary => vec![change.name().clone()],
            KeyMapping::Owner => owner_keys(change, &self.primary).collect(),
            KeyMapping::Custom(map) => map(change),
        }
    }

    fn enqueue(&self, key: NamespacedName, change: &Change<'_>) {
        if self.consistency.enqueues(&key, change, self.informer_index) {
            self.queue.add_with_priority(key, priority(change));
        }
    }
}

/// The informers that reconcile may read, each once: those of the sources and those of the factory.
pub(super) fn readable_informers(
    sources: &[EventSource],
    factory: Option<&SharedInformerFactory>,
) -> Vec<InformerHandle> {
    let mut informers: Vec<InformerHandle> = Vec::new();
    let all = factory.map(SharedInformerFactory::progress).unwrap_or_default();
    for informer in sources.iter().map(|source| source.informer.clone()).chain(all) {
        if !informers.iter().any(|known| known.is_same(&informer)) {
            informers.push(informer);
        }
    }
    informers
}

/// The priority of a change: objects of the initial list and resyncs are low, so that they do not delay real changes.
pub(super) fn priority(change: &Change<'_>) -> Priority {
    let is_news = match change {
        Change::Added {
            is_in_initial_list, ..
        } => !is_in_initial_list,
        Change::Updated { old, new } => old.resource_version() != new.resource_version(),
        Change::Deleted { .. } => true,
    };
    if is_news { Priority::NORMAL } else { Priority::LOW }
}
