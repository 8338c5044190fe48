//! A hash table of keys with stable slots and a value each: for the queue and the rate limiters.

use hashbrown::HashTable;

use super::Key;

/// The index of a key's entry. It is stable until the key is removed or [`relocated`](KeyTable::relocate).
pub(super) type Slot = u32;
/// No slot, or no position.
pub(super) const NONE: u32 = u32::MAX;

/// 32 bits of a hash. It is stored with each key, so that a growing table does not read its keys.
pub(super) type KeyHash = u32;

/// Returns the 32 bits of a hash that the table uses.
#[expect(clippy::cast_possible_truncation, reason = "32 bits are wanted")]
pub(super) fn short_hash(hash: u64) -> KeyHash {
    hash as KeyHash
}

/// Entries are allocated in chunks of this size.
pub(super) const CHUNK_KEYS: usize = 64;

/// A hash table of slots, with the entries in chunks beside it, so that growing copies no entry. A key's data is contiguous, because it moves
/// between processors' caches. The entry that was freed last is used first: it is likely to be cached.
#[derive(Debug)]
pub(super) struct KeyTable<K, V> {
    table: HashTable<Slot>,
    chunks: Vec<Box<[KeyEntry<K, V>; CHUNK_KEYS]>>,
    /// The first free slot of a linked list.
    free: Slot,
}

#[derive(Debug)]
pub(super) struct KeyEntry<K, V> {
    pub(super) key: Option<K>,
    pub(super) hash: KeyHash,
    /// For the owner's use while there is a key; links free entries.
    pub(super) link: u32,
    pub(super) value: V,
}

impl<K, V> KeyTable<K, V> {
    pub(super) fn new() -> Self {
        Self {
            table: HashTable::new(),
            chunks: Vec::new(),
            free: NONE,
        }
    }
}

impl<K: Key, V: Default> KeyTable<K, V> {
    /// The number of keys.
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    /// For how many keys there is memory.
    pub(super) fn capacity(&self) -> usize {
        self.chunks.len() * CHUNK_KEYS
    }

    #[inline]
    pub(super) fn at(&self, slot: Slot) -> &KeyEntry<K, V> {
        &self.chunks[slot as usize / CHUNK_KEYS][slot as usize % CHUNK_KEYS]
    }

    #[inline]
    pub(super) fn at_mut(&mut self, slot: Slot) -> &mut KeyEntry<K, V> {
        &mut self.chunks[slot as usize / CHUNK_KEYS][slot as usize % CHUNK_KEYS]
    }

    #[inline]
    pub(super) fn find(&self, hash: KeyHash, key: &K) -> Option<Slot> {
        let found = self.table.find(table_hash(hash), |&slot| {
            let entry = self.at(slot);
            entry.hash == hash && entry.key.as_ref() == Some(key)
        });
        found.copied()
    }

    /// Returns the slot of a key, a new one if needed.
    #[inline]
    pub(super) fn find_or_insert(&mut self, hash: KeyHash, key: K) -> Slot {
        self.find(hash, &key).unwrap_or_else(|| self.insert(hash, key))
    }

    /// Adds a key that is not in the table, with the default value.
    #[inline]
    pub(super) fn insert(&mut self, hash: KeyHash, key: K) -> Slot {
        let slot = self.allocate(hash, key);
        let chunks = &self.chunks;
        self.table.insert_unique(table_hash(hash), slot, |&slot| {
            table_hash(chunks[slot as usize / CHUNK_KEYS][slot as usize % CHUNK_KEYS].hash)
        });
        slot
    }

    pub(super) fn remove(&mut self, slot: Slot) -> Option<K> {
        if let Ok(entry) = self
            .table
            .find_entry(table_hash(self.at(slot).hash), |&other| other == slot)
        {
            entry.remove();
        }
        self.release(slot)
    }

    /// Moves a key to another slot. The old one is empty then and must be [released](Self::release).
    pub(super) fn relocate(&mut self, slot: Slot) -> Slot {
        let entry = self.at_mut(slot);
        let hash = entry.hash;
        let Some(key) = entry.key.take() else { return slot };
        let new = self.allocate(hash, key);
        if let Some(entry) = self.table.find_mut(table_hash(hash), |&other| other == slot) {
            *entry = new;
        }
        new
    }

    /// Frees a slot whose key was removed or moved.
    #[inline]
    pub(super) fn release(&mut self, slot: Slot) -> Option<K> {
        let free = std::mem::replace(&mut self.free, slot);
        let entry = self.at_mut(slot);
        entry.link = free;
        entry.key.take()
    }

    #[inline]
    fn allocate(&mut self, hash: KeyHash, key: K) -> Slot {
        if self.free == NONE {
            self.grow();
        }
        let slot = self.free;
        let entry = self.at_mut(slot);
        let free = entry.link;
        *entry = KeyEntry {
            key: Some(key),
            hash,
            link: NONE,
            value: V::default(),
        };
        self.free = free;
        slot
    }

    fn grow(&mut self) {
        #[expect(clippy::cast_possible_truncation, reason = "memory ends before u32 does")]
        let first = self.capacity() as u32;
        let mut next = first + 1..;
        let mut chunk = Box::new(std::array::from_fn(|_| KeyEntry {
            key: None,
            hash: 0,
            link: next.next().unwrap_or(NONE),
            value: V::default(),
        }));
        chunk[CHUNK_KEYS - 1].link = NONE;
        self.chunks.push(chunk);
        self.free = first;
    }
}

/// Expands the hash: hashbrown uses the high bits as tags and the low ones as positions.
fn table_hash(hash: KeyHash) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}
