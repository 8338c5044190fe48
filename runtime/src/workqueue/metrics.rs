//! What a queue counts.

use std::time::Duration;

/// Told of what happens in one queue. ToWake in line: implementations count and return.
///
/// Depth, unfinished work and the longest running key are read when somebody looks: [`WorkQueue::stats`](super::WorkQueue::stats).
pub trait QueueMetrics: Send + Sync + 'static {
    /// Whether times are wanted. Asked once; a queue without them looks at the clock less and keeps eight bytes a key less.
    fn is_timed(&self) -> bool {
        true
    }
    /// A key was added that did not wait yet. Told when the queue is next looked at, by a worker or for its stats.
    fn added(&self) {}
    /// A key was handed out, that long after it was added.
    fn waited(&self, duration: Duration) {
        let _ = duration;
    }
    /// A key was worked on for that long.
    fn worked(&self, duration: Duration) {
        let _ = duration;
    }
    /// A key was added with a delay.
    fn retried(&self) {}
}

/// Counts nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoQueueMetrics;

impl QueueMetrics for NoQueueMetrics {
    fn is_timed(&self) -> bool {
        false
    }
}
