//! A bounded map that evicts the least recently used entry.

use std::{collections::BTreeMap, hash::Hash};

use hashbrown::HashMap;

/// A map of at most `capacity` entries. An insertion beyond that evicts the entry that was neither read nor written for longest, in
/// logarithmic time. A capacity of 0 counts as 1.
#[derive(Debug)]
pub(crate) struct LruMap<K, V> {
    capacity: usize,
    entries: HashMap<K, LruEntry<V>>,
    /// The keys by the time of their last use.
    by_use: BTreeMap<u64, K>,
    /// Counts uses.
    clock: u64,
}

#[derive(Debug)]
struct LruEntry<V> {
    value: V,
    last_use: u64,
}

impl<K: Hash + Eq + Clone, V> LruMap<K, V> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            capacity: capacity.max(1),
            entries: HashMap::new(),
            by_use: BTreeMap::new(),
            clock: 0,
        }
    }

    /// Returns the value, which counts as a use.
    pub(crate) fn get(&mut self, key: &K) -> Option<&mut V> {
        let entry = self.entries.get_mut(key)?;
        self.clock += 1;
        if let Some(key) = self.by_use.remove(&entry.last_use) {
            self.by_use.insert(self.clock, key);
        }
        entry.last_use = self.clock;
        Some(&mut entry.value)
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        self.clock += 1;
        let last_use = self.clock;
        if let Some(replaced) = self.entries.insert(key.clone(), LruEntry { value, last_use }) {
            self.by_use.remove(&replaced.last_use);
        }
        self.by_use.insert(last_use, key);
        if self.entries.len() > self.capacity
            && let Some((_, evicted)) = self.by_use.pop_first()
        {
            self.entries.remove(&evicted);
        }
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        let removed = self.entries.remove(key)?;
        self.by_use.remove(&removed.last_use);
        Some(removed.value)
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.by_use.clear();
    }

    /// Iterates over all entries in no particular order. This is no use of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter().map(|(key, entry)| (key, &entry.value))
    }

    /// Removes the entries for whose values `keep` returns false.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&V) -> bool) {
        let by_use = &mut self.by_use;
        self.entries.retain(|_, entry| {
            let is_kept = keep(&entry.value);
            if !is_kept {
                by_use.remove(&entry.last_use);
            }
            is_kept
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPACITY: usize = 256;

    fn full() -> LruMap<usize, usize> {
        let mut map = LruMap::new(CAPACITY);
        for key in 0..CAPACITY {
            map.insert(key, key);
        }
        map
    }

    #[test]
    fn least_recently_used_entry_is_evicted() {
        let mut map = full();
        assert_eq!(map.get(&0), Some(&mut 0));
        map.insert(1, 7);
        map.insert(CAPACITY, 0);
        assert_eq!(map.iter().count(), CAPACITY);
        assert_eq!(map.get(&2), None);
        for (key, value) in [(0, 0), (1, 7), (3, 3)] {
            assert_eq!(map.get(&key), Some(&mut { value }));
        }
    }

    #[test]
    fn removed_entries_leave_nothing_behind() {
        let mut map = full();
        assert_eq!(map.remove(&3), Some(3));
        assert_eq!(map.remove(&3), None);
        map.retain(|value| value % 2 == 0);
        assert_eq!(
            (map.entries.len(), map.by_use.len()),
            (CAPACITY / 2, CAPACITY / 2)
        );
        assert!(map.iter().all(|(key, value)| key == value && value % 2 == 0));
        map.clear();
        assert_eq!((map.entries.len(), map.by_use.len()), (0, 0));
    }

    #[test]
    fn capacity_is_at_least_one() {
        let mut map = LruMap::new(0);
        map.insert(1, ());
        map.insert(2, ());
        assert_eq!(map.iter().map(|(key, ())| *key).collect::<Vec<_>>(), [2]);
    }
}
