//! A limit of retries for all keys together: client-go's BucketRateLimiter.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::RateLimiter;
use crate::token_bucket::BucketState;

/// Limits the retries of all keys together: each failure takes a token, and waits for one where none is left. It remembers no keys.
/// client-go's `BucketRateLimiter`.
#[derive(Debug)]
pub struct TokenBucket(Mutex<BucketState>);

impl TokenBucket {
    /// Creates a full bucket of `burst` tokens that gets `per_second` tokens back. With a rate of zero, a failure beyond the burst waits
    /// for a year.
    pub fn new(per_second: f64, burst: u32) -> Self {
        Self(Mutex::new(BucketState::new(per_second, f64::from(burst))))
    }
}

impl<K> RateLimiter<K> for TokenBucket {
    fn when(&self, _key: &K) -> Duration {
        self.0.lock().reserve(Instant::now())
    }

    fn forget(&self, _key: &K) {}

    fn num_requeues(&self, _key: &K) -> usize {
        0
    }
}
