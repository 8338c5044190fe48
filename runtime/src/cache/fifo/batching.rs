//! The queue that keeps every delta in order.

use std::collections::VecDeque;

use hashbrown::HashSet;

use super::{Delta, Fifo, Namespace};
use crate::NamespacedName;

/// Keys in a batch, at most.
pub(super) const MAX_BATCH_KEYS: usize = 1000;

/// Keeps every delta and hands out many at once. A delta about more than one object is a batch of its own. Never reads the store.
#[derive(Debug)]
pub(super) struct BatchingFifo {
    queue: VecDeque<Delta>,
    /// Namespaces without a processed list.
    unsynced: HashSet<Namespace>,
    /// The namespace of the list that is being processed.
    in_process: Option<Namespace>,
}

impl BatchingFifo {
    pub(super) fn new(namespaces: impl IntoIterator<Item = Namespace>) -> Self {
        Self {
            queue: VecDeque::new(),
            unsynced: namespaces.into_iter().collect(),
            in_process: None,
        }
    }
}

/// Whether the delta must be a batch of its own.
fn is_own_batch(delta: &Delta) -> bool {
    delta.object().is_none() && !matches!(delta, Delta::Bookmark { .. })
}

impl Fifo for BatchingFifo {
    fn push(&mut self, delta: Delta) {
        self.queue.push_back(delta);
    }

    fn pop(&mut self) -> Option<Vec<Delta>> {
        let front = self.queue.front()?;
        if let Delta::Replaced { namespace, .. } = front {
            self.in_process = Some(namespace.clone());
        }
        if is_own_batch(front) {
            return self.queue.pop_front().map(|delta| vec![delta]);
        }
        // No more changes than keys are allowed: the keys need not be counted.
        let is_short = self.queue.len() <= MAX_BATCH_KEYS;
        let mut keys: HashSet<&NamespacedName> = HashSet::new();
        let batched = self.queue.iter().take_while(|delta| {
            !is_own_batch(delta)
                && (is_short || {
                    keys.extend(delta.object().map(|object| object.name()));
                    keys.len() <= MAX_BATCH_KEYS
                })
        });
        let length = batched.count();
        drop(keys);
        Some(self.queue.drain(..length).collect())
    }

    fn processed(&mut self) {
        if let Some(namespace) = self.in_process.take() {
            self.unsynced.remove(&namespace);
        }
    }

    fn has_synced(&self) -> bool {
        self.unsynced.is_empty()
    }

    fn len(&self) -> usize {
        self.queue.len()
    }
}
