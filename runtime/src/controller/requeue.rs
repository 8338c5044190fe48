//! Action: the result of a successful reconcile, and when the key is requeued.

use std::time::Duration;

/// When the key is reconciled next, after a successful reconcile.
///
/// Corresponds to controller-runtime's `Result` and kube-rs' `Action`. Independent of it, changes enqueue the key; with
/// [`OwnEvents::ReconcileOnce`](super::OwnEvents::ReconcileOnce), a reconcile that changed something is followed by one extra call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Await a change: the key is not requeued.
    AwaitChange,
    /// Requeue after this time (controller-runtime's `RequeueAfter`); a change enqueues the key earlier.
    RequeueAfter(Duration),
    /// Requeue with backoff (controller-runtime's `Requeue`): the rate limiter counts it like a failure, so each in a row waits longer.
    Requeue,
}

impl Action {
    /// Returns [`AwaitChange`](Self::AwaitChange). Resets the key's backoff.
    pub const fn await_change() -> Self {
        Self::AwaitChange
    }

    /// Returns [`RequeueAfter`](Self::RequeueAfter). Resets the key's backoff.
    pub const fn requeue_after(delay: Duration) -> Self {
        Self::RequeueAfter(delay)
    }

    /// Returns [`Requeue`](Self::Requeue).
    pub const fn requeue() -> Self {
        Self::Requeue
    }
}
