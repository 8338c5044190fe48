//! How often each key failed.

use std::hash::BuildHasher as _;

use hashbrown::{DefaultHashBuilder, HashTable, hash_table::Entry};
use parking_lot::Mutex;

use crate::workqueue::Key;

/// Counts failures by key; a key without any takes no memory.
#[derive(Debug)]
pub(super) struct Failures<K> {
    hasher: DefaultHashBuilder,
    counts: Mutex<HashTable<(K, u32)>>,
}

impl<K> Default for Failures<K> {
    fn default() -> Self {
        Self {
            hasher: DefaultHashBuilder::default(),
            counts: Mutex::new(HashTable::new()),
        }
    }
}

impl<K: Key> Failures<K> {
    /// Counts one more, and answers how many there were before.
    pub(super) fn count(&self, key: &K) -> u32 {
        // Hashed once, before the lock.
        let hash = self.hasher.hash_one(key);
        let mut counts = self.counts.lock();
        let found = counts.entry(
            hash,
            |(known, _)| known == key,
            |(known, _)| self.hasher.hash_one(known),
        );
        match found {
            Entry::Occupied(mut known) => {
                let count = &mut known.get_mut().1;
                let earlier = *count;
                *count = earlier.saturating_add(1);
                earlier
            }
            Entry::Vacant(new) => {
                new.insert((key.clone(), 1));
                0
            }
        }
    }

    pub(super) fn forget(&self, key: &K) {
        /// With room for so many keys, an empty table gives it back.
        const ROOM: usize = 4096;
        let mut counts = self.counts.lock();
        // Most keys never fail: then there is nothing to hash.
        if counts.is_empty() {
            return;
        }
        let found = counts.find_entry(self.hasher.hash_one(key), |(known, _)| known == key);
        let forgotten = found.ok().map(|known| known.remove().0);
        if counts.is_empty() && counts.capacity() > ROOM {
            *counts = HashTable::new();
        }
        // The key is dropped when nobody waits for the lock.
        drop(counts);
        drop(forgotten);
    }

    pub(super) fn of(&self, key: &K) -> usize {
        let counts = self.counts.lock();
        let known = counts.find(self.hasher.hash_one(key), |(known, _)| known == key);
        known.map_or(0, |&(_, count)| count as usize)
    }
}
