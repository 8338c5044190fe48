//! client-go's tests of its queues, on a paused clock, and those of what client-go has not; each names the test that pins the same
//! behaviour there. `model` has the queue against a model.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::{
    task::{JoinSet, yield_now},
    time::{Instant, advance, sleep, timeout},
};

use super::{
    ItemExponential, NoQueueMetrics, Priority, QueueMetrics, QueueStats, WorkQueue, default_limiter,
    limits::QueueLimits,
};

mod basic;
mod delaying;
mod metrics;
mod model;
mod parking;
mod priorities;
mod shutdown;

type Keys = WorkQueue<&'static str>;

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn queue<K: super::Key>() -> Arc<WorkQueue<K>> {
    let limiter = Box::new(default_limiter());
    Arc::new(WorkQueue::with_limits(
        limiter,
        Arc::new(NoQueueMetrics),
        QueueLimits::SMALL,
    ))
}

/// Nothing comes out now, nor without the clock moving.
async fn assert_blocked(queue: &Keys) {
    assert!(timeout(Duration::ZERO, queue.get()).await.is_err());
}

async fn shut_down(queue: &WorkQueue<usize>, with_drain: bool) {
    if with_drain {
        queue.shut_down_with_drain().await;
    } else {
        queue.shut_down();
    }
}

/// Starts a drain, and returns when it waits.
async fn start_drain(queue: &Arc<Keys>) -> tokio::task::JoinHandle<()> {
    let drain = tokio::spawn({
        let queue = queue.clone();
        async move { queue.shut_down_with_drain().await }
    });
    assert_eq!(queue.get().await, None);
    yield_now().await;
    assert!(!drain.is_finished());
    drain
}
