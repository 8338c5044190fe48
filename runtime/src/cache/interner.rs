//! Texts that many objects have in common, shared while they keep coming.

use std::{hash::BuildHasher, sync::Arc};

use hashbrown::DefaultHashBuilder;

use super::prefetch;

/// How many texts are remembered at first, and at most: as long as those that displace one another are many, there are to be more places.
const FEWEST: usize = 64;
const MOST: usize = 2048;
/// Longer texts are not remembered: they are rare, and would be most of what is.
const LONGEST: usize = 4096;

/// What was made of a text lately: siblings have the same labels and the same owner, and come one after the other.
///
/// It holds on to no more than its places.
#[derive(Debug)]
pub(super) struct Recent<T: ?Sized, S = DefaultHashBuilder> {
    /// Two for each hash, side by side: the newer one first.
    places: Vec<[Option<Place<T>>; 2]>,
    displaced: usize,
    hasher: S,
}

#[derive(Debug)]
struct Place<T: ?Sized> {
    text: Box<str>,
    meaning: Arc<T>,
}

/// A text whose meaning will be asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'t> {
    text: &'t str,
    hash: u64,
}

impl<'t> Asked<'t> {
    pub(super) fn text(self) -> &'t str {
        self.text
    }

    /// Equal texts have equal digests, of one [`Recent`], and others hardly ever.
    pub(super) fn digest(self) -> u64 {
        self.hash
    }
}

impl<T: ?Sized, S: Default> Default for Recent<T, S> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            displaced: 0,
            hasher: S::default(),
        }
    }
}

impl<T: ?Sized, S: BuildHasher> Recent<T, S> {
    /// Has the processor read what the text will be compared with, while its meaning is not asked for yet.
    pub(super) fn ask<'t>(&self, text: &'t str) -> Asked<'t> {
        let hash = self.hasher.hash_one(text);
        if !self.places.is_empty() {
            for known in self.places[self.place(hash)].iter().flatten() {
                prefetch::text(known.text.as_bytes());
            }
        }
        Asked { text, hash }
    }

    /// What `make` made of the text, now or lately.
    pub(super) fn get_or_make<E>(
        &mut self,
        Asked { text, hash }: Asked<'_>,
        make: impl FnOnce(&str) -> Result<Arc<T>, E>,
    ) -> Result<Arc<T>, E> {
        if text.len() > LONGEST {
            return make(text);
        }
        if 2 * self.displaced >= self.places.len() && self.places.len() < MOST / 2 {
            self.grow();
        }
        let place = self.place(hash);
        let known = self.places[place]
            .iter()
            .flatten()
            .find(|known| *known.text == *text);
        if let Some(known) = known {
            return Ok(known.meaning.clone());
        }
        let meaning = make(text)?;
        self.put(Place {
            text: text.into(),
            meaning: meaning.clone(),
        });
        Ok(meaning)
    }

    fn put(&mut self, new: Place<T>) {
        let place = self.place(self.hasher.hash_one(&*new.text));
        let [newer, older] = &mut self.places[place];
        let displaced = std::mem::replace(older, newer.replace(new));
        self.displaced += usize::from(displaced.is_some());
    }

    fn grow(&mut self) {
        let places = (2 * self.places.len()).max(FEWEST / 2);
        let known = std::mem::replace(&mut self.places, (0..places).map(|_| [None, None]).collect());
        let known = known.into_iter().flat_map(|[newer, older]| [older, newer]);
        for place in known.flatten() {
            self.put(place);
        }
        self.displaced = 0;
    }

    fn place(&self, hash: u64) -> usize {
        usize::try_from(hash % self.places.len() as u64).unwrap_or_default()
    }
}

impl Recent<str> {
    /// The text, shared.
    pub(super) fn share(&mut self, text: &str) -> Arc<str> {
        let shared: Result<_, std::convert::Infallible> =
            self.get_or_make(self.ask(text), |text| Ok(text.into()));
        shared.unwrap_or_else(|never| match never {})
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasherDefault, DefaultHasher};

    use super::*;

    #[test]
    fn what_came_lately_is_shared_and_what_came_long_ago_is_forgotten() {
        let mut recent = Recent::<str>::default();
        let first = recent.share("kube-system");
        assert!(Arc::ptr_eq(&first, &recent.share("kube-system")));
        for number in 0..10 * MOST {
            assert_eq!(*recent.share(&number.to_string()), *number.to_string());
        }
        assert_eq!(Arc::strong_count(&first), 1);
        let long = "a".repeat(LONGEST + 1);
        assert!(!Arc::ptr_eq(&recent.share(&long), &recent.share(&long)));
    }

    #[test]
    fn hundreds_that_come_again_and_again_are_all_remembered() {
        // Which texts displace one another is chance: the same hashes in each run.
        let mut recent = Recent::<str, BuildHasherDefault<DefaultHasher>>::default();
        let mut made = 0;
        for round in 0..20 {
            if round == 10 {
                made = 0;
            }
            for number in 0..400 {
                let text = format!("labels {number}");
                let shared: Result<_, ()> = recent.get_or_make(recent.ask(&text), |text| {
                    made += 1;
                    Ok(text.into())
                });
                assert!(shared.is_ok());
            }
        }
        assert!(made < 10 * 400 / 10, "{made}");
        assert!(recent.places.len() < MOST);
    }

    #[test]
    fn what_cannot_be_made_is_tried_again() {
        let mut recent = Recent::<str>::default();
        assert_eq!(recent.get_or_make(recent.ask("a"), |_| Err("no")), Err("no"));
        let made: Result<_, &str> = recent.get_or_make(recent.ask("a"), |text| Ok(format!("{text}!").into()));
        assert_eq!(made, Ok("a!".into()));
    }
}
