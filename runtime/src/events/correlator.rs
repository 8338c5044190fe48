//! What becomes of an event: bookkeeping, without clock or I/O of its own.

use tokio::time::Instant;

use super::{
    Recorded,
    aggregator::Similar,
    recorder::LANES,
    series::{Head, Repeat, SeriesBook, SeriesKey},
    spam::SpamFilter,
};
use crate::NamespacedName;

/// How many entries each of a shard's LRU maps holds. All shards together hold 4096, as client-go's correlator does.
pub(super) const MAX_ENTRIES_PER_SHARD: usize = 4096 / LANES;

/// Combines similar events, counts repeats, and keeps a controller in a loop from flooding the API server.
#[derive(Debug, Default)]
pub(super) struct Correlator {
    similar: Similar,
    spam: SpamFilter,
    book: SeriesBook,
}

/// What becomes of an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is to be created; [`Correlator::began`] makes it the head of a series.
    New(Box<(SeriesKey, Recorded)>),
    /// It repeats another, whose count is to be written now.
    Repeated(Box<Repeat>),
    /// It repeats another and was counted.
    Counted,
    /// There were too many about the object.
    Spam,
}

impl Correlator {
    pub(super) fn observe(&mut self, event: Recorded, now: Instant) -> Verdict {
        let (key, event) = self.similar.combine(event, now);
        match self.book.observe(key, &event, now) {
            Head::None if self.spam.admit(&event.regarding, event.event_type, now) => {
                Verdict::New(Box::new((key, event)))
            }
            Head::None => Verdict::Spam,
            // What may not be written now stays counted, and is written when it may.
            Head::Due(repeat) if self.spam.admit(&event.regarding, event.event_type, now) => {
                Verdict::Repeated(repeat)
            }
            Head::Due(_) | Head::Counted => Verdict::Counted,
        }
    }

    /// Remembers an event that was created; it is the first of its series, or goes on with its count.
    pub(super) fn began(&mut self, key: SeriesKey, name: NamespacedName, count: i32, now: Instant) {
        self.book.began(key, name, count, now);
    }

    /// Notes that the API server has the count.
    pub(super) fn written(&mut self, repeat: &Repeat, now: Instant) {
        self.book.written(repeat, now);
    }

    pub(super) fn forget(&mut self, key: SeriesKey) {
        self.book.forget(key);
    }

    /// Counts that are to be written now. With `all`, also those whose time has not come.
    pub(super) fn due(&mut self, now: Instant, all: bool) -> Vec<Repeat> {
        let mut due = self.book.due(now, all);
        due.retain(|Repeat { event, .. }| all || self.spam.admit(&event.regarding, event.event_type, now));
        due
    }
}
