//! The interner: shares equal strings, labels and owner references of objects that arrive close to each other.

use std::{hash::BuildHasher, sync::Arc};

use hashbrown::DefaultHashBuilder;

use super::prefetch;

/// The initial number of entries.
const MIN_ENTRIES: usize = 64;
/// The maximum number of entries. The interner grows to it as long as many entries evict each other.
const MAX_ENTRIES: usize = 2048;
/// Longer texts are not interned: they are rare, and would take most of the memory.
const MAX_TEXT_BYTES: usize = 4096;

/// A bounded cache from JSON texts to shared values. Replicas have equal labels and owner references and arrive one after another.
#[derive(Debug)]
pub(super) struct Interner<T: ?Sized, S = DefaultHashBuilder> {
    /// Two entries for each hash, the newer one first.
    buckets: Vec<[Option<InternedText<T>>; 2]>,
    evictions: usize,
    hasher: S,
}

#[derive(Debug)]
struct InternedText<T: ?Sized> {
    text: Box<str>,
    value: Arc<T>,
}

/// A text with its hash, ready for a lookup.
#[derive(Debug, Clone, Copy)]
pub(super) struct HashedText<'t> {
    text: &'t str,
    hash: u64,
}

impl<'t> HashedText<'t> {
    pub(super) fn text(self) -> &'t str {
        self.text
    }

    /// Returns the hash: equal for equal texts of one [`Interner`], and hardly ever for others.
    pub(super) fn digest(self) -> u64 {
        self.hash
    }
}

impl<T: ?Sized, S: Default> Default for Interner<T, S> {
    fn default() -> Self {
        Self {
            buckets: Vec::new(),
            evictions: 0,
            hasher: S::default(),
        }
    }
}

impl<T: ?Sized, S: BuildHasher> Interner<T, S> {
    /// Hashes a text, and starts loading into the CPU's cache the entries that the lookup will compare it with.
    pub(super) fn hash_text<'t>(&self, text: &'t str) -> HashedText<'t> {
        let hash = self.hasher.hash_one(text);
        if !self.buckets.is_empty() {
            for known in self.buckets[self.bucket(hash)].iter().flatten() {
                prefetch::text(known.text.as_bytes());
            }
        }
        HashedText { text, hash }
    }

    /// Returns the value of the text, from the cache or from `make`. Errors of `make` are not cached.
    pub(super) fn get_or_make<E>(
        &mut self,
        HashedText { text, hash }: HashedText<'_>,
        make: impl FnOnce(&str) -> Result<Arc<T>, E>,
    ) -> Result<Arc<T>, E> {
        if text.len() > MAX_TEXT_BYTES {
            return make(text);
        }
        if 2 * self.evictions >= self.buckets.len() && self.buckets.len() < MAX_ENTRIES / 2 {
            self.grow();
        }
        let bucket = self.bucket(hash);
        let known = self.buckets[bucket]
            .iter()
            .flatten()
            .find(|known| *known.text == *text);
        if let Some(known) = known {
            return Ok(known.value.clone());
        }
        let value = make(text)?;
        self.put(InternedText {
            text: text.into(),
            value: value.clone(),
        });
        Ok(value)
    }

    fn put(&mut self, new: InternedText<T>) {
        let bucket = self.bucket(self.hasher.hash_one(&*new.text));
        let [newer, older] = &mut self.buckets[bucket];
        let evicted = std::mem::replace(older, newer.replace(new));
        self.evictions += usize::from(evicted.is_some());
    }

    fn grow(&mut self) {
        let buckets = (2 * self.buckets.len()).max(MIN_ENTRIES / 2);
        let known = std::mem::replace(&mut self.buckets, (0..buckets).map(|_| [None, None]).collect());
        let known = known.into_iter().flat_map(|[newer, older]| [older, newer]);
        for entry in known.flatten() {
            self.put(entry);
        }
        self.evictions = 0;
    }

    fn bucket(&self, hash: u64) -> usize {
        usize::try_from(hash % self.buckets.len() as u64).unwrap_or_default()
    }
}

impl Interner<str> {
    /// Returns the text as a shared string.
    pub(super) fn intern(&mut self, text: &str) -> Arc<str> {
        let shared: Result<_, std::convert::Infallible> =
            self.get_or_make(self.hash_text(text), |text| Ok(text.into()));
        shared.unwrap_or_else(|never| match never {})
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasherDefault, DefaultHasher};

    use super::*;

    #[test]
    fn recent_texts_are_shared_and_old_ones_are_evicted() {
        let mut interner = Interner::<str>::default();
        let first = interner.intern("kube-system");
        assert!(Arc::ptr_eq(&first, &interner.intern("kube-system")));
        for number in 0..10 * MAX_ENTRIES {
            assert_eq!(*interner.intern(&number.to_string()), *number.to_string());
        }
        assert_eq!(Arc::strong_count(&first), 1);
        let long = "a".repeat(MAX_TEXT_BYTES + 1);
        assert!(!Arc::ptr_eq(&interner.intern(&long), &interner.intern(&long)));
    }

    #[test]
    fn hundreds_of_repeated_texts_are_all_interned() {
        // Fixed hashes: which texts evict each other depends on them.
        let mut interner = Interner::<str, BuildHasherDefault<DefaultHasher>>::default();
        let mut made = 0;
        for round in 0..20 {
            if round == 10 {
                made = 0;
            }
            for number in 0..400 {
                let text = format!("labels {number}");
                let shared: Result<_, ()> = interner.get_or_make(interner.hash_text(&text), |text| {
                    made += 1;
                    Ok(text.into())
                });
                assert!(shared.is_ok());
            }
        }
        assert!(made < 10 * 400 / 10, "{made}");
        assert!(interner.buckets.len() < MAX_ENTRIES);
    }

    #[test]
    fn errors_are_not_cached() {
        let mut interner = Interner::<str>::default();
        assert_eq!(
            interner.get_or_make(interner.hash_text("a"), |_| Err("no")),
            Err("no")
        );
        let made: Result<_, &str> =
            interner.get_or_make(interner.hash_text("a"), |text| Ok(format!("{text}!").into()));
        assert_eq!(made, Ok("a!".into()));
    }
}
