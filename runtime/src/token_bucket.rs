//! A token bucket without a lock or a timer, as golang.org/x/time/rate has it.

use tokio::time::{Duration, Instant};

/// The longest wait that is promised: what a bucket that does not refill answers.
const MAX_WAIT: Duration = Duration::from_hours(365 * 24);

/// The tokens of a bucket: at most `burst`, refilled at a steady rate, full at first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BucketState {
    per_second: f64,
    burst: f64,
    /// Below zero if promised ahead.
    tokens: f64,
    /// When there were so many tokens; unknown before the first use.
    counted_at: Option<Instant>,
}

impl BucketState {
    pub(crate) fn new(per_second: f64, burst: f64) -> Self {
        Self {
            per_second,
            burst,
            tokens: burst,
            counted_at: None,
        }
    }

    /// Takes a token, from the future if there is none now, and returns how long to wait for it: at most a year.
    pub(crate) fn reserve(&mut self, now: Instant) -> Duration {
        self.refill(now);
        self.tokens -= 1.0;
        if self.tokens >= 0.0 {
            return Duration::ZERO;
        }
        Duration::try_from_secs_f64(-self.tokens / self.per_second)
            .map_or(MAX_WAIT, |wait| wait.min(MAX_WAIT))
    }

    /// Gives back a token that was reserved and not used.
    pub(crate) fn give_back(&mut self) {
        self.tokens = (self.tokens + 1.0).min(self.burst);
    }

    /// Takes a token if there is one now. Returns whether there was.
    pub(crate) fn try_take(&mut self, now: Instant) -> bool {
        self.refill(now);
        let has_token = self.tokens >= 1.0;
        if has_token {
            self.tokens -= 1.0;
        }
        has_token
    }

    fn refill(&mut self, now: Instant) {
        let elapsed = self
            .counted_at
            .replace(now)
            .map(|before| now.saturating_duration_since(before));
        let refilled = elapsed.unwrap_or_default().as_secs_f64() * self.per_second;
        self.tokens = (self.tokens + refilled).min(self.burst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn reservations_beyond_the_burst_wait_for_their_turn() {
        let (mut bucket, start) = (BucketState::new(10.0, 3.0), Instant::now());
        let waits: Vec<_> = (0..5).map(|_| bucket.reserve(start).as_millis()).collect();
        assert_eq!(waits, [0, 0, 0, 100, 200]);
        // Two tokens are promised, two and a half came back.
        assert_eq!(bucket.reserve(start + SECOND / 4).as_millis(), 50);
        let later = start + 3600 * SECOND;
        let waits: Vec<_> = (0..4).map(|_| bucket.reserve(later).as_millis()).collect();
        assert_eq!(waits, [0, 0, 0, 100], "no more than the burst is kept");
    }

    #[test]
    fn empty_bucket_gives_no_token_and_promises_none() {
        let (mut bucket, start) = (BucketState::new(0.5, 2.0), Instant::now());
        assert!(bucket.try_take(start) && bucket.try_take(start));
        assert!(!bucket.try_take(start) && !bucket.try_take(start + SECOND));
        assert!(bucket.try_take(start + 2 * SECOND));
        assert!(!bucket.try_take(start + 2 * SECOND));
    }

    #[test]
    fn tokens_are_refilled_however_often_the_bucket_is_used() {
        let (mut bucket, start) = (BucketState::new(1.0 / 300.0, 1.0), Instant::now());
        assert!(bucket.try_take(start));
        for second in 1..300 {
            assert!(!bucket.try_take(start + second * SECOND), "{second}");
        }
        // Rounding of the 300 additions may cost a moment.
        assert!(bucket.try_take(start + 301 * SECOND));
    }

    #[test]
    fn bucket_without_a_rate_waits_for_a_year() {
        let (mut bucket, now) = (BucketState::new(0.0, 1.0), Instant::now());
        assert_eq!(bucket.reserve(now), Duration::ZERO);
        assert_eq!(bucket.reserve(now), MAX_WAIT);
    }

    #[test]
    fn time_that_goes_backwards_adds_nothing() {
        let (mut bucket, now) = (BucketState::new(1.0, 1.0), Instant::now() + SECOND);
        assert!(bucket.try_take(now));
        assert!(!bucket.try_take(now - SECOND));
    }
}
