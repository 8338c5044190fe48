//! Pausing a controller while the operator runs.

use std::sync::Arc;

use tokio::sync::watch;

/// Stops and continues the workers of a controller; see [`pause_handle`](super::ControllerBuilder::pause_handle). Cloning copies a
/// pointer.
///
/// While it is paused no reconcile is started; those that run end as usual. Keys wait in the queue, and lose nothing.
#[derive(Debug, Clone)]
pub struct Pause(Arc<watch::Sender<bool>>);

impl Pause {
    pub(super) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// Starts no reconcile from now on; one that is just being started may still be.
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

    pub(super) fn watched(&self) -> Watched {
        Watched(self.0.subscribe())
    }
}

/// As one worker sees it.
pub(super) struct Watched(watch::Receiver<bool>);

impl Watched {
    /// Waits until the controller is paused, or is not. Cancel safe.
    pub(super) async fn until(&mut self, paused: bool) {
        if self.0.wait_for(|now| *now == paused).await.is_err() && paused {
            // Nobody is left who could.
            std::future::pending::<()>().await;
        }
    }
}
