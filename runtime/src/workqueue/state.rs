//! The rules of the queue, without the waiting: what is dirty, what is processed, what is due when.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use hashbrown::HashMap;
use tokio::time::Instant;

use super::Key;

/// What a queue holds at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueStats {
    /// Keys that wait for a worker, also those that one holds and that wait again when it is done.
    pub depth: usize,
    /// Keys that wait for their time.
    pub delayed: usize,
    /// Keys that workers hold.
    pub processing: usize,
    /// How long the workers have been at the keys that they hold, summed up.
    pub unfinished: Duration,
    /// How long the slowest of them has been at its key.
    pub longest_running: Duration,
}

/// When a key is due; the number tells keys of one moment apart and keeps their order.
type Due = (Instant, u64);

/// What is known of one key; a key of which nothing is known has no entry.
#[derive(Default)]
struct Entry {
    /// It wants attention, since then. It is in `order` unless a worker holds it.
    dirty: Option<Instant>,
    /// A worker holds it, since then.
    processing: Option<Instant>,
    /// It becomes dirty at that time.
    due: Option<Due>,
}

pub(super) struct State<K> {
    entries: HashMap<K, Entry>,
    /// The keys that are dirty and that no worker holds, longest waiting first.
    order: VecDeque<K>,
    /// The keys that become dirty later, one entry each, earliest first.
    delayed: BTreeMap<Due, K>,
    next_number: u64,
    /// How many entries are dirty.
    dirty: usize,
    /// How many entries a worker holds.
    processing: usize,
    shut_down: bool,
    /// Somebody waits until no worker holds a key.
    pub(super) draining: bool,
    /// A worker sleeps until the first delayed key is due.
    pub(super) has_timekeeper: bool,
}

impl<K: Key> State<K> {
    pub(super) fn new() -> Self {
        Self {
            entries: HashMap::new(),
            order: VecDeque::new(),
            delayed: BTreeMap::new(),
            next_number: 0,
            dirty: 0,
            processing: 0,
            shut_down: false,
            draining: false,
            has_timekeeper: false,
        }
    }

    /// Marks a key dirty. Answers whether it was not, and whether a worker can take it now.
    pub(super) fn add(&mut self, key: K, now: Instant) -> Added {
        if self.shut_down {
            return Added::No;
        }
        let entry = self.entries.entry(key.clone()).or_default();
        if entry.dirty.is_some() {
            return Added::No;
        }
        entry.dirty = Some(now);
        self.dirty += 1;
        if entry.processing.is_some() {
            return Added::WhileProcessing;
        }
        self.order.push_back(key);
        Added::Ready
    }

    /// Marks a key dirty at `at`, or at the earlier time that it has already. Answers whether it is now the first of all.
    pub(super) fn delay(&mut self, key: K, at: Instant) -> bool {
        if self.shut_down {
            return false;
        }
        let entry = self.entries.entry(key.clone()).or_default();
        if let Some(due) = entry.due {
            if due.0 <= at {
                return false;
            }
            self.delayed.remove(&due);
        }
        let due = (at, self.next_number);
        self.next_number += 1;
        entry.due = Some(due);
        self.delayed.insert(due, key);
        self.next_due() == Some(at)
    }

    /// Marks the keys dirty whose time has come, as if they had been added then. Answers how many workers can take one, and how
    /// many keys were not dirty before.
    pub(super) fn promote(&mut self, now: Instant) -> Promoted {
        let mut promoted = Promoted::default();
        while let Some(due) = self.delayed.first_entry().filter(|due| due.key().0 <= now) {
            let ((at, _), key) = due.remove_entry();
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.due = None;
            }
            match self.add(key, at) {
                Added::No => {}
                Added::WhileProcessing => promoted.added += 1,
                Added::Ready => {
                    promoted.added += 1;
                    promoted.ready += 1;
                }
            }
        }
        promoted
    }

    /// Hands out the key that waits longest, and for how long it did.
    pub(super) fn take(&mut self, now: Instant) -> Option<(K, Duration)> {
        let key = self.order.pop_front()?;
        let entry = self.entries.entry(key.clone()).or_default();
        let since = entry.dirty.take().unwrap_or(now);
        entry.processing = Some(now);
        self.dirty -= 1;
        self.processing += 1;
        Some((key, now.saturating_duration_since(since)))
    }

    /// Takes a key back from a worker. Answers how long the worker had it, or nothing if none had.
    pub(super) fn done(&mut self, key: &K, now: Instant) -> Option<Done> {
        let entry = self.entries.get_mut(key)?;
        let since = entry.processing.take()?;
        self.processing -= 1;
        let again = entry.dirty.is_some();
        if again {
            self.order.push_back(key.clone());
        } else if entry.due.is_none() {
            self.entries.remove(key);
        }
        Some(Done {
            worked: now.saturating_duration_since(since),
            again,
        })
    }

    /// Takes nothing more, and gives up what is delayed.
    pub(super) fn shut_down(&mut self) {
        self.shut_down = true;
        self.delayed.clear();
        self.entries.retain(|_, entry| {
            entry.due = None;
            entry.dirty.is_some() || entry.processing.is_some()
        });
    }

    pub(super) fn is_shut_down(&self) -> bool {
        self.shut_down
    }

    pub(super) fn is_idle(&self) -> bool {
        self.processing == 0
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.delayed.first_key_value().map(|((at, _), _)| *at)
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    pub(super) fn processing(&self) -> impl Iterator<Item = &K> {
        self.entries
            .iter()
            .filter(|(_, entry)| entry.processing.is_some())
            .map(|(key, _)| key)
    }

    pub(super) fn stats(&self, now: Instant) -> QueueStats {
        let running = self.entries.values().filter_map(|entry| entry.processing);
        let ages = running.map(|since| now.saturating_duration_since(since));
        let (unfinished, longest_running) = ages
            .take(self.processing)
            .fold((Duration::ZERO, Duration::ZERO), |(sum, longest), age| {
                (sum + age, longest.max(age))
            });
        QueueStats {
            depth: self.dirty,
            delayed: self.delayed.len(),
            processing: self.processing,
            unfinished,
            longest_running,
        }
    }
}

/// What became of an added key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Added {
    /// It was dirty already, or the queue is shut down.
    No,
    /// A worker holds it: it waits again when that one is done.
    WhileProcessing,
    /// A worker can take it.
    Ready,
}

/// What became of the keys whose time came.
#[derive(Debug, Default)]
pub(super) struct Promoted {
    pub(super) added: usize,
    pub(super) ready: usize,
}

/// What a worker gave back.
pub(super) struct Done {
    pub(super) worked: Duration,
    /// The key was added meanwhile and waits again.
    pub(super) again: bool,
}
