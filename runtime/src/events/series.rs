//! Counting repeats.

use std::{
    hash::{DefaultHasher, Hash, Hasher as _},
    time::Duration,
};

use tokio::time::Instant;

use super::{Recorded, aggregator::SimilarKey, correlator::MAX_ENTRIES_PER_SHARD};
use crate::{NamespacedName, lru::LruMap};

/// An event that was not repeated for so long is over; the next one begins anew. What client-go takes.
const OVER: Duration = Duration::from_mins(6);
/// The count of a running series is written so often. The first repeat is written at once.
pub(super) const REFRESH: Duration = Duration::from_secs(30);

/// What events have in common, as a digest: thousands are remembered, and of 64 bits no two of thousands are the same.
pub(super) fn digest(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// What makes events one series: they are the same, or among too many that are similar.
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
            time: _,
        } = event;
        Self(digest((regarding, related, event_type, reason, action, note)))
    }

    pub(super) fn combined(similar: SimilarKey) -> Self {
        Self(digest(similar))
    }
}

/// A count that is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repeat {
    pub(super) key: SeriesKey,
    /// The name of the event that became a series.
    pub(super) name: NamespacedName,
    /// The last repeat.
    pub(super) event: Recorded,
    pub(super) count: i32,
}

#[derive(Debug)]
struct Series {
    name: NamespacedName,
    /// The last repeat, while it is not written: nobody needs it afterwards, and most events are not repeated.
    behind: Option<Box<Recorded>>,
    count: i32,
    /// The count that the API server has.
    written: i32,
    last_seen: Instant,
    last_written: Instant,
}

/// The events of the last minutes.
#[derive(Debug)]
pub(super) struct SeriesBook {
    running: LruMap<SeriesKey, Series>,
}

/// Whether an event repeats another.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// It does not.
    None,
    /// It does, and the count is to be written now.
    Due(Box<Repeat>),
    /// It does, and was counted.
    Counted,
}

impl Default for SeriesBook {
    fn default() -> Self {
        Self {
            running: LruMap::new(MAX_ENTRIES_PER_SHARD),
        }
    }
}

impl SeriesBook {
    pub(super) fn observe(&mut self, key: SeriesKey, event: &Recorded, now: Instant) -> Head {
        let series = self.running.get(&key);
        let Some(series) = series.filter(|series| now - series.last_seen < OVER) else {
            return Head::None;
        };
        series.count = series.count.saturating_add(1);
        series.last_seen = now;
        series.behind = Some(Box::new(event.clone()));
        if series.count == 2 || now - series.last_written >= REFRESH {
            Head::Due(Box::new(series.repeat(key, event.clone())))
        } else {
            Head::Counted
        }
    }

    pub(super) fn began(&mut self, key: SeriesKey, name: NamespacedName, count: i32, now: Instant) {
        let series = Series {
            name,
            behind: None,
            count,
            written: count,
            last_seen: now,
            last_written: now,
        };
        self.running.insert(key, series);
    }

    pub(super) fn written(&mut self, repeat: &Repeat, now: Instant) {
        if let Some(series) = self.running.get(&repeat.key) {
            (series.written, series.last_written) = (repeat.count, now);
            series.behind = None;
        }
    }

    pub(super) fn forget(&mut self, key: SeriesKey) {
        self.running.remove(&key);
    }

    /// Counts that are behind, and forgets what is over. With `all`, also those whose time has not come.
    pub(super) fn due(&mut self, now: Instant, all: bool) -> Vec<Repeat> {
        let due = self.running.iter().filter_map(|(key, series)| {
            let event = series.behind.as_deref()?;
            let is_time = all || now - series.last_written >= REFRESH;
            is_time.then(|| series.repeat(*key, event.clone()))
        });
        let due = due.collect();
        self.running
            .retain(|series| now - series.last_seen < OVER || series.count > series.written);
        due
    }
}

impl Series {
    fn repeat(&self, key: SeriesKey, event: Recorded) -> Repeat {
        Repeat {
            key,
            name: self.name.clone(),
            event,
            count: self.count,
        }
    }
}
