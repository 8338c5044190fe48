//! An upper bound for another rate limiter: client-go's WithMaxWaitRateLimiter.

use std::time::Duration;

use super::RateLimiter;

/// The delay of another rate limiter, at most a maximum. client-go's `WithMaxWaitRateLimiter`.
#[derive(Debug)]
pub struct MaxWait<L> {
    limiter: L,
    max: Duration,
}

impl<L> MaxWait<L> {
    /// Limits the delays of `limiter` to `max`.
    pub fn new(limiter: L, max: Duration) -> Self {
        Self { limiter, max }
    }
}

impl<K, L: RateLimiter<K>> RateLimiter<K> for MaxWait<L> {
    fn when(&self, key: &K) -> Duration {
        self.limiter.when(key).min(self.max)
    }

    fn forget(&self, key: &K) {
        self.limiter.forget(key);
    }

    fn num_requeues(&self, key: &K) -> usize {
        self.limiter.num_requeues(key)
    }
}
