//! What a reflector needs of the store that it fills.

use std::sync::Arc;

use crate::{
    ApiResource,
    cache::{
        ListWatchError,
        fifo::Delta,
        index::Index,
        metadata::Metadata,
        object::StoredObject,
        scan::{ScannedObject, Scanner},
        stats::Counters,
        watch_health::WatchHealth,
    },
};

/// The receiver of what a [`Reflector`](super::Reflector) lists and watches: client-go's `ReflectorStore`.
///
/// An informer is one; tests of the reflector use a small one of their own.
pub(in crate::cache) trait ReflectorStore: Send + Sync + 'static {
    /// The kind that is listed and watched.
    fn info(&self) -> &ApiResource;

    /// A scanner for the bytes of this kind.
    fn scanner(&self) -> Scanner;

    /// The indexes whose keys are read from an object's bytes while those are at hand.
    fn indexes(&self) -> Vec<Arc<Index>>;

    /// The stored object with the name, uid and resource version of `metadata`, if there is one.
    fn find_version(&self, metadata: &Metadata) -> Option<Arc<StoredObject>>;

    /// Loads into the processor's cache what an object with these owner references, of which this is a digest, will be compared with.
    fn prefetch(&self, owners: u64);

    /// Encodes an object that was scanned, for the deltas and the store.
    fn encode(&self, object: ScannedObject<'_>, indexes: &[Arc<Index>]) -> Arc<StoredObject>;

    /// Applies deltas in their order. Returns when they are in the store and every sink has seen them, so that a server that sends faster
    /// than the informer processes is slowed down.
    ///
    /// Not cancel safe.
    fn apply(&self, deltas: impl IntoIterator<Item = Delta> + Send) -> impl Future<Output = ()> + Send;

    /// Counters of the informer.
    fn counters(&self) -> &Counters;

    /// Tracks which watches are open.
    fn watch_health(&self) -> &Arc<WatchHealth>;

    /// Reports a list or watch that failed and will be retried.
    fn report_failure(&self, error: &ListWatchError);
}
