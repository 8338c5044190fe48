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
        /// The version of the list.
        version: Box<str>,
        objects: Vec<Arc<StoredObject>>,
    },
    /// Everything of the namespace up to this version was pushed.
    Bookmark { namespace: Namespace, version: Box<str> },
}

impl Delta {
    /// The objects that it carries.
    pub(super) fn objects(&self) -> &[Arc<StoredObject>] {
        match self {
            Self::Upserted(object) | Self::Deleted(object) => std::slice::from_ref(object),
            Self::Replaced { objects, .. } => objects,
            Self::Bookmark { .. } => &[],
        }
    }
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
                Delta::Bookmark { .. } => true,
                Delta::Upserted(object) | Delta::Deleted(object) => {
                    keys.insert(object.name());
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Kind as _, cache::scan::Scanner};

    fn object(number: usize) -> Arc<StoredObject> {
        let json = json!({"metadata": {"name": format!("o{number}")}}).to_string();
        let info = k8s_openapi::api::core::v1::Node::info();
        Arc::new(Scanner::new(&info).object(json.as_bytes(), &[]).unwrap())
    }

    fn replaced(namespace: &Namespace) -> Delta {
        Delta::Replaced {
            namespace: namespace.clone(),
            version: "1".into(),
            objects: vec![object(0)],
        }
    }

    /// client-go: TestRealFIFO_PopMultipleDeltaInBatch.
    #[test]
    fn a_batch_has_at_most_a_thousand_keys_however_often_each_comes() {
        let mut fifo = BatchingFifo::new([None]);
        for number in 0..=MAX_BATCH {
            fifo.push(Delta::Upserted(object(number)));
            fifo.push(Delta::Deleted(object(number)));
        }
        assert_eq!(fifo.pop().len(), 2 * MAX_BATCH);
        assert_eq!(fifo.pop().len(), 2);
        assert_eq!(fifo.pop().len(), 0);
    }

    /// client-go: TestRealFIFO_ReplaceAtomicPop, TestRealFIFO_HasSynced.
    #[test]
    fn a_replacement_is_a_batch_and_syncs_once_it_is_processed() {
        let [one, two]: [Namespace; 2] = [Some("one".into()), Some("two".into())];
        let mut fifo = BatchingFifo::new([one.clone(), two.clone()]);
        fifo.push(replaced(&one));
        fifo.push(Delta::Upserted(object(1)));
        fifo.push(replaced(&one));
        fifo.push(replaced(&two));
        let mut synced = Vec::new();
        for expected in [true, false, true, true] {
            let batch = fifo.pop();
            assert!(matches!(&batch[..], [Delta::Replaced { .. }]) == expected && batch.len() == 1);
            synced.push(fifo.has_synced());
            fifo.processed();
            synced.push(fifo.has_synced());
        }
        assert_eq!(synced, [false, false, false, false, false, false, false, true]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_consumer_sleeps_until_something_is_pushed() {
        let fifo = Arc::new(SharedFifo::new(BatchingFifo::new([None])));
        let consumer = fifo.clone();
        let consumer = tokio::spawn(async move { consumer.pop().await.len() });
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        assert!(!consumer.is_finished());
        fifo.push([Delta::Upserted(object(1)), Delta::Deleted(object(1))]);
        assert_eq!(consumer.await.unwrap(), 2);
    }
}
