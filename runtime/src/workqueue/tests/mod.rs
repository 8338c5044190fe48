//! Ports of client-go's tests of its queues, each with the original's name, and tests of our additions; on a paused clock. `model` compares
//! the queue with a model.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::{
    task::{JoinSet, yield_now},
    time::{Instant, advance, sleep, timeout},
};

use super::{ItemExponential, Priority, QueueMetrics, QueueStats, WorkQueue, default_limiter};

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
    Arc::new(WorkQueue::new(Box::new(default_limiter())))
}

/// Asserts that no key is handed out until time passes.
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

/// Starts a drain, and returns when it is waiting.
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
