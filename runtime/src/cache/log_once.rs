//! What was spoken of, so that it is not spoken of again.

use std::{collections::HashSet, hash::Hash};

/// So much is remembered. What comes then is not spoken of: a kind whose objects are all bad would fill a log, and the memory.
const MOST: usize = 1000;

/// Things of which each is spoken of once.
#[derive(Debug)]
pub(super) struct LogOnce<T>(HashSet<T>);

impl<T> Default for LogOnce<T> {
    fn default() -> Self {
        Self(HashSet::new())
    }
}

impl<T: Eq + Hash> LogOnce<T> {
    /// What to say behind it, if it is to be spoken of now.
    pub(super) fn first(&mut self, thing: T) -> Option<&'static str> {
        if self.0.len() >= MOST || !self.0.insert(thing) {
            return None;
        }
        Some(match self.0.len() {
            MOST => "; no more of these are logged, only counted",
            _ => "",
        })
    }

    /// It is over, and spoken of if it comes again.
    pub(super) fn is_over(&mut self, thing: &T) {
        self.0.remove(thing);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_spoken_of_once_until_it_is_over_and_of_many_no_more() {
        let mut said = LogOnce::default();
        assert_eq!((said.first(0), said.first(0)), (Some(""), None));
        said.is_over(&0);
        assert!(said.is_empty());
        let spoken: Vec<_> = (0..2 * MOST).filter_map(|thing| said.first(thing)).collect();
        assert_eq!(spoken.len(), MOST);
        assert!(spoken[MOST - 1].contains("only counted") && spoken[..MOST - 1].concat().is_empty());
    }
}
