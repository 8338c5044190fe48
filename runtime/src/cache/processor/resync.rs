//! Resync periods: which listeners receive all objects again, and when.

use std::time::Duration;

use tokio::time::Instant;

/// Shorter resync periods are raised to this.
const MIN_RESYNC_PERIOD: Duration = Duration::from_secs(1);
/// Longer resync periods are lowered to this, which clocks can still represent.
const MAX_RESYNC_PERIOD: Duration = Duration::from_hours(24 * 365 * 100);

/// Returns the resync period of a new listener (client-go's determineResyncPeriod).
///
/// It lowers the informer's resync check period before the start, and sets it if there is none; a running informer's check period raises
/// the listener's period instead.
pub(super) fn effective_period(
    requested: Option<Duration>,
    check_period: &mut Option<Duration>,
    is_running: bool,
    listener: &str,
) -> Option<Duration> {
    let requested = requested.filter(|requested| !requested.is_zero())?;
    let mut period = requested.clamp(MIN_RESYNC_PERIOD, MAX_RESYNC_PERIOD);
    match *check_period {
        Some(check) if is_running => period = period.max(check),
        _ => *check_period = Some(check_period.map_or(period, |check| check.min(period))),
    }
    if period > requested {
        tracing::warn!("{listener} requested a resync period of {requested:?} and gets {period:?}");
    }
    Some(period)
}

/// The resync schedule of a listener.
#[derive(Debug)]
pub(super) struct ResyncSchedule {
    period: Option<Duration>,
    next: Instant,
    /// The listener receives unchanged objects until the next check.
    pub(super) is_resyncing: bool,
}

impl ResyncSchedule {
    pub(super) fn new(period: Option<Duration>, now: Instant) -> Self {
        Self {
            period,
            next: now + period.unwrap_or_default(),
            is_resyncing: false,
        }
    }

    /// Updates [`is_resyncing`](Self::is_resyncing) at a resync check.
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
    fn check_period_is_the_smallest_before_the_start_and_the_minimum_afterwards() {
        let mut check = None;
        for (requested, is_running, period, expected_check) in [
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
            assert_eq!(
                effective_period(requested, &mut check, is_running, "a handler"),
                period
            );
            assert_eq!(check, expected_check);
        }
    }

    #[test]
    fn first_period_after_the_start_becomes_the_check_period() {
        let mut check = None;
        assert_eq!(
            effective_period(Some(seconds(3)), &mut check, true, "a handler"),
            Some(seconds(3))
        );
        assert_eq!(
            effective_period(Some(seconds(2)), &mut check, true, "a handler"),
            Some(seconds(3))
        );
        assert_eq!(check, Some(seconds(3)));
    }
}
