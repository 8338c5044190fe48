//! Calls that this release does not know, and another one may: while a release is rolled out, the Service distributes the calls over
//! replicas of both releases, and the API server already asks for what only the newer one serves, such as a new version of a kind.
//!
//! The API server repeats a call that is answered with `Retry-After`: ten times, within the call's timeout. The answer also closes the
//! connection, so that the next attempt goes to another replica. What both releases serve is never interrupted.
//!
//! A Service that selects only the Pods of the newer release would not do: until the first of them is ready it has no endpoint, and if none
//! becomes ready it never has one. Then what the release before serves would fail as well.

use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

/// When calls have been unknown for so long, no rollout is the reason, and an API server that repeats them only takes longer. By default
/// Kubernetes says after the same time that a Deployment makes no progress.
const ROLLOUT_TIMEOUT: Duration = Duration::from_mins(10);

/// Since when there are unknown calls.
#[derive(Debug, Default)]
pub(super) struct UnknownCalls(Mutex<Option<CallTimes>>);

#[derive(Clone, Copy, Debug)]
struct CallTimes {
    first: Instant,
    last: Instant,
}

impl UnknownCalls {
    /// Records a call, and returns whether the reason may be a rollout.
    pub(super) fn may_be_rollout(&self) -> bool {
        let now = Instant::now();
        let mut times = self.0.lock();
        let recent = times.filter(|times| now - times.last < ROLLOUT_TIMEOUT);
        let first = recent.map_or(now, |times| times.first);
        *times = Some(CallTimes { first, last: now });
        now - first < ROLLOUT_TIMEOUT
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn unknown_calls_are_a_rollout_for_ten_minutes() {
        let (calls, minute) = (UnknownCalls::default(), Duration::from_mins(1));
        for _ in 0..10 {
            assert!(calls.may_be_rollout());
            advance(minute).await;
        }
        for _ in 0..20 {
            assert!(!calls.may_be_rollout());
            advance(minute).await;
        }
        advance(9 * minute).await;
        assert!(calls.may_be_rollout(), "the next rollout");
    }
}
