//! The number of failures of each key.

use std::{
    hash::BuildHasher as _,
    sync::atomic::{AtomicBool, Ordering},
};

use hashbrown::DefaultHashBuilder;
use parking_lot::Mutex;

use crate::workqueue::{
    Key,
    key_table::{BatchSizes, KeyHash, KeyTable, short_hash},
};

/// Counts failures by key; a key without any takes no memory.
#[derive(Debug)]
pub(super) struct FailureCounts<K> {
    hasher: DefaultHashBuilder,
    is_empty: AtomicBool,
    counts: Mutex<CountTable<K>>,
}

#[derive(Debug)]
struct CountTable<K> {
    keys: KeyTable<K, u32>,
    /// Keys to remove. Among many keys this is done in batches, so that cache misses overlap.
    forgotten: Vec<(KeyHash, K)>,
}

impl<K> FailureCounts<K> {
    pub(super) fn new(sizes: BatchSizes) -> Self {
        Self {
            hasher: DefaultHashBuilder::default(),
            is_empty: AtomicBool::new(true),
            counts: Mutex::new(CountTable {
                keys: KeyTable::new(sizes),
                forgotten: Vec::new(),
            }),
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
            None => counts.keys.insert(hash, key.clone()),
        };
        let count = &mut counts.keys.at_mut(slot).value;
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
        let dropped = counts.forget(hash, key);
        if counts.keys.len() == 0 {
            self.is_empty.store(true, Ordering::Release);
        }
        // The key is freed after the lock is released.
        drop(counts);
        drop(dropped);
    }

    pub(super) fn of(&self, key: &K) -> usize {
        let counts = &mut *self.counts.lock();
        let found = counts.find(self.hash(key), key);
        found.map_or(0, |slot| counts.keys.at(slot).value as usize)
    }

    fn hash(&self, key: &K) -> KeyHash {
        short_hash(self.hasher.hash_one(key))
    }
}

/// An empty table frees its memory if it has room for more keys than this.
const MAX_KEPT_FAILURES: usize = 4096;

impl<K: Key> CountTable<K> {
    fn find(&mut self, hash: KeyHash, key: &K) -> Option<u32> {
        if self.forgotten.iter().any(|&(other, _)| other == hash) {
            self.forget_all();
        }
        self.keys.find(hash, key)
    }

    /// Returns the key if it was removed immediately, to be freed outside the lock.
    fn forget(&mut self, hash: KeyHash, key: &K) -> Option<K> {
        if self.keys.len() > self.keys.sizes().many_keys {
            self.forgotten.push((hash, key.clone()));
            if self.forgotten.len() == self.keys.sizes().removal_batch {
                self.forget_all();
            }
            return None;
        }
        if !self.forgotten.is_empty() {
            self.forget_all();
        }
        let slot = self.keys.find(hash, key)?;
        let dropped = self.keys.remove(slot);
        if self.keys.len() == 0 && self.keys.capacity() > MAX_KEPT_FAILURES {
            self.keys = KeyTable::new(self.keys.sizes());
        }
        dropped
    }

    fn forget_all(&mut self) {
        self.keys.prefetch(self.forgotten.iter().map(|&(hash, _)| hash));
        for (hash, key) in self.forgotten.drain(..) {
            if let Some(slot) = self.keys.find(hash, &key) {
                self.keys.remove(slot);
            }
        }
    }
}
