//! Some quick tries, then slow ones.

use std::time::Duration;

use super::{RateLimiter, failures::Failures};
use crate::workqueue::Key;

/// The first failures of a key wait a short time, further ones a long time.
#[derive(Debug)]
pub struct ItemFastSlow<K> {
    fast: Duration,
    slow: Duration,
    fast_attempts: u32,
    failures: Failures<K>,
}

impl<K> ItemFastSlow<K> {
    /// The first `fast_attempts` failures wait `fast`, those after them `slow`.
    pub fn new(fast: Duration, slow: Duration, fast_attempts: u32) -> Self {
        Self {
            fast,
            slow,
            fast_attempts,
            failures: Failures::default(),
        }
    }
}

impl<K: Key> RateLimiter<K> for ItemFastSlow<K> {
    fn when(&self, key: &K) -> Duration {
        if self.failures.count(key) < self.fast_attempts {
            self.fast
        } else {
            self.slow
        }
    }

    fn forget(&self, key: &K) {
        self.failures.forget(key);
    }

    fn num_requeues(&self, key: &K) -> usize {
        self.failures.of(key)
    }
}
