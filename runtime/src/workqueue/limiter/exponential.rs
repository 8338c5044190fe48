//! Longer and longer waits.

use std::time::Duration;

use super::{RateLimiter, failures::Failures};
use crate::workqueue::Key;

/// Each failure of a key doubles its wait: `base · 2ⁿ`, at most `max`. Without jitter; see [`Jittered`](super::Jittered).
#[derive(Debug)]
pub struct ItemExponential<K> {
    base: Duration,
    max: Duration,
    failures: Failures<K>,
}

impl<K> ItemExponential<K> {
    /// The first failure waits `base`, none longer than `max`.
    pub fn new(base: Duration, max: Duration) -> Self {
        Self {
            base,
            max,
            failures: Failures::default(),
        }
    }
}

impl<K: Key> RateLimiter<K> for ItemExponential<K> {
    fn when(&self, key: &K) -> Duration {
        let factor = 1u128.checked_shl(self.failures.count(key));
        let nanos = factor.and_then(|factor| self.base.as_nanos().checked_mul(factor));
        nanos
            .filter(|&nanos| nanos < self.max.as_nanos())
            .map_or(self.max, Duration::from_nanos_u128)
    }

    fn forget(&self, key: &K) {
        self.failures.forget(key);
    }

    fn num_requeues(&self, key: &K) -> usize {
        self.failures.of(key)
    }
}
