//! The longer delay of two rate limiters: client-go's MaxOfRateLimiter.

use std::time::Duration;

use super::RateLimiter;

/// The longer delay of two rate limiters. Both are always called, so that a bucket's token is spent in any case. Nest it for more than two.
/// client-go's `MaxOfRateLimiter`.
#[derive(Debug)]
pub struct MaxOf<A, B>(pub A, pub B);

impl<K, A: RateLimiter<K>, B: RateLimiter<K>> RateLimiter<K> for MaxOf<A, B> {
    fn when(&self, key: &K) -> Duration {
        let (one, other) = (self.0.when(key), self.1.when(key));
        one.max(other)
    }

    fn forget(&self, key: &K) {
        self.0.forget(key);
        self.1.forget(key);
    }

    fn num_requeues(&self, key: &K) -> usize {
        self.0.num_requeues(key).max(self.1.num_requeues(key))
    }
}
