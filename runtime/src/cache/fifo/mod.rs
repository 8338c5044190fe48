//! The queue between reflectors and store: what happened, in order.

mod batching;
mod delta_fifo;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use parking_lot::Mutex;

use self::{batching::BatchingFifo, delta_fifo::DeltaFifo};
use super::{object::StoredObject, store::Store};

/// Which queue stands between an informer's reflectors and its store.
///
/// Both bring the store to the same state, and of each object both tell a life without a gap. They differ in what stands between:
///
/// | | `Batching` | `DeltaFifo` |
/// |---|---|---|
/// | order among objects | as the API server sent them | that of the oldest change that waits |
/// | a relist | is one change of the store: readers see it whole or not at all | is applied object by object |
/// | handlers are told of a relist | deletions first, then the others in the order of the list | the list first, then deletions |
/// | a deletion found by a relist, then seen by the watch | keeps `final_state_known` false | becomes the known one if it still waits |
/// | a resync | tells of every object | leaves out objects of which a change waits |
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum QueueKind {
    /// Keeps every change in order and applies up to a thousand objects at once. What client-go has since 1.36.
    #[default]
    Batching,
    /// Collects the changes of each object and applies one object at a time. What client-go had before; dearer, for comparison.
    DeltaFifo,
}

/// The namespace of a reflector; none: all namespaces.
pub(super) type Namespace = Option<Arc<str>>;

/// What a reflector saw, or what a queue found out.
#[derive(Debug, Clone)]
pub(super) enum Delta {
    /// The object is there, as this.
    Upserted(Arc<StoredObject>),
    /// The object is gone; this was its last state.
    Deleted(Arc<StoredObject>),
    /// The object is gone; this was the last state that is known.
    DeletedFinalStateUnknown(Arc<StoredObject>),
    /// The namespace holds these objects and no others.
    Replaced {
        namespace: Namespace,
        /// The version of the list.
        version: Box<str>,
        objects: Vec<Arc<StoredObject>>,
    },
    /// What a list of this version held was handed out; a queue that hands out its objects one by one says so.
    Listed { namespace: Namespace, version: Box<str> },
    /// Everything of the namespace up to this version was pushed before.
    Bookmark { namespace: Namespace, version: Box<str> },
    /// Nothing happened to the object; whoever resyncs is told of it again.
    Sync(Arc<StoredObject>),
    /// The same for everything in the store.
    SyncAll,
}

impl Delta {
    /// The objects that it brings to the store.
    pub(super) fn objects(&self) -> &[Arc<StoredObject>] {
        match self {
            Self::Upserted(object) => std::slice::from_ref(object),
            Self::Replaced { objects, .. } => objects,
            _ => &[],
        }
    }

    /// The object, where the delta is about a single one.
    fn object(&self) -> Option<&Arc<StoredObject>> {
        match self {
            Self::Upserted(object)
            | Self::Deleted(object)
            | Self::DeletedFinalStateUnknown(object)
            | Self::Sync(object) => Some(object),
            Self::Replaced { .. } | Self::Listed { .. } | Self::Bookmark { .. } | Self::SyncAll => None,
        }
    }
}

/// A queue of deltas that hands out batches to one consumer.
///
/// Deltas of one key come in the order in which they were pushed. How many of them reach the consumer is up to the implementation.
pub(super) trait Fifo: Send {
    /// Appends a delta.
    fn push(&mut self, delta: Delta);

    /// Takes the next deltas; none when nothing is queued. They count as processed only after [`processed`](Self::processed), which
    /// must be called before the next `pop`. A batch may be empty: then it only moves [`has_synced`](Self::has_synced).
    fn pop(&mut self) -> Option<Vec<Delta>>;

    /// The batch that was popped last is in the store, and everybody was told.
    fn processed(&mut self);

    /// Whether the first list of each namespace was processed.
    fn has_synced(&self) -> bool;

    /// How many entries are queued.
    fn len(&self) -> usize;
}

/// A [`Fifo`] that tasks share.
pub(super) struct SharedFifo {
    fifo: Mutex<Box<dyn Fifo>>,
}

impl SharedFifo {
    /// `namespaces` are those of which a list is awaited; `store` is the one that the consumer fills.
    pub(super) fn new(
        kind: QueueKind,
        namespaces: impl IntoIterator<Item = Namespace>,
        store: &Arc<Store>,
    ) -> Self {
        let fifo: Box<dyn Fifo> = match kind {
            QueueKind::Batching => Box::new(BatchingFifo::new(namespaces)),
            QueueKind::DeltaFifo => Box::new(DeltaFifo::new(namespaces, store.clone())),
        };
        Self {
            fifo: Mutex::new(fifo),
        }
    }

    pub(super) fn push(&self, deltas: impl IntoIterator<Item = Delta>) {
        let mut fifo = self.fifo.lock();
        for delta in deltas {
            fifo.push(delta);
        }
    }

    /// See [`Fifo::pop`].
    pub(super) fn pop(&self) -> Option<Vec<Delta>> {
        self.fifo.lock().pop()
    }

    /// See [`Fifo::processed`]; says whether all namespaces have synced.
    pub(super) fn processed(&self) -> bool {
        let mut fifo = self.fifo.lock();
        fifo.processed();
        fifo.has_synced()
    }

    pub(super) fn len(&self) -> usize {
        self.fifo.lock().len()
    }
}
