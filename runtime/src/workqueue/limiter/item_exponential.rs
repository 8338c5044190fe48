//! Exponential backoff per key: client-go's ItemExponentialFailureRateLimiter.

use std::time::Duration;

use super::{RateLimiter, failure_counts::FailureCounts};
use crate::workqueue::Key;

/// Exponential backoff per key: `base · 2ⁿ`, at most `max`, without jitter; see [`Jittered`](super::Jittered). client-go's
/// `ItemExponentialFailureRateLimiter`.
#[derive(Debug)]
pub struct ItemExponential<K> {
    base: Duration,
    max: Duration,
    failures: FailureCounts<K>,
}

impl<K> ItemExponential<K> {
    /// The first failure waits `base`; no wait is longer than `max`.
    pub fn new(base: Duration, max: Duration) -> Self {
        Self {
            base,
            max,
            failures: FailureCounts::new(),
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
