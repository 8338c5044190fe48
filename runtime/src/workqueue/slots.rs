//! Where keys lie: each once, found by its hash, named by a number elsewhere.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::{Key, Priority};

/// The number of a place for a key. It stays with the key until the key is removed or [`relocated`](Slots::relocate).
pub(super) type Slot = u32;
/// No slot, no position.
pub(super) const NONE: u32 = u32::MAX;

/// The key wants attention.
pub(super) const DIRTY: u8 = 1;
/// A worker holds it.
pub(super) const HELD: u8 = 2;
/// A worker put it aside.
pub(super) const PARKED: u8 = 4;

const CHUNK: usize = 64;

/// Places for keys, in arrays side by side, so that nothing is lost to alignment, and in chunks, so that growing copies nothing.
struct Chunk<K> {
    keys: [Option<K>; CHUNK],
    links: [u32; CHUNK],
    due: [u32; CHUNK],
    flags: [u8; CHUNK],
    priorities: [Priority; CHUNK],
    due_priorities: [Priority; CHUNK],
}

pub(super) struct Slots<K> {
    hasher: DefaultHashBuilder,
    table: HashTable<Slot>,
    chunks: Vec<Box<Chunk<K>>>,
    /// Since when keys are dirty; empty when nobody wants to know.
    #[expect(clippy::vec_box, reason = "growing copies nothing")]
    since: Vec<Box<[u64; CHUNK]>>,
    is_timed: bool,
    /// The first free slot; the others follow by their links.
    free: Slot,
}

/// The fields of a slot that are plain numbers.
macro_rules! fields {
    ($($field:ident, $get:ident, $set:ident: $type:ty;)*) => {$(
        pub(super) fn $get(&self, slot: Slot) -> $type {
            self.chunks[slot as usize / CHUNK].$field[slot as usize % CHUNK]
        }

        pub(super) fn $set(&mut self, slot: Slot, value: $type) {
            self.chunks[slot as usize / CHUNK].$field[slot as usize % CHUNK] = value;
        }
    )*};
}

impl<K: Key> Slots<K> {
    pub(super) fn new(hasher: DefaultHashBuilder, is_timed: bool) -> Self {
        Self {
            hasher,
            table: HashTable::new(),
            chunks: Vec::new(),
            since: Vec::new(),
            is_timed,
            free: NONE,
        }
    }

    fields! {
        // What comes next in the line that the slot stands in: free slots, or ready keys of one priority. Of a held key, where
        // it is among those; of a parked one, where its time is.
        links, link, set_link: u32;
        // Where the key's time is among the delayed ones.
        due, due, set_due: u32;
        flags, flags, set_flags: u8;
        // With which the key is dirty; if it is parked and not dirty, with which it will be.
        priorities, priority, set_priority: Priority;
        due_priorities, due_priority, set_due_priority: Priority;
    }

    /// Whether slots know since when they are dirty.
    pub(super) fn is_timed(&self) -> bool {
        self.is_timed
    }

    pub(super) fn since(&self, slot: Slot) -> u64 {
        let chunk = self.since.get(slot as usize / CHUNK);
        chunk.map_or(0, |chunk| chunk[slot as usize % CHUNK])
    }

    pub(super) fn set_since(&mut self, slot: Slot, since: u64) {
        if let Some(chunk) = self.since.get_mut(slot as usize / CHUNK) {
            chunk[slot as usize % CHUNK] = since;
        }
    }

    /// Nothing in a slot that a key left.
    pub(super) fn key(&self, slot: Slot) -> Option<&K> {
        self.chunks[slot as usize / CHUNK].keys[slot as usize % CHUNK].as_ref()
    }

    /// How many keys there are.
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    /// For how many keys there is memory.
    pub(super) fn capacity(&self) -> usize {
        self.chunks.len() * CHUNK
    }

    pub(super) fn find(&self, hash: u64, key: &K) -> Option<Slot> {
        let found = self.table.find(hash, |&slot| self.key(slot) == Some(key));
        found.copied()
    }

    /// The slot of a key, a new one if it has none.
    pub(super) fn find_or_insert(&mut self, hash: u64, key: K) -> Slot {
        if let Some(slot) = self.find(hash, &key) {
            return slot;
        }
        let slot = self.place(key);
        let (chunks, hasher) = (&self.chunks, &self.hasher);
        self.table
            .insert_unique(hash, slot, |&slot| rehash(chunks, hasher, slot));
        slot
    }

    /// Removes a key of this hash.
    pub(super) fn remove(&mut self, hash: u64, slot: Slot) -> Option<K> {
        if let Ok(entry) = self.table.find_entry(hash, |&other| other == slot) {
            entry.remove();
        }
        self.release(slot)
    }

    /// Moves a key to a new slot. The old one has none then, keeps its place in a line, and is to be [released](Self::release).
    pub(super) fn relocate(&mut self, slot: Slot) -> Slot {
        let hash = self.hash(slot);
        let Some(key) = self.chunks[slot as usize / CHUNK].keys[slot as usize % CHUNK].take() else {
            return slot;
        };
        let new = self.place(key);
        self.set_flags(new, self.flags(slot));
        self.set_priority(new, self.priority(slot));
        self.set_due(new, self.due(slot));
        self.set_due_priority(new, self.due_priority(slot));
        self.set_since(new, self.since(slot));
        if let Some(entry) = self.table.find_mut(hash, |&other| other == slot) {
            *entry = new;
        }
        new
    }

    pub(super) fn hash(&self, slot: Slot) -> u64 {
        rehash(&self.chunks, &self.hasher, slot)
    }

    /// Frees a slot, which no line holds any more.
    pub(super) fn release(&mut self, slot: Slot) -> Option<K> {
        self.set_link(slot, self.free);
        self.free = slot;
        self.chunks[slot as usize / CHUNK].keys[slot as usize % CHUNK].take()
    }

    fn place(&mut self, key: K) -> Slot {
        if self.free == NONE {
            self.grow();
        }
        let slot = self.free;
        self.free = self.link(slot);
        self.chunks[slot as usize / CHUNK].keys[slot as usize % CHUNK] = Some(key);
        self.set_link(slot, NONE);
        self.set_flags(slot, 0);
        self.set_due(slot, NONE);
        slot
    }

    fn grow(&mut self) {
        #[expect(clippy::cast_possible_truncation, reason = "memory ends before numbers do")]
        let first = self.capacity() as u32;
        let mut next = first..;
        next.next();
        let mut links = std::array::from_fn(|_| next.next().unwrap_or(NONE));
        links[CHUNK - 1] = NONE;
        self.chunks.push(Box::new(Chunk {
            keys: [const { None }; CHUNK],
            links,
            due: [NONE; CHUNK],
            flags: [0; CHUNK],
            priorities: [Priority::NORMAL; CHUNK],
            due_priorities: [Priority::NORMAL; CHUNK],
        }));
        if self.is_timed {
            self.since.push(Box::new([0; CHUNK]));
        }
        self.free = first;
    }
}

fn rehash<K: Key>(chunks: &[Box<Chunk<K>>], hasher: &DefaultHashBuilder, slot: Slot) -> u64 {
    let key = &chunks[slot as usize / CHUNK].keys[slot as usize % CHUNK];
    key.as_ref().map_or(0, |key| hasher.hash_one(key))
}
