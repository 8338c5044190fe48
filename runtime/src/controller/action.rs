//! What follows a successful reconcile.

use std::time::Duration;

/// What follows a successful reconcile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Nothing until something changes.
    Done,
    /// Once more after this time, or earlier when something changes.
    After(Duration),
    /// Once more, with the growing delay of failures: each call in a row waits longer.
    Again,
}

impl Action {
    /// Nothing until something changes. The delays of earlier failures are forgotten.
    pub const fn done() -> Self {
        Self::Done
    }

    /// Once more after this time, or earlier when something changes. The delays of earlier failures are forgotten.
    pub const fn after(delay: Duration) -> Self {
        Self::After(delay)
    }

    /// Once more, with the growing delay of failures: each call in a row waits longer.
    pub const fn again() -> Self {
        Self::Again
    }
}
