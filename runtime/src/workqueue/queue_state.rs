//! The rules of the queue, without locks and waiting: which keys are dirty, processing, parked, delayed.

use std::time::Duration;

use super::{
    Key, Priority,
    due_times::DueTimes,
    key_states::{DIRTY, KeyStates, PARKED, PROCESSING},
    key_table::{KeyHash, NONE, Slot},
    ready_queue::ReadyQueue,
    stats::{Depths, QueueStats},
};

/// An empty queue frees its memory if it has room for more keys than this.
const MAX_KEPT_CAPACITY: usize = 4096;

/// The state of a work queue. All times are nanoseconds since the queue was created. A key without state has no slot.
pub(super) struct QueueState<K> {
    slots: KeyStates<K>,
    ready: ReadyQueue,
    /// The keys that workers process.
    processing: Vec<ProcessedKey>,
    /// The keys that become dirty at a later time, once each.
    delayed: DueTimes,
    /// The parked keys.
    parked: DueTimes,
    /// The number of dirty keys by priority.
    depths: Depths,
    shut_down: bool,
    /// A call waits until no worker processes a key.
    pub(super) draining: bool,
}

/// A key that a worker processes.
struct ProcessedKey {
    slot: Slot,
    since: u64,
    /// The priority with which it was handed out.
    priority: Priority,
}

impl<K: Key> QueueState<K> {
    pub(super) fn new(is_timed: bool) -> Self {
        Self {
            slots: KeyStates::new(is_timed),
            ready: ReadyQueue::default(),
            processing: Vec::new(),
            delayed: DueTimes::default(),
            parked: DueTimes::default(),
            depths: Depths::default(),
            shut_down: false,
            draining: false,
        }
    }

    /// Marks a key dirty. Without a priority it gets the one with which it is processed, else the normal one.
    pub(super) fn add(&mut self, hash: KeyHash, key: K, priority: Option<Priority>, now: u64) -> AddOutcome {
        if self.shut_down {
            return AddOutcome::Unchanged;
        }
        let slot = self.slots.find_or_insert(hash, key);
        let priority = priority.unwrap_or_else(|| self.processing_priority(slot));
        self.mark(slot, priority, now)
    }

    /// Makes a key due at `at`, or at its earlier due time, with the priority of [`add`](Self::add). Returns whether it is the first due key
    /// now.
    pub(super) fn delay(&mut self, hash: KeyHash, key: K, priority: Option<Priority>, at: u64) -> bool {
        if self.shut_down {
            return false;
        }
        let slot = self.slots.find_or_insert(hash, key);
        let priority = priority.unwrap_or_else(|| self.processing_priority(slot));
        let (position, slots) = (self.slots.due(slot), &mut self.slots);
        if position == NONE {
            slots.set_due_priority(slot, priority);
            self.delayed
                .push(at, slot, |slot, position| slots.set_due(slot, position));
        } else {
            slots.set_due_priority(slot, priority.max(slots.due_priority(slot)));
            if self.delayed.at(position) <= at {
                return false;
            }
            self.delayed
                .decrease(position, at, |slot, position| slots.set_due(slot, position));
        }
        self.next_due() == Some(at)
    }

    /// Queues all keys that are due, in the order of their times.
    pub(super) fn promote(&mut self, now: u64) -> Promoted {
        let mut promoted = Promoted::default();
        while let Some(at) = self.next_due().filter(|&at| at <= now) {
            let added = match self.delayed.first().filter(|due| due.at == at) {
                Some(due) => self.release_delayed(due.slot, at),
                None => match self.parked.first() {
                    Some(due) => self.release_parked(due.slot, at),
                    None => break,
                },
            };
            promoted.count(added);
        }
        promoted
    }

    /// Takes the next key. Returns it and how long it was queued.
    #[inline]
    pub(super) fn take(&mut self, now: u64) -> Option<(K, Duration)> {
        let slot = self.ready.pop(&mut self.slots)?;
        let priority = self.slots.priority(slot);
        let since = self.slots.since(slot);
        self.depths.remove(priority);
        self.slots.set_flags(slot, PROCESSING);
        #[expect(clippy::cast_possible_truncation, reason = "as many as there are slots")]
        self.slots.set_link(slot, self.processing.len() as u32);
        self.processing.push(ProcessedKey {
            slot,
            since: now,
            priority,
        });
        let key = self.slots.key(slot)?.clone();
        Some((key, Duration::from_nanos(now.saturating_sub(since))))
    }

    /// Ends the processing of a key. Returns `None` if no worker processes it.
    pub(super) fn done(&mut self, hash: impl FnOnce() -> KeyHash, key: &K, now: u64) -> Option<DoneOutcome> {
        let slot = self.find_processing(hash, key)?;
        let held = self.stop_processing(slot)?;
        let is_requeued = self.slots.flags(slot) == DIRTY;
        if is_requeued {
            self.ready.push(&mut self.slots, slot);
        } else {
            self.drop_if_idle(slot);
        }
        Some(DoneOutcome {
            worked: Duration::from_nanos(now.saturating_sub(held.since)),
            is_requeued,
        })
    }

    /// Ends the processing of a key and parks it until `at`. Returns `None` if no worker processes it or the queue is shut down; otherwise
    /// whether it is the first due key now.
    pub(super) fn park(&mut self, hash: KeyHash, key: &K, at: u64) -> Option<bool> {
        let slot = self.slots.find(hash, key)?;
        if self.shut_down {
            return None;
        }
        let held = self.stop_processing(slot)?;
        let flags = self.slots.flags(slot);
        if flags & DIRTY == 0 {
            self.slots.set_priority(slot, held.priority);
        }
        self.slots.set_flags(slot, flags | PARKED);
        self.raise(slot, held.priority);
        let slots = &mut self.slots;
        self.parked
            .push(at, slot, |slot, position| slots.set_link(slot, position));
        Some(self.next_due() == Some(at))
    }

    /// Queues a parked key. Returns `None` if it is not parked.
    pub(super) fn unpark(&mut self, hash: KeyHash, key: &K, now: u64) -> Option<AddOutcome> {
        let slot = self.slots.find(hash, key)?;
        (self.slots.flags(slot) & PARKED != 0).then(|| self.release_parked(slot, now))
    }

    /// Shuts down: drops delayed and parked keys, and returns those without state, to be freed outside the lock.
    pub(super) fn shut_down(&mut self) -> Vec<K> {
        self.shut_down = true;
        let mut dropped = Vec::new();
        for slot in self.parked.take() {
            if self.slots.flags(slot) & DIRTY != 0 {
                self.depths.remove(self.slots.priority(slot));
            }
            self.slots.set_flags(slot, 0);
            dropped.extend(self.drop_if_idle(slot));
        }
        for slot in self.delayed.take() {
            self.slots.set_due(slot, NONE);
            dropped.extend(self.drop_if_idle(slot));
        }
        dropped
    }

    pub(super) fn is_shut_down(&self) -> bool {
        self.shut_down
    }

    /// Whether no worker processes a key.
    pub(super) fn is_idle(&self) -> bool {
        self.processing.is_empty()
    }

    /// Whether a drain is waited for and complete.
    pub(super) fn is_drained(&self) -> bool {
        self.draining && self.is_idle()
    }

    /// The first due time of delayed and parked keys.
    pub(super) fn next_due(&self) -> Option<u64> {
        match (self.delayed.first(), self.parked.first()) {
            (Some(delayed), Some(parked)) => Some(delayed.at.min(parked.at)),
            (delayed, parked) => delayed.or(parked).map(|due| due.at),
        }
    }

    /// The number of queued keys.
    pub(super) fn len(&self) -> usize {
        self.ready.len()
    }

    pub(super) fn processing(&self) -> impl Iterator<Item = &K> {
        self.processing
            .iter()
            .filter_map(|held| self.slots.key(held.slot))
    }

    pub(super) fn stats(&self, now: u64) -> QueueStats {
        let timed = self.processing.iter().filter(|_| self.slots.is_timed());
        let ages = timed.map(|held| now.saturating_sub(held.since));
        let (unfinished, longest) = ages.fold((0, 0), |(sum, longest): (u64, u64), age| {
            (sum.saturating_add(age), longest.max(age))
        });
        QueueStats {
            depth: self.depths.sum(),
            depths: self.depths.clone(),
            delayed: self.delayed.len(),
            parked: self.parked.len(),
            processing: self.processing.len(),
            unfinished: Duration::from_nanos(unfinished),
            longest_running: Duration::from_nanos(longest),
        }
    }

    #[cfg(test)]
    pub(super) fn slot_capacity(&self) -> usize {
        self.slots.capacity()
    }

    /// Returns the slot of a key that may be processing.
    fn find_processing(&self, hash: impl FnOnce() -> KeyHash, key: &K) -> Option<Slot> {
        /// Up to this number a linear search is faster than hashing.
        const MAX_LINEAR_SEARCH: usize = 4;
        if self.processing.len() > MAX_LINEAR_SEARCH {
            return self.slots.find(hash(), key);
        }
        let mut slots = self.processing.iter().map(|held| held.slot);
        slots.find(|&slot| self.slots.key(slot) == Some(key))
    }

    fn processing_priority(&self, slot: Slot) -> Priority {
        if self.slots.flags(slot) & PROCESSING == 0 {
            return Priority::NORMAL;
        }
        self.processing[self.slots.link(slot) as usize].priority
    }

    #[inline]
    fn mark(&mut self, slot: Slot, priority: Priority, now: u64) -> AddOutcome {
        let flags = self.slots.flags(slot);
        if flags & DIRTY != 0 {
            self.raise(slot, priority);
            return AddOutcome::Unchanged;
        }
        let priority = if flags & PARKED == 0 {
            priority
        } else {
            priority.max(self.slots.priority(slot))
        };
        self.slots.set_priority(slot, priority);
        self.slots.set_flags(slot, flags | DIRTY);
        self.slots.set_since(slot, now);
        self.depths.add(priority);
        if flags != 0 {
            return AddOutcome::Dirty;
        }
        self.ready.push(&mut self.slots, slot);
        AddOutcome::Queued
    }

    /// Raises the priority of a dirty key.
    fn raise(&mut self, slot: Slot, priority: Priority) {
        let (flags, old) = (self.slots.flags(slot), self.slots.priority(slot));
        if flags & DIRTY == 0 || priority <= old {
            return;
        }
        self.depths.remove(old);
        self.depths.add(priority);
        if flags != DIRTY {
            self.slots.set_priority(slot, priority);
            return;
        }
        // Nothing can be removed from the middle of a line: the key moves to another slot and leaves an empty one.
        let new = self.slots.relocate(slot);
        if self.slots.due(new) != NONE {
            self.delayed.relocated(self.slots.due(new), new);
        }
        self.slots.set_priority(new, priority);
        self.ready.note_moved(&mut self.slots, old);
        self.ready.push(&mut self.slots, new);
    }

    fn release_delayed(&mut self, slot: Slot, now: u64) -> AddOutcome {
        let slots = &mut self.slots;
        self.delayed
            .remove(slots.due(slot), |slot, position| slots.set_due(slot, position));
        slots.set_due(slot, NONE);
        let priority = slots.due_priority(slot);
        self.mark(slot, priority, now)
    }

    fn release_parked(&mut self, slot: Slot, now: u64) -> AddOutcome {
        let slots = &mut self.slots;
        self.parked
            .remove(slots.link(slot), |slot, position| slots.set_link(slot, position));
        let flags = slots.flags(slot) & !PARKED;
        slots.set_flags(slot, flags);
        if flags & DIRTY == 0 {
            return self.mark(slot, self.slots.priority(slot), now);
        }
        self.ready.push(slots, slot);
        AddOutcome::Requeued
    }

    /// Removes a key from those that workers process.
    fn stop_processing(&mut self, slot: Slot) -> Option<ProcessedKey> {
        let flags = self.slots.flags(slot);
        if flags & PROCESSING == 0 {
            return None;
        }
        self.slots.set_flags(slot, flags & !PROCESSING);
        let i = self.slots.link(slot);
        let held = self.processing.swap_remove(i as usize);
        if let Some(moved) = self.processing.get(i as usize) {
            self.slots.set_link(moved.slot, i);
        }
        Some(held)
    }

    /// Removes a key if it has no state any more.
    fn drop_if_idle(&mut self, slot: Slot) -> Option<K> {
        let key = self.slots.remove_if_idle(slot);
        if self.slots.is_empty() && self.slots.capacity() > MAX_KEPT_CAPACITY {
            self.slots = KeyStates::new(self.slots.is_timed());
            self.ready = ReadyQueue::default();
        }
        key
    }
}

/// The effect of adding a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddOutcome {
    /// None: it was dirty already, or the queue is shut down.
    Unchanged,
    /// It became dirty, but it is processing or parked.
    Dirty,
    /// It became dirty and is queued.
    Queued,
    /// It was dirty and is queued now.
    Requeued,
}

impl AddOutcome {
    pub(super) fn is_new(self) -> bool {
        matches!(self, Self::Dirty | Self::Queued)
    }

    pub(super) fn is_ready(self) -> bool {
        matches!(self, Self::Queued | Self::Requeued)
    }
}

/// The effect of queueing keys that are due.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Promoted {
    pub(super) added: usize,
    pub(super) ready: usize,
}

impl Promoted {
    pub(super) fn count(&mut self, added: AddOutcome) {
        self.added += usize::from(added.is_new());
        self.ready += usize::from(added.is_ready());
    }
}

/// The end of the processing of a key.
#[derive(Clone, Copy)]
pub(super) struct DoneOutcome {
    pub(super) worked: Duration,
    /// The key was added in the meantime and is queued again.
    pub(super) is_requeued: bool,
}
