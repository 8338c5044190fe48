//! What a queue holds, for who asks.

use std::time::Duration;

use super::Priority;

/// What a queue holds at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueueStats {
    /// Keys that want attention: those that wait for a worker, and those that were added while a worker held them or while they were
    /// parked.
    pub depth: usize,
    /// The same by priority.
    pub depths: Depths,
    /// Keys that wait for their time.
    pub delayed: usize,
    /// Keys that workers put aside.
    pub parked: usize,
    /// Keys that workers hold.
    pub processing: usize,
    /// How long the workers have been at the keys that they hold, summed up. Zero in a queue that is not
    /// [timed](super::QueueMetrics::is_timed).
    pub unfinished: Duration,
    /// How long the slowest of them has been at its key. Zero in a queue that is not timed.
    pub longest_running: Duration,
}

/// Keys by priority: every priority that there ever was in the queue, also when none is left of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Depths(Vec<(Priority, usize)>);

impl Depths {
    /// The priorities and how many keys each has, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (Priority, usize)> {
        self.0.iter().copied()
    }

    pub(super) fn sum(&self) -> usize {
        self.0.iter().map(|(_, depth)| depth).sum()
    }

    pub(super) fn add(&mut self, priority: Priority) {
        match self.0.iter_mut().find(|(known, _)| *known == priority) {
            Some((_, depth)) => *depth += 1,
            None => self.0.push((priority, 1)),
        }
    }

    pub(super) fn remove(&mut self, priority: Priority) {
        if let Some((_, depth)) = self.0.iter_mut().find(|(known, _)| *known == priority) {
            *depth -= 1;
        }
    }
}

impl FromIterator<(Priority, usize)> for Depths {
    fn from_iter<T: IntoIterator<Item = (Priority, usize)>>(depths: T) -> Self {
        Self(depths.into_iter().collect())
    }
}
