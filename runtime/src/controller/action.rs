//! What follows a successful reconcile.

use std::time::Duration;

/// What follows a successful reconcile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Nothing until something changes.
    AwaitChange,
    /// Once more after this time, or earlier when something changes.
    RequeueAfter(Duration),
    /// Once more, with the growing delay of failures: each call in a row waits longer.
    Requeue,
}

impl Action {
    /// Nothing until something changes. The delays of earlier failures are forgotten.
    pub const fn await_change() -> Self {
        Self::AwaitChange
    }

    /// Once more after this time, or earlier when something changes. The delays of earlier failures are forgotten.
    pub const fn requeue_after(delay: Duration) -> Self {
        Self::RequeueAfter(delay)
    }

    /// Once more, with the growing delay of failures: each call in a row waits longer.
    pub const fn requeue() -> Self {
        Self::Requeue
    }
}
