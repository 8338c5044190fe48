//! Backoff of operator restarts.

use std::time::Duration;

/// Delay before the first restart.
const INITIAL_DELAY: Duration = Duration::from_secs(1);
/// Longest delay.
const MAX_DELAY: Duration = Duration::from_mins(1);
/// Runtime after which the backoff is reset: the operator is not in a crash loop.
const HEALTHY_RUNTIME: Duration = Duration::from_mins(2);

/// Exponential backoff: each delay is twice the last one.
#[derive(Debug, Default)]
pub(super) struct RestartBackoff {
    last: Option<Duration>,
}

impl RestartBackoff {
    /// Returns the delay before restarting an operator that exited after `runtime`.
    pub(super) fn next_delay(&mut self, runtime: Duration) -> Duration {
        let next = match self.last {
            Some(last) if runtime < HEALTHY_RUNTIME => (last * 2).min(MAX_DELAY),
            _ => INITIAL_DELAY,
        };
        self.last = Some(next);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_a_minute_and_reset_after_a_healthy_run() {
        let mut backoff = RestartBackoff::default();
        let mut delay = |runtime| backoff.next_delay(Duration::from_secs(runtime)).as_secs();
        let delays: Vec<u64> = (0..8).map(|_| delay(5)).collect();
        assert_eq!(delays, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!((delay(600), delay(5)), (1, 2));
    }
}
