//! Some fast retries per key, then slow ones: client-go's ItemFastSlowRateLimiter.

use std::time::Duration;

use super::{RateLimiter, failure_counts::FailureCounts};
use crate::workqueue::Key;

/// The first failures of a key wait a short time, further ones a long time. client-go's `ItemFastSlowRateLimiter`.
#[derive(Debug)]
pub struct ItemFastSlow<K> {
    fast: Duration,
    slow: Duration,
    fast_attempts: u32,
    failures: FailureCounts<K>,
}

impl<K> ItemFastSlow<K> {
    /// The first `fast_attempts` failures wait `fast`, those after them `slow`.
    pub fn new(fast: Duration, slow: Duration, fast_attempts: u32) -> Self {
        Self {
            fast,
            slow,
            fast_attempts,
            failures: FailureCounts::new(),
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
