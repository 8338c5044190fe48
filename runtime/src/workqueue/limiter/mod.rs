//! Rate limiters: the backoff of a key after failures.

mod failure_counts;
mod item_exponential;
mod item_fast_slow;
mod jittered;
mod max_of;
#[cfg(test)]
mod tests;
mod token_bucket;

use std::time::Duration;

pub use self::{
    item_exponential::ItemExponential, item_fast_slow::ItemFastSlow, jittered::Jittered, max_of::MaxOf,
    token_bucket::TokenBucket,
};
use super::Key;

/// Returns the backoff of failed keys, and remembers their failures: client-go's `RateLimiter`.
pub trait RateLimiter<K>: Send + Sync + 'static {
    /// Returns the delay before the key is requeued after one more failure.
    fn when(&self, key: &K) -> Duration;
    /// Forgets the key's failures, because it succeeded or is not retried.
    fn forget(&self, key: &K);
    /// Returns how many failures of the key are remembered.
    fn num_requeues(&self, key: &K) -> usize;
}

/// Creates client-go's default rate limiter: the longer of the key's exponential backoff, 5 ms · 2ⁿ up to 1000 s, and the wait of a token
/// bucket for all keys, with 100 tokens and 10 more a second.
pub fn default_limiter<K: Key>() -> MaxOf<ItemExponential<K>, TokenBucket> {
    MaxOf(
        ItemExponential::new(Duration::from_millis(5), Duration::from_secs(1000)),
        TokenBucket::new(10.0, 100),
    )
}
