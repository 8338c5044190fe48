//! Reflector backoff: how long a reflector waits before it retries.

use std::time::Duration;

use tokio::time::Instant;

const RELIST_BACKOFF_MIN: Duration = Duration::from_millis(800);
const RELIST_BACKOFF_MAX: Duration = Duration::from_secs(30);
/// The backoff starts anew after so long without a retry.
const RELIST_BACKOFF_RESET_AFTER: Duration = Duration::from_mins(2);

/// How long a reflector waits after a list or watch that failed, and before it reopens a watch that ended early.
///
/// It is called before each retry and learns neither the reason nor successes. The wait is used as it is, without jitter; zero too. Each
/// reflector has its own, made by [`ReflectorOptions::backoff`](super::ReflectorOptions::backoff).
pub trait Backoff: Send {
    /// The wait before the next retry. A longer `Retry-After` of the server is honored.
    fn next(&mut self) -> Duration;
}

/// The default backoff: doubles from 0.8 s to 30 s, adds up to 100 % of jitter, and starts anew after two minutes without a retry.
#[derive(Debug)]
pub struct ExponentialBackoff {
    next: Duration,
    last_retry: Option<Instant>,
}

impl Default for ExponentialBackoff {
    fn default() -> Self {
        Self {
            next: RELIST_BACKOFF_MIN,
            last_retry: None,
        }
    }
}

impl Backoff for ExponentialBackoff {
    fn next(&mut self) -> Duration {
        let now = Instant::now();
        let is_over = |last_retry| now - last_retry > RELIST_BACKOFF_RESET_AFTER;
        if self.last_retry.replace(now).is_some_and(is_over) {
            self.next = RELIST_BACKOFF_MIN;
        }
        let wait = self.next;
        self.next = (wait * 2).min(RELIST_BACKOFF_MAX);
        wait.mul_f64(1.0 + rand::random_range(0.0..1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn backoff_doubles_with_jitter_to_30_s_and_resets_after_two_minutes() {
        let mut backoff = ExponentialBackoff::default();
        for base in [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0] {
            let wait = backoff.next().as_secs_f64();
            assert!((base..base * 2.0 + 1e-6).contains(&wait), "{wait} after {base}");
        }
        tokio::time::advance(RELIST_BACKOFF_RESET_AFTER).await;
        assert!(backoff.next() >= RELIST_BACKOFF_MAX);
        tokio::time::advance(RELIST_BACKOFF_RESET_AFTER + Duration::from_millis(1)).await;
        assert!(backoff.next() < RELIST_BACKOFF_MIN * 2);
    }
}
