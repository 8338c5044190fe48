//! Observers of an informer: they receive each batch and the removal from the factory.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// Observes an informer. Both methods are called without a lock, and must be quick.
pub(crate) trait InformerObserver: Send + Sync {
    /// A batch is in the store, and every sink has received it.
    fn batch_delivered(&self) {}

    /// The informer was removed from its factory.
    fn removed(&self) {}
}

/// Identifies an observer of one informer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ObserverId(u64);

/// The observers of one informer.
#[derive(Default)]
pub(super) struct InformerObservers(Mutex<ObserverList>);

#[derive(Default)]
struct ObserverList {
    next_id: u64,
    /// Copied when it changes, so that observers are called without the lock.
    observers: Arc<[(u64, Arc<dyn InformerObserver>)]>,
}

impl InformerObservers {
    /// Adds an observer; none if `stop` is cancelled, because [`report_removal`](Self::report_removal) may have been called already.
    pub(super) fn add(
        &self,
        observer: Arc<dyn InformerObserver>,
        stop: &CancellationToken,
    ) -> Option<ObserverId> {
        let mut list = self.0.lock();
        if stop.is_cancelled() {
            return None;
        }
        let id = list.next_id;
        list.next_id += 1;
        list.observers = list.observers.iter().cloned().chain([(id, observer)]).collect();
        Some(ObserverId(id))
    }

    /// Removes an observer. A call of it may still be running.
    pub(super) fn remove(&self, ObserverId(removed): ObserverId) {
        let mut list = self.0.lock();
        let kept = list.observers.iter().filter(|(id, _)| *id != removed);
        let kept = kept.cloned().collect();
        let old = std::mem::replace(&mut list.observers, kept);
        drop(list);
        drop(old);
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.0.lock().observers.len()
    }

    pub(super) fn batch_delivered(&self) {
        let observers = self.0.lock().observers.clone();
        observers
            .iter()
            .for_each(|(_, observer)| observer.batch_delivered());
    }

    /// Removes all observers, and reports the removal to them.
    pub(super) fn report_removal(&self) {
        let observers = std::mem::take(&mut self.0.lock().observers);
        observers.iter().for_each(|(_, observer)| observer.removed());
    }
}
