//! Leader election timing: lease duration, renew deadline, retry period, and their validation.

use tokio::time::Duration;

/// client-go's JitterFactor: the retry period is extended by up to this factor of itself, so that candidates do not synchronise.
pub(super) const JITTER_FACTOR: f64 = 1.2;

/// The timing of a leader election. The defaults are client-go's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ElectionTiming {
    /// How long a candidate must observe no change of the lease before it may acquire it; whole seconds.
    pub(crate) lease_duration: Duration,
    /// How long the leader retries a renewal before it stops leading; shorter than `lease_duration`.
    pub(crate) renew_deadline: Duration,
    /// Interval between attempts to acquire or renew the lease.
    pub(crate) retry_period: Duration,
}

impl Default for ElectionTiming {
    fn default() -> Self {
        Self {
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

impl ElectionTiming {
    /// Validates the timing by client-go's rules, and that the lease duration is whole seconds, as a Lease stores it. Errors name the flags.
    pub(crate) fn check(self) -> Result<Self, String> {
        let Self {
            lease_duration,
            renew_deadline,
            retry_period,
        } = self;
        let seconds = 1..=i32::MAX.unsigned_abs().into();
        if lease_duration.subsec_nanos() != 0 || !seconds.contains(&lease_duration.as_secs()) {
            return Err(format!(
                "--leader-elect-lease-duration is {lease_duration:?}: set whole seconds, at least 1"
            ));
        }
        if retry_period.is_zero() {
            return Err("--leader-elect-retry-period is 0: set a positive duration".to_owned());
        }
        if renew_deadline >= lease_duration {
            return Err(format!(
                "--leader-elect-renew-deadline ({renew_deadline:?}) must be shorter than --leader-elect-lease-duration ({lease_duration:?}): \
                 the leader must stop before another may start"
            ));
        }
        if renew_deadline.as_secs_f64() <= retry_period.as_secs_f64() * JITTER_FACTOR {
            return Err(format!(
                "--leader-elect-retry-period ({retry_period:?}) must be shorter than --leader-elect-renew-deadline ({renew_deadline:?}) \
                 divided by {JITTER_FACTOR}: the leader needs time for a retry"
            ));
        }
        Ok(self)
    }

    /// Returns half of the time between the renew deadline and the end of the lease: writes in flight at the renew deadline are cancelled after
    /// this margin, and as much remains until another candidate may lead.
    pub(crate) fn margin(&self) -> Duration {
        self.lease_duration.saturating_sub(self.renew_deadline) / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(lease: f64, renew: f64, retry: f64) -> Result<ElectionTiming, String> {
        let [lease_duration, renew_deadline, retry_period] =
            [lease, renew, retry].map(Duration::from_secs_f64);
        ElectionTiming {
            lease_duration,
            renew_deadline,
            retry_period,
        }
        .check()
    }

    /// client-go: TestLeaderElectionConfigValidation; and fractions of a second, which a Lease cannot store.
    #[test]
    fn timing_validation_matches_client_go() {
        assert_eq!(checked(15.0, 10.0, 2.0), Ok(ElectionTiming::default()));
        assert!(checked(2.0, 1.3, 1.0).is_ok());
        for (times, message) in [
            (
                (10.0, 10.0, 2.0),
                "must be shorter than --leader-elect-lease-duration",
            ),
            ((15.0, 10.0, 8.4), "needs time for a retry"),
            ((15.0, 1.2, 1.0), "needs time for a retry"),
            ((15.0, 10.0, 0.0), "retry-period is 0"),
            ((0.0, 0.0, 0.0), "whole seconds"),
            ((1.5, 1.2, 0.2), "whole seconds"),
            ((3e9, 10.0, 2.0), "whole seconds"),
        ] {
            let error = checked(times.0, times.1, times.2).unwrap_err();
            assert!(error.contains(message), "{times:?}: {error}");
        }
    }
}
