//! Enqueue handler: maps a change of an informer to keys, and adds them to the work queue.

use std::sync::Arc;

use super::{
    Expectations, RegistrationError,
    consistency::{ConsistencyStore, InformerSlot},
    owner_mapping::owner_keys,
    source::{EventSource, KeyMapping, Predicate},
    source_target::SourceTarget,
};
use crate::{
    ApiResource, NamespacedName,
    cache::{Change, HandlerOptions, HandlerRegistration, InformerHandle, SharedInformerFactory},
    workqueue::{Priority, WorkQueue},
};

/// Enqueues the keys of one source's changes.
pub(super) struct EnqueueHandler {
    mapping: KeyMapping,
    predicates: Vec<Predicate>,
    expectations: Option<Expectations>,
    primary: ApiResource,
    queue: Arc<WorkQueue>,
    consistency: Arc<ConsistencyStore>,
    slot: Arc<InformerSlot>,
}

impl EnqueueHandler {
    /// Makes the handler of a source, and connects its expectations. Fails if those belong to another controller, or if the consistency store
    /// does not know the source's informer.
    pub(super) fn new(source: EventSource, target: &SourceTarget) -> Result<Self, RegistrationError> {
        let SourceTarget {
            controller,
            primary,
            queue,
            consistency,
            ..
        } = target;
        let Some(slot) = consistency.slot_of(&source.informer) else {
            return Err(RegistrationError::UnknownInformer {
                controller: controller.to_string(),
                kind: source.informer.info().kind_and_version(),
            });
        };
        if let Some(expectations) = &source.expectations {
            expectations.connect(controller, queue)?;
        }
        Ok(Self {
            slot,
            mapping: source.mapping,
            predicates: source.predicates,
            expectations: source.expectations,
            primary: primary.clone(),
            queue: queue.clone(),
            consistency: consistency.clone(),
        })
    }

    /// Receives the changes of an informer from now on, beginning with the objects that it has.
    pub(super) fn register(self, informer: &InformerHandle, options: HandlerOptions) -> HandlerRegistration {
        informer.add_sink(move |change| self.handle(change), options)
    }

    /// Handles one change: expectations, predicates, mapping to keys, enqueue.
    pub(super) fn handle(&self, change: &Change<'_>) {
        // Before the key is enqueued: its reconcile reads the expectations.
        if let Some(expectations) = &self.expectations {
            expectations.observe(change, || self.keys(change));
        }
        if !self.predicates.iter().all(|predicate| predicate(change)) {
            return;
        }
        match &self.mapping {
            KeyMapping::Primary => self.enqueue(change.name().clone(), change),
            KeyMapping::Owner => owner_keys(change, &self.primary).for_each(|key| self.enqueue(key, change)),
            KeyMapping::Custom(map) => map(change).into_iter().for_each(|key| self.enqueue(key, change)),
        }
    }

    fn keys(&self, change: &Change<'_>) -> Vec<NamespacedName> {
        match &self.mapping {
            KeyMapping::Primary => vec![change.name().clone()],
            KeyMapping::Owner => owner_keys(change, &self.primary).collect(),
            KeyMapping::Custom(map) => map(change),
        }
    }

    fn enqueue(&self, key: NamespacedName, change: &Change<'_>) {
        if self.consistency.enqueues(&key, change, &self.slot) {
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
