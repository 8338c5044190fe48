//! The delta queue between reflectors and store.

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
/// Both bring the store to the same state, and with both, handlers see every object added, updated and deleted without a gap. They differ
/// in this:
///
/// | | `Batching` | `DeltaFifo` |
/// |---|---|---|
/// | order among objects | as the API server sent them | that of each object's oldest queued change |
/// | a relist | is one change of the store: readers see all of it or nothing | is applied object by object |
/// | notifications of a relist | deletions first, then the list in its order | the list in its order, then deletions |
/// | a deletion found by a relist, then seen by the watch | keeps `final_state_known` false | becomes the known one if it is still queued |
/// | a resync | delivers every object | skips objects with a queued change |
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum QueueKind {
    /// Keeps every change in order and applies up to 1,000 objects at once. client-go's queue since 1.36.
    #[default]
    Batching,
    /// Collects the changes of each object and applies one object at a time. client-go's queue before 1.36; it costs more and is here for
    /// comparison.
    DeltaFifo,
}

/// The namespace of a reflector; none for all namespaces.
pub(super) type Namespace = Option<Arc<str>>;

/// A change that a reflector saw or that a queue derived.
#[derive(Debug, Clone)]
pub(super) enum Delta {
    /// The object was added or changed; this is its state.
    Upserted(Arc<StoredObject>),
    /// The object was deleted; this is its last state.
    Deleted(Arc<StoredObject>),
    /// The object was deleted while no watch saw it; this is the last known state.
    DeletedFinalStateUnknown(Arc<StoredObject>),
    /// A list: the namespace holds these objects and no others.
    Replaced {
        namespace: Namespace,
        /// The resource version of the list.
        version: Box<str>,
        objects: Vec<Arc<StoredObject>>,
    },
    /// The end of a list of this version, from a queue that hands out its objects one by one.
    Listed { namespace: Namespace, version: Box<str> },
    /// Every change of the namespace up to this version was pushed before.
    Bookmark { namespace: Namespace, version: Box<str> },
    /// A resync of the object, which did not change.
    Sync(Arc<StoredObject>),
    /// A resync of every object in the store.
    SyncAll,
}

impl Delta {
    /// The objects that it adds to the store.
    pub(super) fn objects(&self) -> &[Arc<StoredObject>] {
        match self {
            Self::Upserted(object) => std::slice::from_ref(object),
            Self::Replaced { objects, .. } => objects,
            _ => &[],
        }
    }

    /// The object of a delta about a single one.
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
/// Deltas of one key keep the order in which they were pushed. The implementation decides how many of them reach the consumer.
pub(super) trait Fifo: Send {
    /// Appends a delta.
    fn push(&mut self, delta: Delta);

    /// Takes the next batch; none if nothing is queued. [`processed`](Self::processed) must be called before the next `pop`. An empty batch
    /// only changes [`has_synced`](Self::has_synced).
    fn pop(&mut self) -> Option<Vec<Delta>>;

    /// Marks the batch that was popped last as stored and distributed.
    fn processed(&mut self);

    /// Whether the first list of each namespace was processed.
    fn has_synced(&self) -> bool;

    /// The number of queued entries.
    fn len(&self) -> usize;
}

/// A [`Fifo`] that the informer and its statistics share.
pub(super) struct SharedFifo {
    fifo: Mutex<Box<dyn Fifo>>,
}

impl SharedFifo {
    /// `namespaces` are those to be listed; `store` is the one that the consumer fills.
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

    /// See [`Fifo::processed`]; returns whether all namespaces have synced.
    pub(super) fn processed(&self) -> bool {
        let mut fifo = self.fifo.lock();
        fifo.processed();
        fifo.has_synced()
    }

    pub(super) fn len(&self) -> usize {
        self.fifo.lock().len()
    }
}
