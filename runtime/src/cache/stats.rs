//! Statistics of an informer.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// Statistics of one informer. Counters start at zero with the informer and never decrease.
///
/// They are read one after another while the informer runs: each is right, a sum of two may not be. Reading them visits every object, for
/// `kept_bytes`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InformerStats {
    /// Objects in the store.
    pub objects: usize,
    /// Bytes of the objects' JSON.
    pub bytes: usize,
    /// Bytes of memory that their JSON takes, less where it is encoded.
    pub kept_bytes: usize,
    /// Lists that succeeded: the first of each namespace, and each relist.
    pub lists: u64,
    /// Lists and watches that failed.
    pub failures: u64,
    /// Watches that the server accepted.
    pub watches: u64,
    /// Events that were received from watches, including bookmarks.
    pub watch_events: u64,
    /// How often a lister visited all objects, or all of a namespace: `list` and `select`, not the look-ups in an index.
    pub scans: u64,
    /// How often an object was decoded.
    pub decodes: u64,
    /// Versions of objects that did not decode when they were read, or that have duplicate keys in their metadata. Each object is logged once,
    /// and again after a version that decodes; at most 1,000 objects are logged.
    pub decode_errors: u64,
    /// Resource versions that went backwards or were not numbers.
    pub version_errors: u64,
    /// Objects that differed in a consistency check; see [`ReflectorOptions`](super::ReflectorOptions).
    pub inconsistencies: u64,
    /// Objects that an index left out because a value has another type than the index, or because its function failed.
    pub index_errors: u64,
    /// Entries of the delta queue: changes and lists with [`QueueKind::Batching`](super::QueueKind), else objects and lists.
    pub queued: usize,
    /// Notifications that are pending, over all handlers: the changes are in the store.
    pub pending: usize,
    /// Batches that were applied to the store.
    pub batches: u64,
    /// How long batches took in all, including the sinks' calls and the queueing of notifications.
    pub processing: Duration,
}

impl InformerStats {
    /// Lists after the first one, for an informer of one namespace, or of all.
    pub fn relists(&self) -> u64 {
        self.lists.saturating_sub(1)
    }
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) lists: AtomicU64,
    pub(super) failures: AtomicU64,
    pub(super) watches: AtomicU64,
    pub(super) watch_events: AtomicU64,
    pub(super) scans: AtomicU64,
    pub(super) decodes: AtomicU64,
    pub(super) decode_errors: AtomicU64,
    pub(super) batches: AtomicU64,
    pub(super) processing_nanos: AtomicU64,
    pub(super) version_errors: AtomicU64,
    pub(super) inconsistencies: AtomicU64,
}

impl Counters {
    /// The statistics that are counted here; the others are zero.
    pub(super) fn snapshot(&self) -> InformerStats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        InformerStats {
            lists: read(&self.lists),
            failures: read(&self.failures),
            watches: read(&self.watches),
            watch_events: read(&self.watch_events),
            scans: read(&self.scans),
            decodes: read(&self.decodes),
            decode_errors: read(&self.decode_errors),
            batches: read(&self.batches),
            processing: Duration::from_nanos(read(&self.processing_nanos)),
            version_errors: read(&self.version_errors),
            inconsistencies: read(&self.inconsistencies),
            ..InformerStats::default()
        }
    }
}

/// Adds one.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
