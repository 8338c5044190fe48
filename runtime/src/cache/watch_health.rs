//! Watch health: how many of an informer's watches are open.

use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

/// Counts the open watches of one informer: one for each namespace, or one for all.
#[derive(Debug, Default)]
pub(super) struct WatchHealth(Mutex<WatchCounts>);

#[derive(Debug, Default)]
struct WatchCounts {
    expected: usize,
    open: usize,
    /// Since when not all of them are open.
    missing_since: Option<Instant>,
}

impl WatchHealth {
    /// Sets how many watches are to be open.
    pub(super) fn start(&self, expected: usize) {
        let mut state = self.0.lock();
        state.expected = expected;
        state.missing_since = Some(Instant::now());
    }

    pub(super) fn opened(&self) {
        let mut state = self.0.lock();
        state.open += 1;
        if state.open >= state.expected {
            state.missing_since = None;
        }
    }

    pub(super) fn ended(&self) {
        let mut state = self.0.lock();
        state.open = state.open.saturating_sub(1);
        state.missing_since.get_or_insert_with(Instant::now);
    }

    /// For how long not all of them have been open; none while they are, and before the start.
    pub(super) fn missing_for(&self) -> Option<Duration> {
        self.0.lock().missing_since.map(|since| since.elapsed())
    }
}
