//! How urgent a key is.

use std::fmt;

/// How urgent a key is: of those that wait, a worker is handed one of the highest priority, but for the share of the others; see
/// [`WorkQueue`](super::WorkQueue).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Priority(pub i8);

impl Priority {
    /// What nobody changed just now: objects of the initial list, resyncs. controller-runtime's value.
    pub const LOW: Self = Self(-100);
    /// What [`add`](super::WorkQueue::add) adds with.
    pub const NORMAL: Self = Self(0);
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
