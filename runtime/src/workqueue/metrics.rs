//! The metrics interface of a queue.

use std::time::Duration;

/// Receives the events of one queue. It is called inline: implementations must be quick.
///
/// Depth, unfinished work and the longest running key are read on demand from [`WorkQueue::stats`](super::WorkQueue::stats).
pub trait QueueMetrics: Send + Sync + 'static {
    /// Returns whether durations are wanted. Called once; a queue without them reads the clock less and needs eight bytes a key less.
    fn is_timed(&self) -> bool {
        true
    }
    /// A key was added that was not dirty. Called at the next access to the queue, by a worker or for its figures.
    fn added(&self) {}
    /// A key was handed out after it was queued for `duration`.
    fn waited(&self, duration: Duration) {
        let _ = duration;
    }
    /// A key was processed for `duration`.
    fn worked(&self, duration: Duration) {
        let _ = duration;
    }
    /// A key was requeued with a delay.
    fn retried(&self) {}
}

/// No metrics.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoQueueMetrics;

impl QueueMetrics for NoQueueMetrics {
    fn is_timed(&self) -> bool {
        false
    }
}
