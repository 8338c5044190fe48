//! The figures of a queue.

use std::time::Duration;

use super::Priority;

/// A snapshot of a queue's figures.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueueStats {
    /// Dirty keys: queued ones, and those that were added while they were processed or parked.
    pub depth: usize,
    /// The depth by priority.
    pub depths: Depths,
    /// Keys that are due later.
    pub delayed: usize,
    /// Parked keys.
    pub parked: usize,
    /// Keys that workers process.
    pub processing: usize,
    /// The sum of the times for which keys have been processed so far. Zero in a queue that is not
    /// [timed](super::QueueMetrics::is_timed).
    pub unfinished: Duration,
    /// The longest of these times. Zero in a queue that is not timed.
    pub longest_running: Duration,
}

/// The number of keys by priority, with every priority that was ever used.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Depths(Vec<(Priority, usize)>);

impl Depths {
    /// Iterates over priorities and their numbers of keys, in no particular order.
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
