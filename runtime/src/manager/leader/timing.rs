//! The times of an election, and what they must keep to.

use tokio::time::Duration;

/// The wait between two looks at a lease is lengthened by up to this factor, so that candidates do not march in step.
pub(super) const JITTER_FACTOR: f64 = 1.2;

/// How long a lease lasts and how often it is renewed. The defaults are client-go's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timing {
    /// For how long a candidate must see no change before it may take the lease: whole seconds.
    pub(crate) lease_duration: Duration,
    /// After how long without a renewal the leader gives up; shorter than `lease_duration`.
    pub(crate) renew_deadline: Duration,
    /// How often a candidate looks and a leader renews.
    pub(crate) retry_period: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

impl Timing {
    /// client-go's rules, and that a Lease counts in whole seconds. Says what is wrong, in the words of the flags.
    pub(crate) fn check(self) -> Result<Self, String> {
        let Self {
            lease_duration,
            renew_deadline,
            retry_period,
        } = self;
        let seconds = 1..=i32::MAX.unsigned_abs().into();
        if lease_duration.subsec_nanos() != 0 || !seconds.contains(&lease_duration.as_secs()) {
            return Err(format!(
                "--leader-elect-lease-duration is {lease_duration:?}: a Lease counts in whole seconds, from 1"
            ));
        }
        if retry_period.is_zero() {
            return Err("--leader-elect-retry-period is 0: it must be longer".to_owned());
        }
        if renew_deadline >= lease_duration {
            return Err(format!(
                "--leader-elect-renew-deadline ({renew_deadline:?}) must be shorter than --leader-elect-lease-duration ({lease_duration:?}): \
                 a leader must stop before another may start"
            ));
        }
        if renew_deadline.as_secs_f64() <= retry_period.as_secs_f64() * JITTER_FACTOR {
            return Err(format!(
                "--leader-elect-retry-period ({retry_period:?}) must be shorter than --leader-elect-renew-deadline ({renew_deadline:?}) \
                 divided by {JITTER_FACTOR}: a leader must get to try"
            ));
        }
        Ok(self)
    }

    /// For how long after the end of the renew deadline a write that was sent before may be in flight, and how long is left from then to
    /// the moment at which another candidate may lead: half of what lies between the two, each.
    pub(crate) fn margin(&self) -> Duration {
        self.lease_duration.saturating_sub(self.renew_deadline) / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(lease: f64, renew: f64, retry: f64) -> Result<Timing, String> {
        let [lease_duration, renew_deadline, retry_period] =
            [lease, renew, retry].map(Duration::from_secs_f64);
        Timing {
            lease_duration,
            renew_deadline,
            retry_period,
        }
        .check()
    }

    /// client-go: TestLeaderElectionConfigValidation. And shares of a second, which its record cuts off.
    #[test]
    fn lease_is_longer_than_deadline_is_longer_than_period() {
        assert_eq!(checked(15.0, 10.0, 2.0), Ok(Timing::default()));
        assert!(checked(2.0, 1.3, 1.0).is_ok());
        for (times, said) in [
            (
                (10.0, 10.0, 2.0),
                "must be shorter than --leader-elect-lease-duration",
            ),
            ((15.0, 10.0, 8.4), "must get to try"),
            ((15.0, 1.2, 1.0), "must get to try"),
            ((15.0, 10.0, 0.0), "retry-period is 0"),
            ((0.0, 0.0, 0.0), "whole seconds"),
            ((1.5, 1.2, 0.2), "whole seconds"),
            ((3e9, 10.0, 2.0), "whole seconds"),
        ] {
            let error = checked(times.0, times.1, times.2).unwrap_err();
            assert!(error.contains(said), "{times:?}: {error}");
        }
    }
}
