//! Event series: counts repeated events.

use std::{
    hash::{DefaultHasher, Hash, Hasher as _},
    time::Duration,
};

use tokio::time::Instant;

use super::{Recorded, aggregator::AggregateKey, correlator::MAX_ENTRIES_PER_SHARD};
use crate::{NamespacedName, lru::LruMap};

/// A series ends after this time without a repeat; the next event starts another. client-go's default.
const SERIES_TIMEOUT: Duration = Duration::from_mins(6);
/// How often the count of a series is written. The first repeat is written at once.
pub(super) const SERIES_WRITE_INTERVAL: Duration = Duration::from_secs(30);

/// A 64-bit hash as a map key: among some thousands of entries a collision is negligible.
pub(super) fn digest(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// A hash of what the events of a series have in common: everything but the time, or the key of an aggregate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct SeriesKey(u64);

impl SeriesKey {
    pub(super) fn of(event: &Recorded) -> Self {
        let Recorded {
            regarding,
            related,
            event_type,
            reason,
            action,
            note,
            controller,
            time: _,
        } = event;
        Self(digest((
            regarding, related, event_type, reason, action, note, controller,
        )))
    }

    pub(super) fn of_aggregate(key: AggregateKey) -> Self {
        Self(digest(key))
    }
}

/// A count that must be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repeat {
    pub(super) key: SeriesKey,
    /// The name of the series' Event object.
    pub(super) name: NamespacedName,
    /// The latest repeat.
    pub(super) event: Recorded,
    pub(super) count: i32,
}

#[derive(Debug)]
struct EventSeries {
    name: NamespacedName,
    /// The latest repeat until its count is written. Most events are not repeated.
    unwritten: Option<Box<Recorded>>,
    count: i32,
    /// The count that was written.
    written: i32,
    last_seen: Instant,
    last_written: Instant,
}

/// The series of the last minutes.
#[derive(Debug)]
pub(super) struct SeriesCache {
    series_by_key: LruMap<SeriesKey, EventSeries>,
}

/// Whether an event belongs to a series.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SeriesMatch {
    /// It does not.
    None,
    /// It does, and the count must be written now.
    Due(Box<Repeat>),
    /// It does, and was counted.
    Counted,
}

impl Default for SeriesCache {
    fn default() -> Self {
        Self {
            series_by_key: LruMap::new(MAX_ENTRIES_PER_SHARD),
        }
    }
}

impl SeriesCache {
    pub(super) fn observe(&mut self, key: SeriesKey, event: &Recorded, now: Instant) -> SeriesMatch {
        let series = self.series_by_key.get(&key);
        let Some(series) = series.filter(|series| now - series.last_seen < SERIES_TIMEOUT) else {
            return SeriesMatch::None;
        };
        series.count = series.count.saturating_add(1);
        series.last_seen = now;
        series.unwritten = Some(Box::new(event.clone()));
        if series.count == 2 || now - series.last_written >= SERIES_WRITE_INTERVAL {
            SeriesMatch::Due(Box::new(series.repeat(key, event.clone())))
        } else {
            SeriesMatch::Counted
        }
    }

    pub(super) fn created(&mut self, key: SeriesKey, name: NamespacedName, count: i32, now: Instant) {
        let series = EventSeries {
            name,
            unwritten: None,
            count,
            written: count,
            last_seen: now,
            last_written: now,
        };
        self.series_by_key.insert(key, series);
    }

    pub(super) fn written(&mut self, repeat: &Repeat, now: Instant) {
        if let Some(series) = self.series_by_key.get(&repeat.key) {
            (series.written, series.last_written) = (repeat.count, now);
            series.unwritten = None;
        }
    }

    pub(super) fn forget(&mut self, key: SeriesKey) {
        self.series_by_key.remove(&key);
    }

    /// Returns the counts that must be written now, and removes ended series. With `all`, returns every unwritten count.
    pub(super) fn due(&mut self, now: Instant, all: bool) -> Vec<Repeat> {
        let due = self.series_by_key.iter().filter_map(|(key, series)| {
            let event = series.unwritten.as_deref()?;
            let is_due = all || now - series.last_written >= SERIES_WRITE_INTERVAL;
            is_due.then(|| series.repeat(*key, event.clone()))
        });
        let due = due.collect();
        self.series_by_key
            .retain(|series| now - series.last_seen < SERIES_TIMEOUT || series.count > series.written);
        due
    }
}

impl EventSeries {
    fn repeat(&self, key: SeriesKey, event: Recorded) -> Repeat {
        Repeat {
            key,
            name: self.name.clone(),
            event,
            count: self.count,
        }
    }
}
