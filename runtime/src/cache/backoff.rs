//! How long a reflector waits before it tries again.

use std::time::Duration;

use tokio::time::Instant;

const FIRST: Duration = Duration::from_millis(800);
const MOST: Duration = Duration::from_secs(30);
const RESET_AFTER: Duration = Duration::from_mins(2);

/// Doubles from 0.8 s to 30 s, stretches each wait by up to once its length, and starts anew when it was not asked for two minutes.
#[derive(Debug)]
pub(super) struct Backoff {
    next: Duration,
    asked: Option<Instant>,
}

impl Backoff {
    pub(super) fn new() -> Self {
        Self {
            next: FIRST,
            asked: None,
        }
    }

    pub(super) fn next(&mut self) -> Duration {
        let now = Instant::now();
        if self
            .asked
            .replace(now)
            .is_some_and(|asked| now - asked > RESET_AFTER)
        {
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
        let mut backoff = Backoff::new();
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
