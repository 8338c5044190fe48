//! Sizes from which on the queue batches its work.

/// How many keys are handled at a time, and from how many on. Tests set small limits to reach what is done among many keys.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueueLimits {
    /// Additions that wait in the inbox; further ones go to the queue's state directly.
    pub(super) inbox_additions: usize,
    /// Keys from which on a table is larger than the processor's caches.
    pub(super) many_keys: usize,
    /// Keys that are removed from such a table at a time.
    pub(super) removal_batch: usize,
}

impl QueueLimits {
    pub(super) const DEFAULT: Self = Self {
        inbox_additions: 128,
        many_keys: 8192,
        removal_batch: 64,
    };

    #[cfg(test)]
    pub(super) const SMALL: Self = Self {
        inbox_additions: 3,
        many_keys: 2,
        removal_batch: 3,
    };
}
