//! Time as the queue keeps it: nanoseconds since it was made.

use std::time::Duration;

use tokio::time::Instant;

/// What is further away is as good as never, and clocks can still count it: tokio's own far future.
const FAR: Duration = Duration::from_hours(30 * 365 * 24);

#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    start: Instant,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self {
            start: Instant::now(),
        }
    }

    pub(super) fn now(&self) -> u64 {
        self.at(Instant::now())
    }

    pub(super) fn after(now: u64, delay: Duration) -> u64 {
        now.saturating_add(nanos(delay.min(FAR)))
    }

    pub(super) fn at(&self, instant: Instant) -> u64 {
        nanos(instant.saturating_duration_since(self.start))
    }

    pub(super) fn instant(&self, at: u64) -> Instant {
        self.start + Duration::from_nanos(at).min(FAR)
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
