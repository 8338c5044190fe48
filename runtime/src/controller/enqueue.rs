//! From a change to the keys that it wakes.

use std::sync::Arc;

use super::{
    builder::{Mapping, Source},
    consistency::ConsistencyStore,
    owners::owner_keys,
};
use crate::{
    ApiResource, NamespacedName,
    cache::{Change, InformerHandle, SharedInformerFactory},
    workqueue::{Priority, WorkQueue},
};

/// Adds the keys to the queue that changes of one informer wake.
pub(super) struct EnqueueHandler {
    source: Source,
    primary: ApiResource,
    queue: Arc<WorkQueue>,
    own_writes: Arc<ConsistencyStore>,
    /// The informer's, for `own_writes`.
    place: usize,
}

impl EnqueueHandler {
    pub(super) fn new(
        source: Source,
        primary: ApiResource,
        queue: &Arc<WorkQueue>,
        own_writes: &Arc<ConsistencyStore>,
    ) -> Self {
        if let Some(expectations) = &source.expectations {
            expectations.connect(queue);
        }
        Self {
            place: own_writes.place(&source.progress),
            source,
            primary,
            queue: queue.clone(),
            own_writes: own_writes.clone(),
        }
    }

    pub(super) fn tell(&self, change: &Change<'_>) {
        // Before the key is woken: it asks for them.
        if let Some(expectations) = &self.source.expectations {
            expectations.observe(change, || self.keys(change));
        }
        if !self.source.conditions.iter().all(|condition| condition(change)) {
            return;
        }
        match &self.source.mapping {
            Mapping::Primary => self.wake(change.name().clone(), change),
            Mapping::Owner => owner_keys(change, &self.primary).for_each(|key| self.wake(key, change)),
            Mapping::Custom(map) => map(change).into_iter().for_each(|key| self.wake(key, change)),
        }
    }

    fn keys(&self, change: &Change<'_>) -> Vec<NamespacedName> {
        match &self.source.mapping {
            Mapping::Primary => vec![change.name().clone()],
            Mapping::Owner => owner_keys(change, &self.primary).collect(),
            Mapping::Custom(map) => map(change),
        }
    }

    fn wake(&self, key: NamespacedName, change: &Change<'_>) {
        if self.own_writes.wakes(&key, change, self.place) {
            self.queue.add_with_priority(key, priority(change));
        }
    }
}

/// The informers that reconcile may read, each once.
pub(super) fn readable(sources: &[Source], factory: Option<&SharedInformerFactory>) -> Vec<InformerHandle> {
    let mut informers: Vec<InformerHandle> = Vec::new();
    let all = factory.map(SharedInformerFactory::progress).unwrap_or_default();
    for informer in sources.iter().map(|source| source.progress.clone()).chain(all) {
        if !informers.iter().any(|known| known.is_same(&informer)) {
            informers.push(informer);
        }
    }
    informers
}

/// What is told because a list began or time passed, not because somebody changed something, may wait for what is.
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
