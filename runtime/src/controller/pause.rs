//! Pause: stops and resumes the workers of a controller while the operator runs.

use std::sync::Arc;

use tokio::sync::watch;

/// Pauses and resumes the workers of a controller; see [`pause_handle`](super::ControllerBuilder::pause_handle). Cloning copies a
/// pointer.
///
/// While a controller is paused, workers start no reconcile; running ones end as usual. Keys stay in the queue.
#[derive(Debug, Clone)]
pub struct Pause(Arc<watch::Sender<bool>>);

impl Pause {
    pub(super) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// Pauses the controller. A reconcile that is just being started may still run.
    pub fn pause(&self) {
        self.0.send_replace(true);
    }

    /// Resumes the controller.
    pub fn resume(&self) {
        self.0.send_replace(false);
    }

    /// Whether the controller is paused.
    pub fn is_paused(&self) -> bool {
        *self.0.borrow()
    }

    pub(super) fn subscribe(&self) -> PauseReceiver {
        PauseReceiver(self.0.subscribe())
    }
}

/// One worker's view of a [`Pause`].
pub(super) struct PauseReceiver(watch::Receiver<bool>);

impl PauseReceiver {
    /// Waits until the controller is paused, or until it is not paused. Cancel safe.
    pub(super) async fn until(&mut self, paused: bool) {
        if self.0.wait_for(|now| *now == paused).await.is_err() && paused {
            // All senders are gone: it is never paused again.
            std::future::pending::<()>().await;
        }
    }
}
