//! Registrations of handlers and sinks: added, synced, removed, ended.

use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{Listener, pending_notifications::PendingNotifications, resync};
use crate::cache::HandlerOptions;

/// A registered handler or sink (client-go's ResourceEventHandlerRegistration). Cloning copies a pointer.
///
/// Dropping it has no effect: the handler runs until it is [removed](Self::remove) or the informer stops.
#[derive(Debug, Clone)]
pub struct HandlerRegistration(Arc<RegistrationState>);

/// The tokens are flags that tasks can wait for.
#[derive(Debug)]
struct RegistrationState {
    removed: CancellationToken,
    synced: CancellationToken,
    ended: CancellationToken,
    /// Empty for a sink.
    queue: PendingNotifications,
    registrations: Weak<Registrations>,
}

impl HandlerRegistration {
    /// Whether the first list is in the store and the handler has returned from all of its objects, possibly with a panic. Stays true.
    pub fn has_synced(&self) -> bool {
        self.0.synced.is_cancelled()
    }

    /// Waits until [`has_synced`](Self::has_synced) and returns true, or returns false if the handler ends before. Never returns if the
    /// informer is not started. Cancel safe.
    pub async fn wait_for_sync(&self) -> bool {
        tokio::select! {
            biased;
            () = self.0.synced.cancelled() => true,
            () = self.0.ended.cancelled() => self.has_synced(),
        }
    }

    /// Removes the handler; its pending changes are dropped. Returns at once, without waiting for a running call of the handler. May be
    /// called again, from the handler itself, and after the informer has stopped.
    pub fn remove(&self) {
        self.0.removed.cancel();
        if let Some(registrations) = self.0.registrations.upgrade() {
            registrations.drop_removed();
        }
    }

    /// Waits until the handler was removed or its informer has stopped, and no call of it runs or will run. Cancel safe.
    ///
    /// Do not wait for it in the handler itself: it would wait for its own end.
    pub async fn ended(&self) {
        self.0.ended.cancelled().await;
    }

    /// Returns the number of pending changes; always zero for a sink.
    pub fn pending(&self) -> usize {
        self.0.queue.len()
    }

    pub(super) fn is_removed(&self) -> bool {
        self.0.removed.is_cancelled()
    }

    pub(super) async fn removed(&self) {
        self.0.removed.cancelled().await;
    }

    pub(super) fn set_synced(&self) {
        self.0.synced.cancel();
    }

    pub(super) fn name(&self) -> &str {
        self.0.queue.handler()
    }

    pub(super) fn queue(&self) -> &PendingNotifications {
        &self.0.queue
    }
}

/// Held while the listener runs; dropping it marks the listener as ended.
pub(super) struct ListenerGuard(pub(super) HandlerRegistration);

impl Drop for ListenerGuard {
    fn drop(&mut self) {
        self.0.0.queue.close();
        self.0.0.ended.cancel();
    }
}

/// A listener that was added and that the processing task has not started yet.
pub(super) struct AddedListener {
    pub(super) listener: Listener,
    pub(super) resync: Option<Duration>,
    pub(super) guard: ListenerGuard,
}

/// The listeners of an informer, added from any task.
#[derive(Default)]
pub(in crate::cache) struct Registrations {
    state: Mutex<RegistrationsState>,
    changed: Notify,
}

#[derive(Default)]
struct RegistrationsState {
    phase: ProcessorPhase,
    /// The listeners that the processing task has not started yet.
    added: VecDeque<AddedListener>,
    /// All registrations that may have pending changes.
    registrations: Vec<Weak<RegistrationState>>,
    resync_check_period: Option<Duration>,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum ProcessorPhase {
    #[default]
    Created,
    Running,
    Stopped,
}

impl Registrations {
    /// Adds a listener; `name` is for the log. After the informer has stopped, it has ended at once, with a warning.
    pub(in crate::cache) fn add(
        self: &Arc<Self>,
        listener: Listener,
        options: HandlerOptions,
        name: String,
    ) -> HandlerRegistration {
        let mut state = self.state.lock();
        let is_running = state.phase == ProcessorPhase::Running;
        let resync =
            resync::effective_period(options.resync, &mut state.resync_check_period, is_running, &name);
        if state.phase == ProcessorPhase::Stopped {
            tracing::warn!(
                "{name} was added after the informer stopped, and receives no changes: add it earlier"
            );
        }
        let registration = HandlerRegistration(Arc::new(RegistrationState {
            removed: CancellationToken::new(),
            synced: CancellationToken::new(),
            ended: CancellationToken::new(),
            queue: PendingNotifications::new(name, options.coalesce),
            registrations: Arc::downgrade(self),
        }));
        let added = AddedListener {
            listener,
            resync,
            guard: ListenerGuard(registration.clone()),
        };
        if state.phase == ProcessorPhase::Stopped {
            // Without the lock: dropping runs the user's `Drop`.
            drop(state);
            drop(added);
            return registration;
        }
        state.registrations.retain(|known| known.strong_count() > 0);
        state.registrations.push(Arc::downgrade(&registration.0));
        state.added.push_back(added);
        drop(state);
        self.changed.notify_one();
        registration
    }

    /// Waits until a listener is added or removed. For one waiter. Cancel safe.
    pub(in crate::cache) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Returns the number of pending changes of all handlers.
    pub(in crate::cache) fn pending(&self) -> usize {
        let registrations = self.state.lock().registrations.clone();
        registrations
            .iter()
            .filter_map(Weak::upgrade)
            .map(|registration| registration.queue.len())
            .sum()
    }

    pub(in crate::cache) fn is_stopped(&self) -> bool {
        self.state.lock().phase == ProcessorPhase::Stopped
    }

    pub(super) fn set_running(&self) {
        self.state.lock().phase = ProcessorPhase::Running;
    }

    /// Removes and returns the next listener to start.
    pub(super) fn next_added(&self) -> Option<AddedListener> {
        self.state.lock().added.pop_front()
    }

    /// Returns the resync check period (client-go's resyncCheckPeriod); none before a listener has a resync period.
    pub(in crate::cache) fn resync_check_period(&self) -> Option<Duration> {
        self.state.lock().resync_check_period
    }

    /// Ends the listeners that were not started yet; later ones end at once.
    pub(in crate::cache) fn stop(&self) {
        let mut state = self.state.lock();
        state.phase = ProcessorPhase::Stopped;
        let added = std::mem::take(&mut state.added);
        drop(state);
        drop(added);
    }

    /// Drops removed listeners that were not started yet, and notifies the processing task of the others.
    fn drop_removed(&self) {
        let mut state = self.state.lock();
        let (removed, added) = std::mem::take(&mut state.added)
            .into_iter()
            .partition::<VecDeque<_>, _>(|added| added.guard.0.is_removed());
        state.added = added;
        drop(state);
        drop(removed);
        self.changed.notify_one();
    }
}
