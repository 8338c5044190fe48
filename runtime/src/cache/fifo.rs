//! The queue between reflectors and store: what happened, in order.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::object::StoredObject;
use crate::ObjectName;

/// The most keys of one batch.
const MAX_BATCH: usize = 1000;

/// The namespace of a reflector; none: all namespaces.
pub(super) type Namespace = Option<Arc<str>>;

/// What a reflector saw.
#[derive(Debug)]
pub(super) enum Delta {
    /// The object is there, as this.
    Upserted(Arc<StoredObject>),
    /// The object is gone; this was its last state.
    Deleted(Arc<StoredObject>),
    /// The namespace holds these objects and no others.
    Replaced {
        namespace: Namespace,
        objects: Vec<Arc<StoredObject>>,
    },
}

/// A queue of deltas that hands out batches to one consumer.
///
/// Deltas of one key come in the order in which they were pushed. How many of them reach the consumer is up to the implementation.
pub(super) trait Fifo: Send {
    /// Appends a delta.
    fn push(&mut self, delta: Delta);

    /// Takes the next deltas, none when nothing is queued. They count as processed only after [`processed`](Self::processed).
    fn pop(&mut self) -> Vec<Delta>;

    /// The batch that was popped last is in the store, and everybody was told.
    fn processed(&mut self);

    /// Whether the first list of each namespace was processed.
    fn has_synced(&self) -> bool;
}

/// Keeps every delta, and hands out many at once; a replacement is one delta and a batch of its own.
#[derive(Debug)]
pub(super) struct BatchingFifo {
    queue: VecDeque<Delta>,
    /// Namespaces whose first list was not yet processed.
    unsynced: HashSet<Namespace>,
    /// The namespace whose list is being processed.
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

impl Fifo for BatchingFifo {
    fn push(&mut self, delta: Delta) {
        self.queue.push_back(delta);
    }

    fn pop(&mut self) -> Vec<Delta> {
        if let Some(Delta::Replaced { namespace, .. }) = self.queue.front() {
            self.in_process = Some(namespace.clone());
            return self.queue.pop_front().into_iter().collect();
        }
        let mut keys: HashSet<&ObjectName> = HashSet::new();
        let length = self
            .queue
            .iter()
            .take_while(|delta| match delta {
                Delta::Replaced { .. } => false,
                Delta::Upserted(object) | Delta::Deleted(object) => {
                    keys.insert(&object.metadata.name);
                    keys.len() <= MAX_BATCH
                }
            })
            .count();
        self.queue.drain(..length).collect()
    }

    fn processed(&mut self) {
        if let Some(namespace) = self.in_process.take() {
            self.unsynced.remove(&namespace);
        }
    }

    fn has_synced(&self) -> bool {
        self.unsynced.is_empty()
    }
}

/// A [`Fifo`] that tasks share.
pub(super) struct SharedFifo {
    fifo: Mutex<Box<dyn Fifo>>,
    pushed: Notify,
}

impl SharedFifo {
    pub(super) fn new(fifo: impl Fifo + 'static) -> Self {
        Self {
            fifo: Mutex::new(Box::new(fifo)),
            pushed: Notify::new(),
        }
    }

    pub(super) fn push(&self, deltas: impl IntoIterator<Item = Delta>) {
        let mut fifo = self.fifo.lock();
        for delta in deltas {
            fifo.push(delta);
        }
        drop(fifo);
        self.pushed.notify_one();
    }

    /// Waits for the next batch. Cancel safe. For one consumer.
    pub(super) async fn pop(&self) -> Vec<Delta> {
        loop {
            let batch = self.fifo.lock().pop();
            if !batch.is_empty() {
                return batch;
            }
            self.pushed.notified().await;
        }
    }

    /// See [`Fifo::processed`]; says whether all namespaces have synced.
    pub(super) fn processed(&self) -> bool {
        let mut fifo = self.fifo.lock();
        fifo.processed();
        fifo.has_synced()
    }
}
