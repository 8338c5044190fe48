//! Keys, each once, found by hash, and what is known of each: for the queue and the limiters.

use hashbrown::HashTable;

use super::{Key, limits::QueueLimits};

/// The number of a place for a key. It stays with the key until the key is removed or [`relocated`](KeyTable::relocate).
pub(super) type Slot = u32;
/// No slot, no position.
pub(super) const NONE: u32 = u32::MAX;

/// Half of what is usual: it is kept with each key, so that a table grows without a look at its keys' texts.
pub(super) type KeyHash = u32;

/// The half of a hash that tables use.
#[expect(clippy::cast_possible_truncation, reason = "a half is wanted")]
pub(super) fn half(hash: u64) -> KeyHash {
    hash as KeyHash
}

/// So many places are made at a time.
pub(super) const CHUNK: usize = 64;

/// A table of small numbers, and the keys in places of their own, in chunks, so that growing copies nothing. All that is known of a key lies
/// together, for processors hand it to and fro. The place that was freed last is used first: it is still in a cache.
#[derive(Debug)]
pub(super) struct KeyTable<K, V> {
    table: HashTable<Slot>,
    chunks: Vec<Box<[Place<K, V>; CHUNK]>>,
    /// The first free slot; the others follow by their links.
    free: Slot,
    limits: QueueLimits,
}

#[derive(Debug)]
pub(super) struct Place<K, V> {
    pub(super) key: Option<K>,
    pub(super) hash: KeyHash,
    /// The owner's, while there is a key.
    pub(super) link: u32,
    pub(super) value: V,
}

impl<K, V> KeyTable<K, V> {
    pub(super) fn new(limits: QueueLimits) -> Self {
        Self {
            table: HashTable::new(),
            chunks: Vec::new(),
            free: NONE,
            limits,
        }
    }

    pub(super) fn limits(&self) -> QueueLimits {
        self.limits
    }
}

impl<K: Key, V: Default> KeyTable<K, V> {
    /// How many keys there are.
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    /// For how many keys there is memory.
    pub(super) fn capacity(&self) -> usize {
        self.chunks.len() * CHUNK
    }

    #[inline]
    pub(super) fn at(&self, slot: Slot) -> &Place<K, V> {
        &self.chunks[slot as usize / CHUNK][slot as usize % CHUNK]
    }

    #[inline]
    pub(super) fn at_mut(&mut self, slot: Slot) -> &mut Place<K, V> {
        &mut self.chunks[slot as usize / CHUNK][slot as usize % CHUNK]
    }

    #[inline]
    pub(super) fn find(&self, hash: KeyHash, key: &K) -> Option<Slot> {
        let found = self.table.find(wide(hash), |&slot| {
            let place = self.at(slot);
            place.hash == hash && place.key.as_ref() == Some(key)
        });
        found.copied()
    }

    /// The slot of a key, a new one if it has none.
    #[inline]
    pub(super) fn find_or_insert(&mut self, hash: KeyHash, key: K) -> Slot {
        self.find(hash, &key).unwrap_or_else(|| self.insert(hash, key))
    }

    /// A slot for a key that has none, with the default value.
    #[inline]
    pub(super) fn insert(&mut self, hash: KeyHash, key: K) -> Slot {
        let slot = self.place(hash, key);
        let chunks = &self.chunks;
        self.table.insert_unique(wide(hash), slot, |&slot| {
            wide(chunks[slot as usize / CHUNK][slot as usize % CHUNK].hash)
        });
        slot
    }

    /// Has the memory at hand that finding these keys takes. When each is found for itself it is waited for each time; here it comes together.
    pub(super) fn fetch(&self, hashes: impl Iterator<Item = KeyHash>) {
        if self.len() < self.limits.many_keys {
            return;
        }
        for hash in hashes {
            std::hint::black_box(self.table.find(wide(hash), |_| true));
        }
    }

    pub(super) fn remove(&mut self, slot: Slot) -> Option<K> {
        if let Ok(entry) = self
            .table
            .find_entry(wide(self.at(slot).hash), |&other| other == slot)
        {
            entry.remove();
        }
        self.release(slot)
    }

    /// Moves a key to a new slot. The old one has none then, and is to be [released](Self::release).
    pub(super) fn relocate(&mut self, slot: Slot) -> Slot {
        let place = self.at_mut(slot);
        let hash = place.hash;
        let Some(key) = place.key.take() else { return slot };
        let new = self.place(hash, key);
        if let Some(entry) = self.table.find_mut(wide(hash), |&other| other == slot) {
            *entry = new;
        }
        new
    }

    /// Frees a slot that is not found any more.
    #[inline]
    pub(super) fn release(&mut self, slot: Slot) -> Option<K> {
        let free = std::mem::replace(&mut self.free, slot);
        let place = self.at_mut(slot);
        place.link = free;
        place.key.take()
    }

    #[inline]
    fn place(&mut self, hash: KeyHash, key: K) -> Slot {
        if self.free == NONE {
            self.grow();
        }
        let slot = self.free;
        let place = self.at_mut(slot);
        let free = place.link;
        *place = Place {
            key: Some(key),
            hash,
            link: NONE,
            value: V::default(),
        };
        self.free = free;
        slot
    }

    fn grow(&mut self) {
        #[expect(clippy::cast_possible_truncation, reason = "memory ends before numbers do")]
        let first = self.capacity() as u32;
        let mut next = first + 1..;
        let mut chunk = Box::new(std::array::from_fn(|_| Place {
            key: None,
            hash: 0,
            link: next.next().unwrap_or(NONE),
            value: V::default(),
        }));
        chunk[CHUNK - 1].link = NONE;
        self.chunks.push(chunk);
        self.free = first;
    }
}

/// As the table wants it: it tells keys apart by the first bits, and places them by the last.
fn wide(hash: KeyHash) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}
