//! Combining similar events: those that differ only in their note.

use std::{collections::HashSet, time::Duration};

use tokio::time::Instant;

use super::{EventType, ObjectRef, Recorded, recent::Recent, recorder::cut_note, series::SeriesKey};

/// With so many different notes events are combined; what client-go takes.
const MANY: usize = 10;
/// After so long without another the count begins anew; what client-go takes.
const WINDOW: Duration = Duration::from_mins(10);

/// What events have in common that are similar.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SimilarKey {
    pub(super) regarding: ObjectRef,
    pub(super) event_type: EventType,
    pub(super) reason: String,
}

#[derive(Debug)]
struct Group {
    notes: HashSet<String>,
    last: Instant,
}

/// Which notes similar events had.
#[derive(Debug, Default)]
pub(super) struct Similar {
    groups: Recent<SimilarKey, Group>,
}

impl Similar {
    /// Says what series an event belongs to; of those with too many different notes it is one common to all, and their notes say so.
    pub(super) fn combine(&mut self, mut event: Recorded, now: Instant) -> (SeriesKey, Recorded) {
        let key = SimilarKey {
            regarding: event.regarding.clone(),
            event_type: event.event_type,
            reason: event.reason.clone(),
        };
        let known = self.groups.get(&key).filter(|group| now - group.last <= WINDOW);
        let Some(group) = known else {
            let notes = HashSet::from([event.note.clone()]);
            self.groups.insert(key, Group { notes, last: now });
            return (SeriesKey::of(&event), event);
        };
        group.last = now;
        // One short of many is as much as must be known.
        if group.notes.contains(&event.note) || group.notes.len() + 1 < MANY {
            group.notes.insert(event.note.clone());
            return (SeriesKey::of(&event), event);
        }
        event.note = cut_note(format!("(combined from similar events): {}", event.note));
        (SeriesKey::Combined(key), event)
    }
}
