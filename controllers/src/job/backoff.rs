//! The delay before failed pods are replaced: it doubles with each failure since the last success.

use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};

use super::{features::Limits, finish_time::finish_time, job_pod::JobPod};

/// The failures of a Job's pods since the last success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FailureRecord {
    failures: u32,
    last: Option<Timestamp>,
}

impl FailureRecord {
    pub(super) fn new(failures: u32, last: Option<Timestamp>) -> Self {
        Self { failures, last }
    }

    /// Returns the record after more pods have finished. A success forgets the failures before it.
    #[must_use]
    pub(super) fn after(self, succeeded: &[&JobPod], failed: &[&JobPod]) -> Self {
        let success = succeeded.iter().map(|pod| finish_time(&pod.view)).max();
        let times = failed.iter().map(|pod| finish_time(&pod.view));
        let later: Vec<_> = times
            .filter(|time| success.is_none_or(|success| *time > success))
            .collect();
        if success.is_none() && later.is_empty() {
            return self;
        }
        let before = if success.is_none() { self.failures } else { 0 };
        let count = u32::try_from(later.len()).unwrap_or(u32::MAX);
        Self {
            failures: before.saturating_add(count),
            last: later.into_iter().max().flatten(),
        }
    }

    /// Returns how long the next pod has to wait: the delay after the last failure, less the time since then.
    pub(super) fn remaining(self, limits: &Limits, now: Timestamp) -> Duration {
        let Some(doublings) = self.failures.checked_sub(1) else {
            return Duration::ZERO;
        };
        let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
        let delay = match doublings {
            0 => limits.pod_backoff_min,
            _ => limits
                .pod_backoff_min
                .saturating_mul(factor)
                .min(limits.pod_backoff_max),
        };
        let elapsed = self
            .last
            .map_or(SignedDuration::MAX, |last| now.duration_since(last));
        let delay = SignedDuration::try_from(delay).unwrap_or(SignedDuration::MAX);
        let remaining = delay.checked_sub(elapsed).unwrap_or(SignedDuration::ZERO);
        Duration::try_from(remaining).unwrap_or(Duration::ZERO)
    }
}

#[cfg(test)]
#[path = "backoff_tests.rs"]
mod tests;
