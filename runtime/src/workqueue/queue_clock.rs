//! The queue's clock: nanoseconds since the queue was created.

use std::time::Duration;

use tokio::time::Instant;

/// Longer delays are cut: an instant further away may overflow. It is tokio's own far future.
const MAX_DELAY: Duration = Duration::from_hours(30 * 365 * 24);

#[derive(Debug, Clone, Copy)]
pub(super) struct QueueClock {
    start: Instant,
}

impl QueueClock {
    pub(super) fn start() -> Self {
        Self {
            start: Instant::now(),
        }
    }

    pub(super) fn now(&self) -> u64 {
        self.at(Instant::now())
    }

    pub(super) fn after(now: u64, delay: Duration) -> u64 {
        now.saturating_add(nanos(delay.min(MAX_DELAY)))
    }

    pub(super) fn at(&self, instant: Instant) -> u64 {
        nanos(instant.saturating_duration_since(self.start))
    }

    pub(super) fn instant(&self, at: u64) -> Instant {
        self.start + Duration::from_nanos(at).min(MAX_DELAY)
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
