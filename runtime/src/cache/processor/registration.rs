//! Handlers and sinks, from when they are added to when they have ended.

use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{Listener, pending_notifications::Ring, resync};
use crate::cache::HandlerOptions;

/// A registered handler or sink. Cloning copies a pointer.
///
/// Dropping it does nothing: the handler goes on until it is [removed](Self::remove) or the informer stops. What it says of the handler
/// may be out of date when it is read, but for what stays true: that it has synced, and that it has ended.
#[derive(Debug, Clone)]
pub struct HandlerRegistration(Arc<Shared>);

/// The tokens are flags that can be waited for.
#[derive(Debug)]
struct Shared {
    removed: CancellationToken,
    synced: CancellationToken,
    ended: CancellationToken,
    /// Empty for sinks.
    ring: Ring,
    registrations: Weak<Registrations>,
}

impl HandlerRegistration {
    /// Whether the first list is in the store, and the handler was told of everything in it and has returned from that, be it with a panic.
    /// Stays true.
    pub fn has_synced(&self) -> bool {
        self.0.synced.is_cancelled()
    }

    /// Returns true once [`has_synced`](Self::has_synced), and false when the handler has ended without. Never when the informer is not
    /// started. Cancel safe.
    pub async fn wait_for_sync(&self) -> bool {
        tokio::select! {
            biased;
            () = self.0.synced.cancelled() => true,
            () = self.0.ended.cancelled() => self.has_synced(),
        }
    }

    /// Stops the handler; what it was not yet told it will not be told. Returns at once: a call that runs, or just begins, is not waited
    /// for. May be called again, from anywhere, by the handler, too, and after the informer has stopped.
    pub fn remove(&self) {
        self.0.removed.cancel();
        if let Some(registrations) = self.0.registrations.upgrade() {
            registrations.forget_removed();
        }
    }

    /// Returns when the handler was removed, or its informer has stopped, and no call of it runs or will run. Cancel safe.
    ///
    /// Not to be waited for in the handler itself: it would wait for its own end.
    pub async fn ended(&self) {
        self.0.ended.cancelled().await;
    }

    /// How many changes wait for the handler; always zero for a sink.
    pub fn pending(&self) -> usize {
        self.0.ring.len()
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
        self.0.ring.handler()
    }

    pub(super) fn ring(&self) -> &Ring {
        &self.0.ring
    }
}

/// Whoever holds it runs the listener; dropping it says that the listener has ended.
pub(super) struct ListenerGuard(pub(super) HandlerRegistration);

impl Drop for ListenerGuard {
    fn drop(&mut self) {
        self.0.0.ring.close();
        self.0.0.ended.cancel();
    }
}

/// A listener that was added and that the processing task has not yet taken over.
pub(super) struct Waiting {
    pub(super) listener: Listener,
    pub(super) resync: Option<Duration>,
    pub(super) lease: ListenerGuard,
}

/// Where listeners are added.
#[derive(Default)]
pub(in crate::cache) struct Registrations {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    phase: Phase,
    waiting: VecDeque<Waiting>,
    /// All that may have something pending.
    added: Vec<Weak<Shared>>,
    /// How often it is looked who resyncs.
    check: Option<Duration>,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Phase {
    #[default]
    Created,
    Running,
    Stopped,
}

impl Registrations {
    /// `name` is for the log.
    pub(in crate::cache) fn add(
        self: &Arc<Self>,
        listener: Listener,
        options: HandlerOptions,
        name: String,
    ) -> HandlerRegistration {
        let mut state = self.state.lock();
        let is_running = state.phase == Phase::Running;
        let resync = resync::admit(options.resync, &mut state.check, is_running, &name);
        if state.phase == Phase::Stopped {
            tracing::warn!("{name} was added to an informer that has stopped: it is told nothing");
        }
        let registration = HandlerRegistration(Arc::new(Shared {
            removed: CancellationToken::new(),
            synced: CancellationToken::new(),
            ended: CancellationToken::new(),
            ring: Ring::new(name, options.coalesce),
            registrations: Arc::downgrade(self),
        }));
        let waiting = Waiting {
            listener,
            resync,
            lease: ListenerGuard(registration.clone()),
        };
        if state.phase == Phase::Stopped {
            // What the user's code does when it is dropped is none of the lock's business.
            drop(state);
            drop(waiting);
            return registration;
        }
        state.added.retain(|known| known.strong_count() > 0);
        state.added.push(Arc::downgrade(&registration.0));
        state.waiting.push_back(waiting);
        drop(state);
        self.changed.notify_one();
        registration
    }

    /// Waits until somebody was added or removed. For one waiter. Cancel safe.
    pub(in crate::cache) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// The changes that handlers were not yet told of.
    pub(in crate::cache) fn pending(&self) -> usize {
        let added = self.state.lock().added.clone();
        added
            .iter()
            .filter_map(Weak::upgrade)
            .map(|shared| shared.ring.len())
            .sum()
    }

    pub(in crate::cache) fn is_stopped(&self) -> bool {
        self.state.lock().phase == Phase::Stopped
    }

    pub(super) fn set_running(&self) {
        self.state.lock().phase = Phase::Running;
    }

    pub(super) fn next(&self) -> Option<Waiting> {
        self.state.lock().waiting.pop_front()
    }

    pub(in crate::cache) fn check(&self) -> Option<Duration> {
        self.state.lock().check
    }

    /// Ends those who still wait; who comes later ends at once.
    pub(super) fn stop(&self) {
        let mut state = self.state.lock();
        state.phase = Phase::Stopped;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        drop(waiting);
    }

    fn forget_removed(&self) {
        let mut state = self.state.lock();
        let (removed, waiting) = std::mem::take(&mut state.waiting)
            .into_iter()
            .partition::<VecDeque<_>, _>(|waiting| waiting.lease.0.is_removed());
        state.waiting = waiting;
        drop(state);
        drop(removed);
        self.changed.notify_one();
    }
}
