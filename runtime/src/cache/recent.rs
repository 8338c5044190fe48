//! Texts that many objects have in common, shared while they keep coming.

use std::{hash::BuildHasher as _, sync::Arc};

use hashbrown::DefaultHashBuilder;

/// Texts that are remembered. Each displaces the one that shares its place.
const PLACES: u64 = 512;
/// Longer texts are not remembered: they are rare, and would be most of what is.
const LONGEST: usize = 4096;

/// What was made of a text lately: siblings have the same labels and the same owner, and come one after the other.
///
/// It holds on to no more than its places.
#[derive(Debug)]
pub(super) struct Recent<T: ?Sized> {
    places: Box<[Option<Place<T>>]>,
    hasher: DefaultHashBuilder,
}

#[derive(Debug)]
struct Place<T: ?Sized> {
    text: Box<str>,
    meaning: Arc<T>,
}

impl<T: ?Sized> Default for Recent<T> {
    fn default() -> Self {
        Self {
            places: Box::default(),
            hasher: DefaultHashBuilder::default(),
        }
    }
}

impl<T: ?Sized> Recent<T> {
    /// What `make` made of the text, now or lately.
    pub(super) fn get_or_make<E>(
        &mut self,
        text: &str,
        make: impl FnOnce(&str) -> Result<Arc<T>, E>,
    ) -> Result<Arc<T>, E> {
        if text.len() > LONGEST {
            return make(text);
        }
        if self.places.is_empty() {
            self.places = (0..PLACES).map(|_| None).collect();
        }
        let place = usize::try_from(self.hasher.hash_one(text) % PLACES).unwrap_or_default();
        let place = &mut self.places[place];
        if let Some(known) = place
            && *known.text == *text
        {
            return Ok(known.meaning.clone());
        }
        let meaning = make(text)?;
        *place = Some(Place {
            text: text.into(),
            meaning: meaning.clone(),
        });
        Ok(meaning)
    }
}

impl Recent<str> {
    /// The text, shared.
    pub(super) fn share(&mut self, text: &str) -> Arc<str> {
        let shared: Result<_, std::convert::Infallible> = self.get_or_make(text, |text| Ok(text.into()));
        shared.unwrap_or_else(|never| match never {})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_lately_is_shared_and_what_came_long_ago_is_forgotten() {
        let mut recent = Recent::<str>::default();
        let first = recent.share("kube-system");
        assert!(Arc::ptr_eq(&first, &recent.share("kube-system")));
        for number in 0..100 * PLACES {
            assert_eq!(*recent.share(&number.to_string()), *number.to_string());
        }
        assert_eq!(Arc::strong_count(&first), 1);
        let long = "a".repeat(LONGEST + 1);
        assert!(!Arc::ptr_eq(&recent.share(&long), &recent.share(&long)));
    }

    #[test]
    fn what_cannot_be_made_is_tried_again() {
        let mut recent = Recent::<str>::default();
        assert_eq!(recent.get_or_make("a", |_| Err("no")), Err("no"));
        let made: Result<_, &str> = recent.get_or_make("a", |text| Ok(format!("{text}!").into()));
        assert_eq!(made, Ok("a!".into()));
    }
}
