//! How many of an informer's watches are open.

use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

/// The watches of one informer: one a namespace, or one for all.
#[derive(Debug, Default)]
pub(super) struct WatchHealth(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    wanted: usize,
    open: usize,
    /// Since when they are not all open.
    missing_since: Option<Instant>,
}

impl WatchHealth {
    /// So many are to be opened from now on.
    pub(super) fn start(&self, wanted: usize) {
        let mut state = self.0.lock();
        state.wanted = wanted;
        state.missing_since = Some(Instant::now());
    }

    pub(super) fn opened(&self) {
        let mut state = self.0.lock();
        state.open += 1;
        if state.open >= state.wanted {
            state.missing_since = None;
        }
    }

    pub(super) fn ended(&self) {
        let mut state = self.0.lock();
        state.open = state.open.saturating_sub(1);
        state.missing_since.get_or_insert_with(Instant::now);
    }

    /// For how long they have not all been open; none while they are, and before the start.
    pub(super) fn missing_for(&self) -> Option<Duration> {
        self.0.lock().missing_since.map(|since| since.elapsed())
    }
}
