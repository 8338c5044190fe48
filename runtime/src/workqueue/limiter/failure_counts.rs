//! The number of failures of each key.

use std::{
    hash::BuildHasher as _,
    sync::atomic::{AtomicBool, Ordering},
};

use hashbrown::DefaultHashBuilder;
use parking_lot::Mutex;

use crate::workqueue::{
    Key,
    key_table::{KeyHash, KeyTable, short_hash},
};

/// An empty table frees its memory if it has room for more keys than this.
const MAX_KEPT_FAILURES: usize = 4096;

/// Counts failures by key; a key without any takes no memory.
#[derive(Debug)]
pub(super) struct FailureCounts<K> {
    hasher: DefaultHashBuilder,
    is_empty: AtomicBool,
    counts: Mutex<KeyTable<K, u32>>,
}

impl<K> FailureCounts<K> {
    pub(super) fn new() -> Self {
        Self {
            hasher: DefaultHashBuilder::default(),
            is_empty: AtomicBool::new(true),
            counts: Mutex::new(KeyTable::new()),
        }
    }
}

impl<K: Key> FailureCounts<K> {
    /// Counts a failure. Returns how many there were before.
    pub(super) fn count(&self, key: &K) -> u32 {
        // Hashed before the lock is taken.
        let hash = self.hash(key);
        let mut counts = self.counts.lock();
        self.is_empty.store(false, Ordering::Release);
        let slot = match counts.find(hash, key) {
            Some(slot) => slot,
            None => counts.insert(hash, key.clone()),
        };
        let count = &mut counts.at_mut(slot).value;
        let earlier = *count;
        *count = earlier.saturating_add(1);
        earlier
    }

    pub(super) fn forget(&self, key: &K) {
        // Most keys never fail: then there is nothing to hash.
        if self.is_empty.load(Ordering::Acquire) {
            return;
        }
        let hash = self.hash(key);
        let mut counts = self.counts.lock();
        let dropped = counts.find(hash, key).and_then(|slot| counts.remove(slot));
        if counts.len() == 0 {
            self.is_empty.store(true, Ordering::Release);
            if counts.capacity() > MAX_KEPT_FAILURES {
                *counts = KeyTable::new();
            }
        }
        // The key is freed after the lock is released.
        drop(counts);
        drop(dropped);
    }

    pub(super) fn of(&self, key: &K) -> usize {
        let counts = self.counts.lock();
        let found = counts.find(self.hash(key), key);
        found.map_or(0, |slot| counts.at(slot).value as usize)
    }

    fn hash(&self, key: &K) -> KeyHash {
        short_hash(self.hasher.hash_one(key))
    }
}
