//! A log-once set: reports each key the first time it is seen.

use std::{collections::HashSet, hash::Hash};

/// Keys that are remembered. Further keys are not logged: a kind whose objects are all bad would fill the log and the memory.
const MAX_KEYS: usize = 1000;

/// The keys that were logged.
#[derive(Debug)]
pub(super) struct LogOnce<T>(HashSet<T>);

impl<T> Default for LogOnce<T> {
    fn default() -> Self {
        Self(HashSet::new())
    }
}

impl<T: Eq + Hash> LogOnce<T> {
    /// Adds a key. Returns the end of its log line if it is to be logged: it is new, and there are not too many.
    pub(super) fn first_time(&mut self, key: T) -> Option<&'static str> {
        if self.0.len() >= MAX_KEYS || !self.0.insert(key) {
            return None;
        }
        Some(match self.0.len() {
            MAX_KEYS => "; no more of these are logged, only counted",
            _ => "",
        })
    }

    /// Removes a key, which is logged again the next time.
    pub(super) fn forget(&mut self, key: &T) {
        self.0.remove(key);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_is_logged_once_until_it_is_forgotten_and_the_number_of_keys_is_bounded() {
        let mut keys = LogOnce::default();
        assert_eq!((keys.first_time(0), keys.first_time(0)), (Some(""), None));
        keys.forget(&0);
        assert!(keys.is_empty());
        let logged: Vec<_> = (0..2 * MAX_KEYS).filter_map(|key| keys.first_time(key)).collect();
        assert_eq!(logged.len(), MAX_KEYS);
        assert!(logged[MAX_KEYS - 1].contains("only counted") && logged[..MAX_KEYS - 1].concat().is_empty());
    }
}
