//! The priority of a key.

use std::fmt;

/// The priority of a key: a worker gets a queued key of the highest priority, but lower ones have a minimum share; see
/// [`WorkQueue`](super::WorkQueue).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Priority(pub i8);

impl Priority {
    /// For objects that did not just change: the initial list, resyncs. controller-runtime's value.
    pub const LOW: Self = Self(-100);
    /// The priority of [`add`](super::WorkQueue::add).
    pub const NORMAL: Self = Self(0);
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
