//! The state of each key of the queue.

use super::{
    Key, Priority,
    key_table::{CHUNK_KEYS, KeyHash, KeyTable, NONE, Slot},
};

/// The key needs processing.
pub(super) const DIRTY: u8 = 1;
/// A worker processes it.
pub(super) const PROCESSING: u8 = 2;
/// It is parked.
pub(super) const PARKED: u8 = 4;

/// The keys, their states, and since when they are dirty.
pub(super) struct KeyStates<K> {
    keys: KeyTable<K, KeyState>,
    /// Since when each slot's key is dirty; empty if the queue is not timed.
    #[expect(clippy::vec_box, reason = "growing copies nothing")]
    since: Vec<Box<[u64; CHUNK_KEYS]>>,
    is_timed: bool,
}

struct KeyState {
    due: u32,
    flags: u8,
    priority: Priority,
    due_priority: Priority,
}

impl Default for KeyState {
    fn default() -> Self {
        Self {
            due: NONE,
            flags: 0,
            priority: Priority::NORMAL,
            due_priority: Priority::NORMAL,
        }
    }
}

/// Getters and setters of a slot's fields.
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

impl<K: Key> KeyStates<K> {
    pub(super) fn new(is_timed: bool) -> Self {
        Self {
            keys: KeyTable::new(),
            since: Vec::new(),
            is_timed,
        }
    }

    fields! {
        // The position of the key's due time among the delayed keys.
        due, set_due: u32;
        flags, set_flags: u8;
        // The priority of a dirty key; of a parked key that is not dirty, the one that it will have.
        priority, set_priority: Priority;
        due_priority, set_due_priority: Priority;
    }

    /// For a queued key, the next slot in its priority's line. For a processing key, its index among those. For a parked key, the position
    /// of its deadline.
    pub(super) fn link(&self, slot: Slot) -> u32 {
        self.keys.at(slot).link
    }

    pub(super) fn set_link(&mut self, slot: Slot, link: u32) {
        self.keys.at_mut(slot).link = link;
    }

    /// Whether the queue measures how long keys are queued.
    pub(super) fn is_timed(&self) -> bool {
        self.is_timed
    }

    pub(super) fn since(&self, slot: Slot) -> u64 {
        let chunk = self.since.get(slot as usize / CHUNK_KEYS);
        chunk.map_or(0, |chunk| chunk[slot as usize % CHUNK_KEYS])
    }

    #[inline]
    pub(super) fn set_since(&mut self, slot: Slot, since: u64) {
        if !self.is_timed {
            return;
        }
        while self.since.len() * CHUNK_KEYS <= slot as usize {
            self.since.push(Box::new([0; CHUNK_KEYS]));
        }
        self.since[slot as usize / CHUNK_KEYS][slot as usize % CHUNK_KEYS] = since;
    }

    /// The key; `None` in a slot that its key has left.
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

    /// Returns the slot of a key, a new one if needed.
    pub(super) fn find_or_insert(&mut self, hash: KeyHash, key: K) -> Slot {
        self.keys.find_or_insert(hash, key)
    }

    /// Moves a key to another slot. The old one stays in its line, empty, and must be [released](Self::release) there.
    pub(super) fn relocate(&mut self, slot: Slot) -> Slot {
        let new = self.keys.relocate(slot);
        self.set_flags(new, self.flags(slot));
        self.set_priority(new, self.priority(slot));
        self.set_due(new, self.due(slot));
        self.set_due_priority(new, self.due_priority(slot));
        self.set_since(new, self.since(slot));
        new
    }

    /// Frees an empty slot that is in no line any more.
    pub(super) fn release(&mut self, slot: Slot) {
        self.keys.release(slot);
    }

    /// Removes a key without state.
    #[inline]
    pub(super) fn remove_if_idle(&mut self, slot: Slot) -> Option<K> {
        let entry = self.keys.at(slot);
        let is_idle = entry.key.is_some() && entry.value.flags == 0 && entry.value.due == NONE;
        if is_idle { self.keys.remove(slot) } else { None }
    }

    /// Whether the table is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.keys.len() == 0
    }
}
