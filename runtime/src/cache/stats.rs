//! What an informer counts of itself.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// Figures of one informer; counters start at zero with the informer and never fall.
///
/// They are read one after the other while the informer runs: each is right, a sum of two may not be. Reading them looks at each object,
/// for `kept_bytes`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InformerStats {
    /// Objects in the store.
    pub objects: usize,
    /// Bytes of their JSON.
    pub bytes: usize,
    /// Bytes that are kept of it: less where objects are compressed.
    pub kept_bytes: usize,
    /// Lists that ended well: the first of each namespace, and each relist.
    pub lists: u64,
    /// Lists and watches that failed.
    pub failures: u64,
    /// WatchHealth that the server accepted.
    pub watches: u64,
    /// Lines that watches brought, bookmarks among them.
    pub watch_events: u64,
    /// How often an object was decoded.
    pub decodes: u64,
    /// Versions of objects that did not decode when they were read, or that say something twice in their metadata. Each object is logged
    /// once, and again when it was mended in between; of more than a thousand no more.
    pub decode_errors: u64,
    /// Resource versions that went backwards or were no number.
    pub version_errors: u64,
    /// Objects that differed in a check of consistency; see [`ReflectorOptions`](super::ReflectorOptions).
    pub inconsistencies: u64,
    /// How often an index left an object out because a value is of another type than it says, or because its function failed.
    pub index_errors: u64,
    /// Entries of the queue before the store: with [`QueueKind::Batching`](super::QueueKind) changes and lists, else objects and lists.
    pub queued: usize,
    /// Changes that are in the store and that handlers were not yet told of, summed up over all handlers.
    pub pending: usize,
    /// Batches that went into the store.
    pub batches: u64,
    /// How long that took in all, with telling the sinks, and filling what handlers are told from.
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
    pub(super) decodes: AtomicU64,
    pub(super) decode_errors: AtomicU64,
    pub(super) batches: AtomicU64,
    pub(super) processing_nanos: AtomicU64,
    pub(super) version_errors: AtomicU64,
    pub(super) inconsistencies: AtomicU64,
}

impl Counters {
    /// What is counted here; the rest is zero.
    pub(super) fn snapshot(&self) -> InformerStats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        InformerStats {
            lists: read(&self.lists),
            failures: read(&self.failures),
            watches: read(&self.watches),
            watch_events: read(&self.watch_events),
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
