//! Combining similar events: those that differ only in their note.

use std::{collections::HashSet, time::Duration};

use tokio::time::Instant;

use super::{
    Recorded,
    correlator::MAX_ENTRIES_PER_SHARD,
    recorder::cut_note,
    series::{SeriesKey, digest},
};
use crate::lru::LruMap;

/// With so many different notes events are combined; what client-go takes.
const MANY: usize = 10;
/// After so long without another the count begins anew; what client-go takes.
const WINDOW: Duration = Duration::from_mins(10);

/// What events have in common that are similar: object, type, reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct SimilarKey(u64);

#[derive(Debug)]
struct Group {
    notes: HashSet<u64>,
    last: Instant,
}

/// Which notes similar events had.
#[derive(Debug)]
pub(super) struct Similar {
    groups: LruMap<SimilarKey, Group>,
}

impl Default for Similar {
    fn default() -> Self {
        Self {
            groups: LruMap::new(MAX_ENTRIES_PER_SHARD),
        }
    }
}

impl Similar {
    /// Says what series an event belongs to; of those with too many different notes it is one common to all, and their notes say so.
    pub(super) fn combine(&mut self, mut event: Recorded, now: Instant) -> (SeriesKey, Recorded) {
        let key = SimilarKey(digest((&event.regarding, event.event_type, &event.reason)));
        let note = digest(&event.note);
        let known = self.groups.get(&key).filter(|group| now - group.last <= WINDOW);
        let Some(group) = known else {
            let notes = HashSet::from([note]);
            self.groups.insert(key, Group { notes, last: now });
            return (SeriesKey::of(&event), event);
        };
        group.last = now;
        // One short of many is as much as must be known.
        if group.notes.contains(&note) || group.notes.len() + 1 < MANY {
            group.notes.insert(note);
            return (SeriesKey::of(&event), event);
        }
        event.note = cut_note(format!("(combined from similar events): {}", event.note));
        (SeriesKey::combined(key), event)
    }
}
