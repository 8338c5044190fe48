//! How long a key waits after a failure.

mod bucket;
mod exponential;
mod failures;
mod fast_slow;
mod jittered;
mod max_of;
mod max_wait;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use self::{
    bucket::TokenBucket, exponential::ItemExponential, fast_slow::ItemFastSlow, jittered::Jittered,
    max_of::MaxOf, max_wait::MaxWait,
};
use super::Key;

/// Says how long a key waits before it is tried again, and remembers its failures.
pub trait RateLimiter<K>: Send + Sync + 'static {
    /// How long the key waits after one more failure.
    fn when(&self, key: &K) -> Duration;
    /// Forgets the key's failures: it succeeded, or is given up.
    fn forget(&self, key: &K);
    /// How many failures of the key are remembered.
    fn num_requeues(&self, key: &K) -> usize;
}

/// client-go's default: the longer of 5 ms · 2ⁿ, at most 1000 s, for the key, and what a bucket of 100 tokens, 10 more a second,
/// says for all keys together.
pub fn default_limiter<K: Key>() -> MaxOf<ItemExponential<K>, TokenBucket> {
    MaxOf(
        ItemExponential::new(Duration::from_millis(5), Duration::from_secs(1000)),
        TokenBucket::new(10.0, 100),
    )
}
