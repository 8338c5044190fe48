//! What the queue knows of each key.

use super::{
    Key, Priority,
    keys::{CHUNK, KeyHash, KeyTable, NONE, Slot},
    limits::QueueLimits,
};

/// The key wants attention.
pub(super) const DIRTY: u8 = 1;
/// A worker holds it.
pub(super) const HELD: u8 = 2;
/// A worker put it aside.
pub(super) const PARKED: u8 = 4;

/// The keys, what is known of each, and since when they are dirty.
pub(super) struct Slots<K> {
    keys: KeyTable<K, Known>,
    /// Beside the keys; empty when nobody wants to know.
    #[expect(clippy::vec_box, reason = "growing copies nothing")]
    since: Vec<Box<[u64; CHUNK]>>,
    is_timed: bool,
    /// Slots of keys of which nothing was known.
    leaving: Vec<Slot>,
}

struct Known {
    due: u32,
    flags: u8,
    priority: Priority,
    due_priority: Priority,
    /// It stands among those that leave.
    is_leaving: bool,
}

impl Default for Known {
    fn default() -> Self {
        Self {
            due: NONE,
            flags: 0,
            priority: Priority::NORMAL,
            due_priority: Priority::NORMAL,
            is_leaving: false,
        }
    }
}

/// The fields of a slot that are plain numbers.
macro_rules! fields {
    ($($field:ident, $set:ident: $type:ty;)*) => {$(
        pub(super) fn $field(&self, slot: Slot) -> $type {
            self.keys.at(slot).value.$field
        }

        pub(super) fn $set(&mut self, slot: Slot, value: $type) {
            self.keys.at_mut(slot).value.$field = value;
        }
    )*};
}

impl<K: Key> Slots<K> {
    pub(super) fn new(is_timed: bool, limits: QueueLimits) -> Self {
        Self {
            keys: KeyTable::new(limits),
            since: Vec::new(),
            is_timed,
            leaving: Vec::new(),
        }
    }

    fields! {
        // Where the key's time is among the delayed ones.
        due, set_due: u32;
        flags, set_flags: u8;
        // With which the key is dirty; if it is parked and not dirty, with which it will be.
        priority, set_priority: Priority;
        due_priority, set_due_priority: Priority;
    }

    /// What comes next in the line that the slot stands in: ready keys of one priority. Of a held key, where it is among those; of a
    /// parked one, where its time is.
    pub(super) fn link(&self, slot: Slot) -> u32 {
        self.keys.at(slot).link
    }

    pub(super) fn set_link(&mut self, slot: Slot, link: u32) {
        self.keys.at_mut(slot).link = link;
    }

    /// Whether slots know since when they are dirty.
    pub(super) fn is_timed(&self) -> bool {
        self.is_timed
    }

    pub(super) fn since(&self, slot: Slot) -> u64 {
        let chunk = self.since.get(slot as usize / CHUNK);
        chunk.map_or(0, |chunk| chunk[slot as usize % CHUNK])
    }

    #[inline]
    pub(super) fn set_since(&mut self, slot: Slot, since: u64) {
        if !self.is_timed {
            return;
        }
        while self.since.len() * CHUNK <= slot as usize {
            self.since.push(Box::new([0; CHUNK]));
        }
        self.since[slot as usize / CHUNK][slot as usize % CHUNK] = since;
    }

    /// Nothing in a slot that a key left.
    pub(super) fn key(&self, slot: Slot) -> Option<&K> {
        self.keys.at(slot).key.as_ref()
    }

    /// For how many keys there is memory.
    pub(super) fn capacity(&self) -> usize {
        self.keys.capacity()
    }

    pub(super) fn find(&self, hash: KeyHash, key: &K) -> Option<Slot> {
        self.keys.find(hash, key)
    }

    /// The slot of a key, a new one if it has none.
    pub(super) fn find_or_insert(&mut self, hash: KeyHash, key: K) -> Slot {
        self.keys.find_or_insert(hash, key)
    }

    pub(super) fn fetch(&self, hashes: impl Iterator<Item = KeyHash>) {
        self.keys.fetch(hashes);
    }

    /// Moves a key to a new slot. The old one has none then, keeps its place in a line, and is to be [released](Self::release).
    pub(super) fn relocate(&mut self, slot: Slot) -> Slot {
        let new = self.keys.relocate(slot);
        self.set_flags(new, self.flags(slot));
        self.set_priority(new, self.priority(slot));
        self.set_due(new, self.due(slot));
        self.set_due_priority(new, self.due_priority(slot));
        self.set_since(new, self.since(slot));
        new
    }

    /// Frees a slot that a key left, and which no line holds any more.
    pub(super) fn release(&mut self, slot: Slot) {
        self.keys.release(slot);
    }

    /// Removes a key if nothing is known of it: among many keys not at once, for each would be waited for.
    #[inline]
    pub(super) fn remove_unknown(&mut self, slot: Slot) -> Option<K> {
        if !self.is_unknown(slot) {
            return None;
        }
        let limits = self.keys.limits();
        if self.leaving.is_empty() && self.keys.len() < limits.many_keys {
            return self.keys.remove(slot);
        }
        let known = &mut self.keys.at_mut(slot).value;
        if !std::mem::replace(&mut known.is_leaving, true) {
            self.leaving.push(slot);
        }
        if self.leaving.len() >= limits.removal_batch.min(self.keys.len()) {
            self.remove_leaving();
        }
        None
    }

    /// Drops all keys and their memory.
    pub(super) fn reset(&mut self) {
        *self = Self::new(self.is_timed, self.keys.limits());
    }

    /// Whether there is no key.
    pub(super) fn is_empty(&self) -> bool {
        self.keys.len() == 0
    }

    fn is_unknown(&self, slot: Slot) -> bool {
        let place = self.keys.at(slot);
        place.key.is_some() && place.value.flags == 0 && place.value.due == NONE
    }

    fn remove_leaving(&mut self) {
        let hashes = self.leaving.iter().map(|&slot| self.keys.at(slot).hash);
        self.keys.fetch(hashes);
        while let Some(slot) = self.leaving.pop() {
            // A slot may stand here twice, for its key and for one that left it: the mark is there once.
            let known = &mut self.keys.at_mut(slot).value;
            if std::mem::take(&mut known.is_leaving) && self.is_unknown(slot) {
                self.keys.remove(slot);
            }
        }
    }
}
