//! The event correlator: decides whether an event is created, counted in a series, or dropped. It has no clock and no I/O of its own.

use tokio::time::Instant;

use super::{
    Recorded,
    aggregator::EventAggregator,
    recorder::SHARDS,
    series::{Repeat, SeriesCache, SeriesKey, SeriesMatch},
    spam::SpamFilter,
};
use crate::NamespacedName;

/// How many entries each of a shard's LRU maps holds. All shards together hold 4096, as client-go's correlator does.
pub(super) const MAX_ENTRIES_PER_SHARD: usize = 4096 / SHARDS;

/// Aggregates similar events, counts repeats, and limits the events about an object, so that a controller in a loop does not flood the API
/// server.
#[derive(Debug, Default)]
pub(super) struct Correlator {
    aggregator: EventAggregator,
    spam: SpamFilter,
    series: SeriesCache,
}

/// What to do with an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CorrelateResult {
    /// Create it, then call [`Correlator::created`].
    New(Box<(SeriesKey, Recorded)>),
    /// It repeats another event, whose count must be written now.
    Repeated(Box<Repeat>),
    /// It repeats another event and was counted.
    Counted,
    /// Drop it: there were too many about the object.
    Spam,
}

impl Correlator {
    pub(super) fn observe(&mut self, event: Recorded, now: Instant) -> CorrelateResult {
        let (key, event) = self.aggregator.aggregate(event, now);
        match self.series.observe(key, &event, now) {
            SeriesMatch::None if self.spam.allow(&event.regarding, event.event_type, now) => {
                CorrelateResult::New(Box::new((key, event)))
            }
            SeriesMatch::None => CorrelateResult::Spam,
            // Over the limit it stays counted, and is written later.
            SeriesMatch::Due(repeat) if self.spam.allow(&event.regarding, event.event_type, now) => {
                CorrelateResult::Repeated(repeat)
            }
            SeriesMatch::Due(_) | SeriesMatch::Counted => CorrelateResult::Counted,
        }
    }

    /// Notes that an event was created: the first of its series, or the successor of a deleted one with its count.
    pub(super) fn created(&mut self, key: SeriesKey, name: NamespacedName, count: i32, now: Instant) {
        self.series.created(key, name, count, now);
    }

    /// Notes that a count was written.
    pub(super) fn written(&mut self, repeat: &Repeat, now: Instant) {
        self.series.written(repeat, now);
    }

    pub(super) fn forget(&mut self, key: SeriesKey) {
        self.series.forget(key);
    }

    /// Returns the counts that must be written now; with `all`, every unwritten count.
    pub(super) fn due(&mut self, now: Instant, all: bool) -> Vec<Repeat> {
        let mut due = self.series.due(now, all);
        due.retain(|Repeat { event, .. }| all || self.spam.allow(&event.regarding, event.event_type, now));
        due
    }
}
