//! Jitter for another rate limiter.

use std::time::Duration;

use super::RateLimiter;

/// Adds jitter to another rate limiter, so that keys that failed together, in one operator or in many, are not retried together. client-go
/// has no such rate limiter.
#[derive(Debug)]
pub struct Jittered<L> {
    limiter: L,
    share: f64,
}

impl<L> Jittered<L> {
    /// Delays of `limiter` become longer by up to `share` of them: with 0.5, one second becomes 1 to 1.5 seconds. A negative or not finite
    /// share counts as 0.
    pub fn new(limiter: L, share: f64) -> Self {
        Self {
            limiter,
            share: if share.is_finite() { share.max(0.0) } else { 0.0 },
        }
    }
}

impl<K, L: RateLimiter<K>> RateLimiter<K> for Jittered<L> {
    fn when(&self, key: &K) -> Duration {
        let wait = self.limiter.when(key);
        let longer = wait.as_secs_f64() * self.share * rand::random::<f64>();
        wait.saturating_add(Duration::try_from_secs_f64(longer).unwrap_or(Duration::MAX))
    }

    fn forget(&self, key: &K) {
        self.limiter.forget(key);
    }

    fn num_requeues(&self, key: &K) -> usize {
        self.limiter.num_requeues(key)
    }
}
