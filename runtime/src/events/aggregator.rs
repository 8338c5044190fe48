//! Aggregates similar events, those that differ only in their note: client-go's EventAggregator.

use std::{collections::HashSet, time::Duration};

use tokio::time::Instant;

use super::{
    Recorded,
    correlator::MAX_ENTRIES_PER_SHARD,
    recorder::truncate_note,
    series::{SeriesKey, digest},
};
use crate::lru::LruMap;

/// From this number of different notes on, events are aggregated; client-go's default.
const MAX_NOTES: usize = 10;
/// After this time without a similar event, counting restarts; client-go's default.
const AGGREGATION_INTERVAL: Duration = Duration::from_mins(10);

/// A hash of what similar events have in common: object, type, reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct AggregateKey(u64);

#[derive(Debug)]
struct SimilarEvents {
    notes: HashSet<u64>,
    last: Instant,
}

/// The different notes of similar events.
#[derive(Debug)]
pub(super) struct EventAggregator {
    groups: LruMap<AggregateKey, SimilarEvents>,
}

impl Default for EventAggregator {
    fn default() -> Self {
        Self {
            groups: LruMap::new(MAX_ENTRIES_PER_SHARD),
        }
    }
}

impl EventAggregator {
    /// Returns the series of an event. Similar events with too many different notes share one series, and their notes have a prefix.
    pub(super) fn aggregate(&mut self, mut event: Recorded, now: Instant) -> (SeriesKey, Recorded) {
        let key = AggregateKey(digest((&event.regarding, event.event_type, &event.reason)));
        let note = digest(&event.note);
        let known = self
            .groups
            .get(&key)
            .filter(|group| now - group.last <= AGGREGATION_INTERVAL);
        let Some(group) = known else {
            let notes = HashSet::from([note]);
            self.groups.insert(key, SimilarEvents { notes, last: now });
            return (SeriesKey::of(&event), event);
        };
        group.last = now;
        // No need to remember more notes than that.
        if group.notes.contains(&note) || group.notes.len() + 1 < MAX_NOTES {
            group.notes.insert(note);
            return (SeriesKey::of(&event), event);
        }
        event.note = truncate_note(format!("(combined from similar events): {}", event.note));
        (SeriesKey::of_aggregate(key), event)
    }
}
