//! Metrics of one controller, as a trait.

use std::time::Duration;

use crate::workqueue::QueueMetrics;

/// How a reconcile ended; the labels are controller-runtime's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// [`Action::AwaitChange`](super::Action::AwaitChange).
    Success,
    /// [`Action::RequeueAfter`](super::Action::RequeueAfter).
    RequeueAfter,
    /// [`Action::Requeue`](super::Action::Requeue).
    Requeue,
    /// An error that is retried with backoff.
    Error,
    /// An error that is not retried.
    TerminalError,
    /// A panic; retried with backoff.
    Panic,
    /// It exceeded the timeout and was cancelled; retried with backoff.
    Timeout,
}

impl Outcome {
    /// Returns the `result` label of controller-runtime's `reconcile_total`.
    pub fn label(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::RequeueAfter => "requeue_after",
            Self::Requeue => "requeue",
            Self::Error | Self::TerminalError | Self::Panic | Self::Timeout => "error",
        }
    }
}

/// Receives the reconciles of one controller and its queue's metrics. Called in line: implementations count and return.
pub trait ControllerMetrics: QueueMetrics {
    /// A worker started a reconcile.
    fn started(&self) {}
    /// A reconcile ended after the time `took`. A cancelled one has no outcome.
    fn finished(&self, outcome: Option<Outcome>, took: Duration) {
        let _ = (outcome, took);
    }
    /// A key was parked until the cache shows its writes.
    fn write_wait_started(&self) {}
    /// The cache did not show a key's writes in time.
    fn write_wait_timed_out(&self) {}
    /// An event of a key's own write did not enqueue the key.
    fn own_event_ignored(&self) {}
    /// A reconcile that changed something is followed by an extra call; see [`OwnEvents`](super::OwnEvents::ReconcileOnce).
    fn follow_up_scheduled(&self) {}
    /// That extra call is delayed, because there were many in a row.
    fn follow_up_delayed(&self) {}
}

/// Counts nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMetrics;

impl QueueMetrics for NoMetrics {}
impl ControllerMetrics for NoMetrics {}
