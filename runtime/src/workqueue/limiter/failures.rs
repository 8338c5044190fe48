//! How often each key failed.

use hashbrown::HashMap;
use parking_lot::Mutex;

use crate::workqueue::Key;

/// Counts failures by key; a key without any takes no memory.
#[derive(Debug)]
pub(super) struct Failures<K>(Mutex<HashMap<K, u32>>);

impl<K> Default for Failures<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Key> Failures<K> {
    /// Counts one more, and answers how many there were before.
    pub(super) fn count(&self, key: &K) -> u32 {
        let mut failures = self.0.lock();
        if let Some(count) = failures.get_mut(key) {
            let earlier = *count;
            *count = earlier.saturating_add(1);
            return earlier;
        }
        failures.insert(key.clone(), 1);
        0
    }

    pub(super) fn forget(&self, key: &K) {
        /// With room for so many keys, an empty map gives it back.
        const ROOM: usize = 4096;
        let mut failures = self.0.lock();
        // Most keys never fail: then there is nothing to hash.
        if !failures.is_empty()
            && failures.remove(key).is_some()
            && failures.is_empty()
            && failures.capacity() > ROOM
        {
            *failures = HashMap::new();
        }
    }

    pub(super) fn of(&self, key: &K) -> usize {
        let failures = self.0.lock();
        if failures.is_empty() {
            return 0;
        }
        failures.get(key).map_or(0, |&count| count as usize)
    }
}
