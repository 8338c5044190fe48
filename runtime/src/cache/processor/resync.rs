//! Who is told of everything again, and when.

use std::time::Duration;

use tokio::time::Instant;

/// What asks more often is slowed down to this.
const MINIMUM: Duration = Duration::from_secs(1);
/// What asks more seldom is as good as never due, and clocks can still count it.
const MAXIMUM: Duration = Duration::from_hours(24 * 365 * 100);

/// The period of one listener, given how often its informer checks; sets that one, where the listener may.
pub(super) fn admit(
    wanted: Option<Duration>,
    check: &mut Option<Duration>,
    is_running: bool,
    listener: &str,
) -> Option<Duration> {
    let wanted = wanted.filter(|wanted| !wanted.is_zero())?;
    let mut period = wanted.clamp(MINIMUM, MAXIMUM);
    match *check {
        Some(check) if is_running => period = period.max(check),
        _ => *check = Some(check.map_or(period, |check| check.min(period))),
    }
    if period > wanted {
        tracing::warn!("{listener} wants a resync every {wanted:?} and gets one every {period:?}");
    }
    Some(period)
}

/// When a listener resyncs.
#[derive(Debug)]
pub(super) struct Schedule {
    period: Option<Duration>,
    next: Instant,
    /// It is told of what has not changed, until the next check.
    pub(super) is_resyncing: bool,
}

impl Schedule {
    pub(super) fn new(period: Option<Duration>, now: Instant) -> Self {
        Self {
            period,
            next: now + period.unwrap_or_default(),
            is_resyncing: false,
        }
    }

    pub(super) fn check(&mut self, now: Instant) {
        self.is_resyncing = self.period.is_some() && self.next <= now;
        if self.is_resyncing {
            self.next = now + self.period.unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// client-go: TestResyncCheckPeriod, and determineResyncPeriod, which it covers only before the start.
    #[test]
    fn before_the_start_the_smallest_period_is_that_of_the_checks_and_later_the_least() {
        let mut check = None;
        for (wanted, is_running, period, expected_check) in [
            (None, false, None, None),
            (
                Some(seconds(43_200)),
                false,
                Some(seconds(43_200)),
                Some(seconds(43_200)),
            ),
            (Some(seconds(60)), false, Some(seconds(60)), Some(seconds(60))),
            (Some(seconds(55)), false, Some(seconds(55)), Some(seconds(55))),
            (Some(seconds(60)), false, Some(seconds(60)), Some(seconds(55))),
            (Some(seconds(5)), false, Some(seconds(5)), Some(seconds(5))),
            (Some(Duration::ZERO), false, None, Some(seconds(5))),
            (Some(seconds(1)), true, Some(seconds(5)), Some(seconds(5))),
            (Some(seconds(7)), true, Some(seconds(7)), Some(seconds(5))),
            (
                Some(Duration::from_millis(1)),
                false,
                Some(seconds(1)),
                Some(seconds(1)),
            ),
        ] {
            assert_eq!(admit(wanted, &mut check, is_running, "a handler"), period);
            assert_eq!(check, expected_check);
        }
    }

    #[test]
    fn an_informer_that_runs_without_checks_takes_the_first_period() {
        let mut check = None;
        assert_eq!(
            admit(Some(seconds(3)), &mut check, true, "a handler"),
            Some(seconds(3))
        );
        assert_eq!(
            admit(Some(seconds(2)), &mut check, true, "a handler"),
            Some(seconds(3))
        );
        assert_eq!(check, Some(seconds(3)));
    }
}
