//! How long a key waits after a failure.

use std::time::Duration;

use hashbrown::HashMap;
use parking_lot::Mutex;
use tokio::time::Instant;

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

/// Each failure of a key doubles its wait: `base · 2ⁿ`, at most `max`. Without jitter.
#[derive(Debug)]
pub struct ItemExponential<K> {
    base: Duration,
    max: Duration,
    failures: Mutex<HashMap<K, u32>>,
}

impl<K> ItemExponential<K> {
    /// The first failure waits `base`, none longer than `max`.
    pub fn new(base: Duration, max: Duration) -> Self {
        Self {
            base,
            max,
            failures: Mutex::new(HashMap::new()),
        }
    }
}

impl<K: Key> RateLimiter<K> for ItemExponential<K> {
    fn when(&self, key: &K) -> Duration {
        let earlier = {
            let mut failures = self.failures.lock();
            let count = failures.entry(key.clone()).or_insert(0);
            let earlier = *count;
            *count = count.saturating_add(1);
            earlier
        };
        1u32.checked_shl(earlier)
            .and_then(|factor| self.base.checked_mul(factor))
            .map_or(self.max, |delay| delay.min(self.max))
    }

    fn forget(&self, key: &K) {
        self.failures.lock().remove(key);
    }

    fn num_requeues(&self, key: &K) -> usize {
        self.failures.lock().get(key).map_or(0, |&count| count as usize)
    }
}

/// All keys together spend one token a failure; tokens come back at a steady rate. It remembers no keys.
#[derive(Debug)]
pub struct TokenBucket {
    per_second: f64,
    burst: f64,
    /// Tokens left, below zero when promised ahead, and when that was so.
    state: Mutex<Option<(f64, Instant)>>,
}

impl TokenBucket {
    /// A full bucket of `burst` tokens, refilled by `per_second`. With a rate of zero, what exceeds the burst waits for a year.
    pub fn new(per_second: f64, burst: u32) -> Self {
        Self {
            per_second,
            burst: f64::from(burst),
            state: Mutex::new(None),
        }
    }
}

impl<K> RateLimiter<K> for TokenBucket {
    fn when(&self, _key: &K) -> Duration {
        const LONGEST: Duration = Duration::from_hours(365 * 24);
        let now = Instant::now();
        let mut state = self.state.lock();
        let (tokens, since) = state.unwrap_or((self.burst, now));
        let refilled = now.saturating_duration_since(since).as_secs_f64() * self.per_second;
        let left = (tokens + refilled).min(self.burst) - 1.0;
        *state = Some((left, now));
        if left >= 0.0 {
            return Duration::ZERO;
        }
        Duration::try_from_secs_f64(-left / self.per_second).map_or(LONGEST, |delay| delay.min(LONGEST))
    }

    fn forget(&self, _key: &K) {}

    fn num_requeues(&self, _key: &K) -> usize {
        0
    }
}

/// The longer wait of two limiters. Both are always asked, so that a bucket's token is spent in any case. Nest it for more than two.
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

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn millis<const N: usize>(limiter: &impl RateLimiter<&'static str>, key: &'static str) -> [u128; N] {
        std::array::from_fn(|_| limiter.when(&key).as_millis())
    }

    /// client-go: TestItemExponentialFailureRateLimiter
    #[test]
    fn failures_of_a_key_double_its_wait() {
        let limiter = ItemExponential::new(Duration::from_millis(1), Duration::from_secs(1));
        assert_eq!(millis(&limiter, "one"), [1, 2, 4, 8, 16]);
        assert_eq!(limiter.num_requeues(&"one"), 5);
        assert_eq!(millis(&limiter, "two"), [1, 2]);
        assert_eq!(limiter.num_requeues(&"two"), 2);

        limiter.forget(&"one");
        assert_eq!(limiter.num_requeues(&"one"), 0);
        assert_eq!(millis(&limiter, "one"), [1]);
    }

    /// client-go: TestItemExponentialFailureRateLimiterOverFlow
    #[test]
    fn many_failures_wait_the_longest_time() {
        let limiter = ItemExponential::new(Duration::from_millis(1), Duration::from_secs(1000));
        assert_eq!(millis(&limiter, "one"), [1, 2, 4, 8, 16, 32]);
        let _ = millis::<1000>(&limiter, "overflow1");
        assert_eq!(limiter.when(&"overflow1"), Duration::from_secs(1000));

        let limiter = ItemExponential::new(Duration::from_mins(1), Duration::from_hours(1000));
        assert_eq!(millis(&limiter, "two"), [60_000, 120_000, 240_000]);
        let _ = millis::<1000>(&limiter, "overflow2");
        assert_eq!(limiter.when(&"overflow2"), Duration::from_hours(1000));
    }

    /// golang.org/x/time/rate's reservations, as client-go's BucketRateLimiter uses them.
    #[tokio::test(start_paused = true)]
    async fn a_bucket_lets_a_burst_pass_and_then_its_rate() {
        let limiter = TokenBucket::new(10.0, 3);
        assert_eq!(millis(&limiter, "one"), [0, 0, 0, 100, 200]);
        advance(Duration::from_millis(250)).await;
        // Two tokens were promised ahead, and two and a half came back.
        assert_eq!(millis(&limiter, "two"), [50]);
        advance(Duration::from_hours(1)).await;
        assert_eq!(
            millis(&limiter, "two"),
            [0, 0, 0, 100],
            "no more than the burst is kept"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn an_empty_bucket_without_a_rate_is_no_panic() {
        let limiter = TokenBucket::new(0.0, 1);
        assert_eq!(limiter.when(&"one"), Duration::ZERO);
        assert_eq!(limiter.when(&"one"), Duration::from_hours(365 * 24));
    }

    /// client-go: TestMaxOfRateLimiter, with the limiters that are here.
    #[tokio::test(start_paused = true)]
    async fn the_longer_wait_wins_and_both_are_asked() {
        let limiter = MaxOf(
            ItemExponential::new(Duration::from_millis(1), Duration::from_secs(1)),
            TokenBucket::new(100.0, 2),
        );
        assert_eq!(millis(&limiter, "one"), [1, 2, 10, 20, 30, 40, 64]);
        assert_eq!(limiter.num_requeues(&"one"), 7);
        assert_eq!(
            millis(&limiter, "two"),
            [60],
            "the seventh failure spent a token although it waited longer"
        );

        limiter.forget(&"one");
        assert_eq!(limiter.num_requeues(&"one"), 0);
        assert_eq!(limiter.num_requeues(&"two"), 1);
    }

    /// client-go: DefaultTypedControllerRateLimiter
    #[tokio::test(start_paused = true)]
    async fn the_default_is_client_gos() {
        let limiter = default_limiter();
        assert_eq!(millis(&limiter, "one"), [5, 10, 20, 40]);
        for other in 0..96 {
            limiter.when(&["a", "b"][other % 2]);
        }
        assert_eq!(
            millis(&limiter, "new"),
            [100],
            "the hundred tokens of all keys are spent"
        );
    }
}
