//! Pausing a controller while the operator runs.

use std::sync::Arc;

use tokio::sync::watch;

/// Stops and continues the workers of a controller; see [`ControllerSpec::pause`](super::ControllerSpec::pause). Cloning copies a
/// pointer.
///
/// While it is paused no reconcile is started; those that run end as usual. Keys wait in the queue, and lose nothing.
#[derive(Debug, Clone)]
pub struct Pause(Arc<watch::Sender<bool>>);

impl Pause {
    pub(super) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// Starts no reconcile from now on. A worker that just takes a key may still begin one.
    pub fn pause(&self) {
        self.0.send_replace(true);
    }

    /// Goes on.
    pub fn resume(&self) {
        self.0.send_replace(false);
    }

    /// Whether it is paused.
    pub fn is_paused(&self) -> bool {
        *self.0.borrow()
    }

    pub(super) async fn over(&self) {
        if self.is_paused() {
            // The sender lives as long as `self`.
            let _ = self.0.subscribe().wait_for(|paused| !paused).await;
        }
    }
}
