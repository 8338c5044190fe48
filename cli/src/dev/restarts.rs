//! When an operator that ended is started again.

use std::time::Duration;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_mins(1);
/// Who ran so long is not in a loop of crashes.
const HEALTHY: Duration = Duration::from_mins(2);

/// The pauses before each start: twice as long each time.
#[derive(Debug, Default)]
pub(super) struct Restarts {
    last: Option<Duration>,
}

impl Restarts {
    /// The pause after an operator that ran for so long has ended.
    pub(super) fn pause(&mut self, ran: Duration) -> Duration {
        let next = match self.last {
            Some(last) if ran < HEALTHY => (last * 2).min(LONGEST),
            _ => FIRST,
        };
        self.last = Some(next);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_minute_and_begin_anew_after_a_healthy_run() {
        let mut restarts = Restarts::default();
        let mut pause = |ran| restarts.pause(Duration::from_secs(ran)).as_secs();
        let pauses: Vec<u64> = (0..8).map(|_| pause(5)).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!((pause(600), pause(5)), (1, 2));
    }
}
