//! How often each key failed.

use std::{
    hash::BuildHasher as _,
    sync::atomic::{AtomicBool, Ordering},
};

use hashbrown::DefaultHashBuilder;
use parking_lot::Mutex;

use crate::workqueue::{
    Key,
    keys::{KeyHash, KeyTable, half},
    limits::QueueLimits,
};

/// Counts failures by key; a key without any takes no memory.
#[derive(Debug)]
pub(super) struct Failures<K> {
    hasher: DefaultHashBuilder,
    is_empty: AtomicBool,
    counts: Mutex<Counts<K>>,
}

#[derive(Debug)]
struct Counts<K> {
    keys: KeyTable<K, u32>,
    /// Keys to forget: of many keys, a few at a time, for each would be waited for.
    forgotten: Vec<(KeyHash, K)>,
}

impl<K> Default for Failures<K> {
    fn default() -> Self {
        Self::new(QueueLimits::DEFAULT)
    }
}

impl<K> Failures<K> {
    pub(super) fn new(limits: QueueLimits) -> Self {
        Self {
            hasher: DefaultHashBuilder::default(),
            is_empty: AtomicBool::new(true),
            counts: Mutex::new(Counts {
                keys: KeyTable::new(limits),
                forgotten: Vec::new(),
            }),
        }
    }
}

impl<K: Key> Failures<K> {
    /// Counts one more, and answers how many there were before.
    pub(super) fn count(&self, key: &K) -> u32 {
        // Hashed once, before the lock.
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
        // The key is dropped when nobody waits for the lock.
        drop(counts);
        drop(dropped);
    }

    pub(super) fn of(&self, key: &K) -> usize {
        let counts = &mut *self.counts.lock();
        let found = counts.find(self.hash(key), key);
        found.map_or(0, |slot| counts.keys.at(slot).value as usize)
    }

    fn hash(&self, key: &K) -> KeyHash {
        half(self.hasher.hash_one(key))
    }
}

/// An empty table gives its memory back when it was made for more keys than this.
const KEPT: usize = 4096;

impl<K: Key> Counts<K> {
    fn find(&mut self, hash: KeyHash, key: &K) -> Option<u32> {
        if self.forgotten.iter().any(|&(other, _)| other == hash) {
            self.forget_all();
        }
        self.keys.find(hash, key)
    }

    /// Answers the key if it was forgotten at once.
    fn forget(&mut self, hash: KeyHash, key: &K) -> Option<K> {
        let limits = self.keys.limits();
        if self.keys.len() > limits.many_keys {
            self.forgotten.push((hash, key.clone()));
            if self.forgotten.len() == limits.removal_batch {
                self.forget_all();
            }
            return None;
        }
        if !self.forgotten.is_empty() {
            self.forget_all();
        }
        let slot = self.keys.find(hash, key)?;
        let dropped = self.keys.remove(slot);
        if self.keys.len() == 0 && self.keys.capacity() > KEPT {
            self.keys = KeyTable::new(limits);
        }
        dropped
    }

    fn forget_all(&mut self) {
        self.keys.fetch(self.forgotten.iter().map(|&(hash, _)| hash));
        for (hash, key) in self.forgotten.drain(..) {
            if let Some(slot) = self.keys.find(hash, &key) {
                self.keys.remove(slot);
            }
        }
    }
}
