//! What the runner of a controller counts.

use std::time::Duration;

use crate::workqueue::QueueMetrics;

/// How a reconcile ended; the names are controller-runtime's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// [`Action::AwaitChange`](super::Action::AwaitChange).
    Success,
    /// [`Action::RequeueAfter`](super::Action::RequeueAfter).
    RequeueAfter,
    /// [`Action::Requeue`](super::Action::Requeue).
    Requeue,
    /// An error that is retried.
    Error,
    /// An error that is not retried.
    TerminalError,
    /// A panic; it is retried as an error is.
    Panic,
    /// It took too long and was dropped; it is retried as an error is.
    Timeout,
}

impl Outcome {
    /// The `result` label of controller-runtime's `reconcile_total`.
    pub fn label(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::RequeueAfter => "requeue_after",
            Self::Requeue => "requeue",
            Self::Error | Self::TerminalError | Self::Panic | Self::Timeout => "error",
        }
    }
}

/// Told of every reconcile of one controller, and of its queue. Called in line: implementations count and return.
pub trait ControllerMetrics: QueueMetrics {
    /// A worker began a reconcile.
    fn started(&self) {}
    /// A reconcile ended, that long after it began. A cancelled one has no outcome.
    fn finished(&self, outcome: Option<Outcome>, took: Duration) {
        let _ = (outcome, took);
    }
    /// A key waits until the cache shows what it wrote.
    fn waits(&self) {}
    /// A key waited for that in vain.
    fn wait_overdue(&self) {}
    /// A change did not wake a key, because it was its own.
    fn own_event(&self) {}
}

/// Counts nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMetrics;

impl QueueMetrics for NoMetrics {}
impl ControllerMetrics for NoMetrics {}
