//! A budget of failures of all keys together.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::RateLimiter;

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
