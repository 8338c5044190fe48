//! Counting repeats: pure bookkeeping, without clock or I/O of its own.

use std::{collections::HashMap, time::Duration};

use jiff::Timestamp;
use tokio::time::Instant;

use super::{EventType, ObjectRef, Recorded};
use crate::ObjectName;

/// An event that was not repeated for so long is over; the next one begins anew. What client-go takes.
const OVER: Duration = Duration::from_mins(6);
/// The count of a running series is written so often. The first repeat is written at once.
pub(super) const REFRESH: Duration = Duration::from_secs(30);
/// How many different events are remembered; what client-go takes.
const REMEMBERED: usize = 4096;

/// What makes two events one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SeriesKey {
    pub(super) regarding: ObjectRef,
    pub(super) related: Option<ObjectRef>,
    pub(super) event_type: EventType,
    pub(super) reason: String,
    pub(super) action: String,
    pub(super) note: String,
}

/// A count that is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repeat {
    pub(super) key: SeriesKey,
    /// The event that became a series.
    pub(super) event: ObjectName,
    pub(super) count: i32,
    pub(super) last: Timestamp,
}

#[derive(Debug)]
struct Series {
    event: ObjectName,
    count: i32,
    /// The count that the API server has.
    written: i32,
    last: Timestamp,
    last_seen: Instant,
    last_written: Instant,
}

/// The events of the last minutes.
#[derive(Debug, Default)]
pub(super) struct SeriesBook {
    running: HashMap<SeriesKey, Series>,
}

/// What becomes of an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is to be created; [`SeriesBook::began`] makes it the head of a series.
    New,
    /// It repeats another, whose count is to be written now.
    Repeated(Box<Repeat>),
    /// It repeats another and was counted.
    Counted,
}

impl From<&Recorded> for SeriesKey {
    fn from(event: &Recorded) -> Self {
        Self {
            regarding: event.regarding.clone(),
            related: event.related.clone(),
            event_type: event.event_type,
            reason: event.reason.clone(),
            action: event.action.clone(),
            note: event.note.clone(),
        }
    }
}

impl SeriesBook {
    pub(super) fn observe(&mut self, key: &SeriesKey, time: Timestamp, now: Instant) -> Verdict {
        let Some(series) = self
            .running
            .get_mut(key)
            .filter(|series| now - series.last_seen < OVER)
        else {
            return Verdict::New;
        };
        series.count = series.count.saturating_add(1);
        (series.last, series.last_seen) = (time, now);
        if series.count == 2 || now - series.last_written >= REFRESH {
            Verdict::Repeated(Box::new(series.repeat(key)))
        } else {
            Verdict::Counted
        }
    }

    /// Remembers an event that was created; it is the first of its series.
    pub(super) fn began(&mut self, key: SeriesKey, event: ObjectName, time: Timestamp, now: Instant) {
        if self.running.len() >= REMEMBERED {
            let oldest = self
                .running
                .iter()
                .min_by_key(|(_, series)| series.last_seen)
                .map(|(key, _)| key.clone());
            oldest.and_then(|key| self.running.remove(&key));
        }
        let series = Series {
            event,
            count: 1,
            written: 1,
            last: time,
            last_seen: now,
            last_written: now,
        };
        self.running.insert(key, series);
    }

    /// Notes that the API server has the count.
    pub(super) fn written(&mut self, repeat: &Repeat, now: Instant) {
        if let Some(series) = self.running.get_mut(&repeat.key) {
            (series.written, series.last_written) = (repeat.count, now);
        }
    }

    pub(super) fn forget(&mut self, key: &SeriesKey) {
        self.running.remove(key);
    }

    /// Counts that are behind, and forgets what is over. With `all`, also those whose time has not come.
    pub(super) fn due(&mut self, now: Instant, all: bool) -> Vec<Repeat> {
        let behind =
            |series: &Series| series.count > series.written && (all || now - series.last_written >= REFRESH);
        let due = self
            .running
            .iter()
            .filter(|(_, series)| behind(series))
            .map(|(key, series)| series.repeat(key));
        let due = due.collect();
        self.running
            .retain(|_, series| now - series.last_seen < OVER || series.count > series.written);
        due
    }
}

impl Series {
    fn repeat(&self, key: &SeriesKey) -> Repeat {
        Repeat {
            key: key.clone(),
            event: self.event.clone(),
            count: self.count,
            last: self.last,
        }
    }
}
