//! Delays reconciles, so that many changes in quick succession lead to one.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::{Stream, stream};
use kubewright::NamespacedName;
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::{Instant, sleep_until},
};

/// Collects keys. Each comes out of the stream once, a fixed time after it was first added.
#[derive(Clone)]
pub(super) struct KeyBatch {
    waiting: Arc<Mutex<HashSet<NamespacedName>>>,
    sender: UnboundedSender<(Instant, NamespacedName)>,
    period: Duration,
}

impl KeyBatch {
    /// Returns a batch, and the stream of its keys.
    pub(super) fn new(period: Duration) -> (Self, impl Stream<Item = NamespacedName> + use<>) {
        let (sender, receiver) = unbounded_channel();
        let batch = Self {
            waiting: Arc::default(),
            sender,
            period,
        };
        let keys = stream::unfold((batch.waiting.clone(), receiver), next_key);
        (batch, keys)
    }

    /// Adds a key, unless it is waiting.
    pub(super) fn add(&self, key: NamespacedName) {
        if lock(&self.waiting).insert(key.clone()) {
            // It fails after the controller has stopped.
            let _ = self.sender.send((Instant::now() + self.period, key));
        }
    }
}

type Receiver = UnboundedReceiver<(Instant, NamespacedName)>;

/// All keys wait equally long, so they are due in the order in which they were added.
async fn next_key(
    (waiting, mut receiver): (Arc<Mutex<HashSet<NamespacedName>>>, Receiver),
) -> Option<(NamespacedName, (Arc<Mutex<HashSet<NamespacedName>>>, Receiver))> {
    let (due, key) = receiver.recv().await?;
    sleep_until(due).await;
    lock(&waiting).remove(&key);
    Some((key, (waiting, receiver)))
}

fn lock(keys: &Mutex<HashSet<NamespacedName>>) -> MutexGuard<'_, HashSet<NamespacedName>> {
    keys.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use futures::StreamExt as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn keys_come_once_and_after_the_period() {
        let period = Duration::from_secs(1);
        let (batch, keys) = KeyBatch::new(period);
        let mut keys = std::pin::pin!(keys);
        let key = |name: &str| NamespacedName::namespaced("default", name);
        let start = Instant::now();
        batch.add(key("a"));
        tokio::time::advance(period / 2).await;
        for name in ["a", "b", "a"] {
            batch.add(key(name));
        }
        assert_eq!(keys.next().await, Some(key("a")));
        assert_eq!(start.elapsed(), period);
        batch.add(key("a"));
        assert_eq!(keys.next().await, Some(key("b")));
        assert_eq!(keys.next().await, Some(key("a")));
        assert_eq!(start.elapsed(), period * 2);
    }
}
