//! Metrics and figures of the queue.

use parking_lot::Mutex;

use super::*;

#[derive(Debug, Default, Clone, PartialEq)]
struct QueueCounts {
    added: usize,
    retried: usize,
    waited: Vec<Duration>,
    worked: Vec<Duration>,
}

#[derive(Default)]
struct Counted(Mutex<QueueCounts>);

impl Counted {
    fn read(&self) -> QueueCounts {
        self.0.lock().clone()
    }
}

impl QueueMetrics for Counted {
    fn added(&self) {
        self.0.lock().added += 1;
    }
    fn waited(&self, duration: Duration) {
        self.0.lock().waited.push(duration);
    }
    fn worked(&self, duration: Duration) {
        self.0.lock().worked.push(duration);
    }
    fn retried(&self) {
        self.0.lock().retried += 1;
    }
}

/// client-go: TestMetrics
#[tokio::test(start_paused = true)]
async fn metrics_count_adds_and_measure_waiting_and_work() {
    let metrics = Arc::new(Counted::default());
    let queue = WorkQueue::with_metrics(Box::new(default_limiter()), metrics.clone());
    queue.add("foo");
    assert_eq!((queue.stats().depth, metrics.read().added), (1, 1));
    advance(millis(50)).await;
    queue.get().await;
    assert_eq!(metrics.read().waited, [millis(50)]);

    for _ in 0..5 {
        queue.add("foo");
    }
    assert_eq!((queue.stats().depth, metrics.read().added), (1, 2));
    advance(millis(25)).await;
    queue.done(&"foo");
    assert_eq!(metrics.read().worked, [millis(25)]);
    assert_eq!(queue.stats().depth, 1);

    queue.get().await;
    assert_eq!(metrics.read().waited, [millis(50), millis(25)]);
    advance(millis(1)).await;
    let busy = QueueStats {
        processing: 1,
        unfinished: millis(1),
        longest_running: millis(1),
        depths: [(Priority::NORMAL, 0)].into_iter().collect(),
        ..QueueStats::default()
    };
    assert_eq!(queue.stats(), busy);
    queue.done(&"foo");
    assert_eq!(metrics.read().worked, [millis(25), millis(1)]);

    // A delayed key counts as queued from its due time on, not from the next access.
    queue.add_after("foo", millis(10));
    assert_eq!((metrics.read().added, metrics.read().retried), (2, 1));
    advance(millis(15)).await;
    queue.get().await;
    assert_eq!(metrics.read().added, 3);
    assert_eq!(metrics.read().waited.last(), Some(&millis(5)));
}
