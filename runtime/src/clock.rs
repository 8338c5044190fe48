//! An injected clock: the wall time that reconcilers see, which tests set.

use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use parking_lot::RwLock;
use tokio::time::Instant;

tokio::task_local! {
    static RECONCILE_CLOCK: Clock;
}

/// Returns the wall time: the system's, or in tests one that follows tokio's clock.
///
/// A reconciler with a schedule keeps [`Setup::clock`](crate::controller::Setup::clock) and calls [`now`](Self::now) instead of reading
/// the system's time. [`Manager::with_clock`](crate::Manager::with_clock) and
/// [`Harness::with_clock`](crate::testing::Harness::with_clock) inject a clock.
/// [`condition`](crate::controller::conditions::condition) takes its time from the clock of the reconcile that calls it. Timestamps of events
/// and of the leader lease always are the system's.
///
/// Clones share their time.
///
/// ```
/// use kubewright::{Clock, k8s_openapi::jiff::Timestamp};
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// tokio::time::pause();
/// let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
/// let clock = Clock::starting_at(start);
/// tokio::time::advance(Duration::from_secs(90)).await;
/// assert_eq!(clock.now().to_string(), "2026-01-01T00:01:30Z");
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Clock(Arc<RwLock<Option<ClockAnchor>>>);

/// A wall time, and the instant of tokio's clock at which it was set.
#[derive(Clone, Copy, Debug)]
struct ClockAnchor {
    wall: Timestamp,
    instant: Instant,
}

impl ClockAnchor {
    fn at(wall: Timestamp) -> Self {
        Self {
            wall,
            instant: Instant::now(),
        }
    }
}

impl Clock {
    /// Returns a clock that reads the system's time.
    pub fn system() -> Self {
        Self(Arc::new(RwLock::new(None)))
    }

    /// Returns a clock that shows `start` now and then follows tokio's clock.
    ///
    /// While tokio's clock is paused, `tokio::time::advance` moves this clock and the deadlines of `RequeueAfter` together.
    pub fn starting_at(start: Timestamp) -> Self {
        Self(Arc::new(RwLock::new(Some(ClockAnchor::at(start)))))
    }

    /// Returns the wall time.
    pub fn now(&self) -> Timestamp {
        match *self.0.read() {
            None => Timestamp::now(),
            Some(ClockAnchor { wall, instant }) => {
                wall.checked_add(instant.elapsed()).unwrap_or(Timestamp::MAX)
            }
        }
    }

    /// Sets the time of this clock and its clones, which then follows tokio's clock.
    #[doc(hidden)]
    pub fn set(&self, wall: Timestamp) {
        *self.0.write() = Some(ClockAnchor::at(wall));
    }

    /// Runs a reconcile with this clock as its [`reconcile_time`].
    pub(crate) fn scope<F: Future>(&self, reconcile: F) -> impl Future<Output = F::Output> + use<F> {
        RECONCILE_CLOCK.scope(self.clone(), reconcile)
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

/// Returns the time of the running reconcile's clock; outside of a reconcile, and in tasks that it spawned, the system's.
pub(crate) fn reconcile_time() -> Timestamp {
    RECONCILE_CLOCK
        .try_with(Clock::now)
        .unwrap_or_else(|_| Timestamp::now())
}

#[cfg(test)]
#[path = "clock_tests.rs"]
mod tests;
