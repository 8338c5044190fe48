//! A map that forgets what was not used for longest.

use std::hash::Hash;

use hashbrown::HashMap;

use super::recorder::LANES;

/// How much a lane remembers; all of them together as much as client-go.
pub(super) const REMEMBERED: usize = 4096 / LANES;

/// A map of at most [`REMEMBERED`] entries.
#[derive(Debug)]
pub(super) struct Recent<K, V> {
    entries: HashMap<K, (V, u64)>,
    turn: u64,
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self {
            entries: HashMap::new(),
            turn: 0,
        }
    }
}

impl<K: Hash + Eq + Clone, V> Recent<K, V> {
    /// The value, which counts as used now.
    pub(super) fn get(&mut self, key: &K) -> Option<&mut V> {
        self.turn += 1;
        let (value, used) = self.entries.get_mut(key)?;
        *used = self.turn;
        Some(value)
    }

    pub(super) fn insert(&mut self, key: K, value: V) {
        if self.entries.len() >= REMEMBERED && !self.entries.contains_key(&key) {
            // A walk over all of them, for one event among hundreds of different ones.
            let oldest = self.entries.iter().min_by_key(|(_, (_, used))| *used);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                self.entries.remove(&oldest);
            }
        }
        self.turn += 1;
        self.entries.insert(key, (value, self.turn));
    }

    pub(super) fn remove(&mut self, key: &K) {
        self.entries.remove(key);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter().map(|(key, (value, _))| (key, value))
    }

    pub(super) fn retain(&mut self, mut keep: impl FnMut(&V) -> bool) {
        self.entries.retain(|_, (value, _)| keep(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_used_for_longest_is_forgotten() {
        let mut recent = Recent::default();
        for key in 0..REMEMBERED {
            recent.insert(key, key);
        }
        assert_eq!(recent.get(&0), Some(&mut 0));
        recent.insert(1, 7);
        recent.insert(REMEMBERED, 0);
        assert_eq!(recent.iter().count(), REMEMBERED);
        assert_eq!(recent.get(&2), None);
        for (key, value) in [(0, 0), (1, 7), (3, 3)] {
            assert_eq!(recent.get(&key), Some(&mut { value }));
        }
    }
}
