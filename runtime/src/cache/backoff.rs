//! How long a reflector waits before it tries again.

use std::time::Duration;

use tokio::time::Instant;

const FIRST: Duration = Duration::from_millis(800);
const MOST: Duration = Duration::from_secs(30);
const RESET_AFTER: Duration = Duration::from_mins(2);

/// How long a reflector waits after a list or a watch that failed, or that ended and is begun anew.
///
/// It is asked before each further try and told nothing else: not why, nor when a try went well. What it says is waited for as it is, zero
/// too. Each reflector has one of its own; [`ReflectorOptions::backoff`](super::ReflectorOptions::backoff) makes them.
pub trait Backoff: Send {
    /// The wait before the next try. A server that says how long to wait is waited for at least that long.
    fn next(&mut self) -> Duration;
}

/// The default: doubles from 0.8 s to 30 s, stretches each wait by up to once its length, and starts anew when it was not asked for two
/// minutes.
#[derive(Debug)]
pub struct ExponentialBackoff {
    next: Duration,
    asked: Option<Instant>,
}

impl Default for ExponentialBackoff {
    fn default() -> Self {
        Self {
            next: FIRST,
            asked: None,
        }
    }
}

impl Backoff for ExponentialBackoff {
    fn next(&mut self) -> Duration {
        let now = Instant::now();
        let rested = |asked| now - asked > RESET_AFTER;
        if self.asked.replace(now).is_some_and(rested) {
            self.next = FIRST;
        }
        let wait = self.next;
        self.next = (wait * 2).min(MOST);
        wait.mul_f64(1.0 + rand::random_range(0.0..1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn doubles_with_jitter_to_thirty_seconds_and_resets_after_two_minutes() {
        let mut backoff = ExponentialBackoff::default();
        for base in [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0] {
            let wait = backoff.next().as_secs_f64();
            assert!((base..base * 2.0 + 1e-6).contains(&wait), "{wait} after {base}");
        }
        tokio::time::advance(RESET_AFTER).await;
        assert!(backoff.next() >= MOST);
        tokio::time::advance(RESET_AFTER + Duration::from_millis(1)).await;
        assert!(backoff.next() < FIRST * 2);
    }
}
