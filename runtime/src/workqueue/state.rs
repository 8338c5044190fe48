//! The rules of the queue, without the waiting: what is dirty, what is held, parked, due when.

use std::time::Duration;

use super::{
    Key, Priority,
    due::DueTimes,
    keys::{KeyHash, NONE, Slot},
    limits::QueueLimits,
    ready::Ready,
    slots::{DIRTY, HELD, PARKED, Slots},
    stats::{Depths, QueueStats},
};

/// An empty queue gives its memory back when it was made for more keys than this.
const KEPT: usize = 4096;

/// All times are nanoseconds since the queue was made. A key of which nothing is known has no slot.
pub(super) struct State<K> {
    slots: Slots<K>,
    ready: Ready,
    /// The keys that workers hold.
    held: Vec<Held>,
    /// The keys that become dirty later, once each.
    delayed: DueTimes,
    /// The keys that workers put aside.
    parked: DueTimes,
    /// How many keys are dirty, by priority.
    depths: Depths,
    shut_down: bool,
    /// Somebody waits until no worker holds a key.
    pub(super) draining: bool,
}

/// A key that a worker holds.
struct Held {
    slot: Slot,
    since: u64,
    /// With which it was handed out.
    priority: Priority,
}

impl<K: Key> State<K> {
    pub(super) fn new(is_timed: bool, limits: QueueLimits) -> Self {
        Self {
            slots: Slots::new(is_timed, limits),
            ready: Ready::default(),
            held: Vec::new(),
            delayed: DueTimes::default(),
            parked: DueTimes::default(),
            depths: Depths::default(),
            shut_down: false,
            draining: false,
        }
    }

    /// Has the memory at hand that adding keys of these hashes takes.
    pub(super) fn fetch(&self, hashes: impl Iterator<Item = KeyHash>) {
        self.slots.fetch(hashes);
    }

    /// Marks a key dirty. Without a priority: with that of the worker who holds it, or else the normal one.
    pub(super) fn add(&mut self, hash: KeyHash, key: K, priority: Option<Priority>, now: u64) -> Added {
        if self.shut_down {
            return Added::No;
        }
        let slot = self.slots.find_or_insert(hash, key);
        let priority = priority.unwrap_or_else(|| self.held_priority(slot));
        self.mark(slot, priority, now)
    }

    /// Marks a key dirty at `at`, or at the earlier time that it has already, with the priority of [`add`](Self::add). Answers whether
    /// it is now the first of all.
    pub(super) fn delay(&mut self, hash: KeyHash, key: K, priority: Option<Priority>, at: u64) -> bool {
        if self.shut_down {
            return false;
        }
        let slot = self.slots.find_or_insert(hash, key);
        let priority = priority.unwrap_or_else(|| self.held_priority(slot));
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
                .hasten(position, at, |slot, position| slots.set_due(slot, position));
        }
        self.next_due() == Some(at)
    }

    /// Does what was to be done by now, as if it had been done in time.
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

    /// Hands out the key that comes next, and for how long it waited.
    #[inline]
    pub(super) fn take(&mut self, now: u64) -> Option<(K, Duration)> {
        let slot = self.ready.pop(&mut self.slots)?;
        let priority = self.slots.priority(slot);
        let since = self.slots.since(slot);
        self.depths.remove(priority);
        self.slots.set_flags(slot, HELD);
        #[expect(clippy::cast_possible_truncation, reason = "as many as there are slots")]
        self.slots.set_link(slot, self.held.len() as u32);
        self.held.push(Held {
            slot,
            since: now,
            priority,
        });
        let key = self.slots.key(slot)?.clone();
        Some((key, Duration::from_nanos(now.saturating_sub(since))))
    }

    /// Takes a key back from a worker. Answers how long the worker had it, or nothing if none had.
    pub(super) fn done(&mut self, hash: impl FnOnce() -> KeyHash, key: &K, now: u64) -> Option<Done> {
        let slot = self.find_held(hash, key)?;
        let held = self.let_go(slot)?;
        let again = self.slots.flags(slot) == DIRTY;
        if again {
            self.ready.push(&mut self.slots, slot);
        } else {
            self.drop_unknown(slot);
        }
        Some(Done {
            worked: Duration::from_nanos(now.saturating_sub(held.since)),
            again,
        })
    }

    /// Takes a key back from a worker and puts it aside until `at`. Nothing if no worker had it, or the queue is shut down: then it is
    /// as if it was [`done`](Self::done). Otherwise, whether its time is now the first of all.
    pub(super) fn park(&mut self, hash: KeyHash, key: &K, at: u64) -> Option<bool> {
        let slot = self.slots.find(hash, key)?;
        if self.shut_down {
            return None;
        }
        let held = self.let_go(slot)?;
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

    /// Makes a parked key wait for a worker again. Nothing if it is not parked.
    pub(super) fn unpark(&mut self, hash: KeyHash, key: &K, now: u64) -> Option<Added> {
        let slot = self.slots.find(hash, key)?;
        (self.slots.flags(slot) & PARKED != 0).then(|| self.release_parked(slot, now))
    }

    /// Takes nothing more, and gives up what is delayed or parked. Answers the keys of which nothing is known any more.
    pub(super) fn shut_down(&mut self) -> Vec<K> {
        self.shut_down = true;
        let mut dropped = Vec::new();
        for slot in self.parked.take() {
            if self.slots.flags(slot) & DIRTY != 0 {
                self.depths.remove(self.slots.priority(slot));
            }
            self.slots.set_flags(slot, 0);
            dropped.extend(self.drop_unknown(slot));
        }
        for slot in self.delayed.take() {
            self.slots.set_due(slot, NONE);
            dropped.extend(self.drop_unknown(slot));
        }
        dropped
    }

    pub(super) fn is_shut_down(&self) -> bool {
        self.shut_down
    }

    /// Whether no worker holds a key.
    pub(super) fn is_idle(&self) -> bool {
        self.held.is_empty()
    }

    /// Whether somebody waited for that.
    pub(super) fn is_drained(&self) -> bool {
        self.draining && self.is_idle()
    }

    /// When something becomes due.
    pub(super) fn next_due(&self) -> Option<u64> {
        match (self.delayed.first(), self.parked.first()) {
            (Some(delayed), Some(parked)) => Some(delayed.at.min(parked.at)),
            (delayed, parked) => delayed.or(parked).map(|due| due.at),
        }
    }

    /// How many keys a worker can take.
    pub(super) fn len(&self) -> usize {
        self.ready.len()
    }

    pub(super) fn processing(&self) -> impl Iterator<Item = &K> {
        self.held.iter().filter_map(|held| self.slots.key(held.slot))
    }

    pub(super) fn stats(&self, now: u64) -> QueueStats {
        let timed = self.held.iter().filter(|_| self.slots.is_timed());
        let ages = timed.map(|held| now.saturating_sub(held.since));
        let (unfinished, longest) = ages.fold((0, 0), |(sum, longest): (u64, u64), age| {
            (sum.saturating_add(age), longest.max(age))
        });
        QueueStats {
            depth: self.depths.sum(),
            depths: self.depths.clone(),
            delayed: self.delayed.len(),
            parked: self.parked.len(),
            processing: self.held.len(),
            unfinished: Duration::from_nanos(unfinished),
            longest_running: Duration::from_nanos(longest),
        }
    }

    #[cfg(test)]
    pub(super) fn slots_made(&self) -> usize {
        self.slots.capacity()
    }

    /// The slot of a key, if a worker holds it.
    fn find_held(&self, hash: impl FnOnce() -> KeyHash, key: &K) -> Option<Slot> {
        /// So many are looked through faster than one is found by its hash.
        const FEW: usize = 4;
        if self.held.len() > FEW {
            return self.slots.find(hash(), key);
        }
        let mut slots = self.held.iter().map(|held| held.slot);
        slots.find(|&slot| self.slots.key(slot) == Some(key))
    }

    fn held_priority(&self, slot: Slot) -> Priority {
        if self.slots.flags(slot) & HELD == 0 {
            return Priority::NORMAL;
        }
        self.held[self.slots.link(slot) as usize].priority
    }

    #[inline]
    fn mark(&mut self, slot: Slot, priority: Priority, now: u64) -> Added {
        let flags = self.slots.flags(slot);
        if flags & DIRTY != 0 {
            self.raise(slot, priority);
            return Added::No;
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
            return Added::Kept;
        }
        self.ready.push(&mut self.slots, slot);
        Added::Ready
    }

    /// Gives a dirty key a higher priority.
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
        // It stands in a line, out of the middle of which nothing can be taken: it leaves an empty slot there.
        let new = self.slots.relocate(slot);
        if self.slots.due(new) != NONE {
            self.delayed.relocated(self.slots.due(new), new);
        }
        self.slots.set_priority(new, priority);
        self.ready.left(&mut self.slots, old);
        self.ready.push(&mut self.slots, new);
    }

    fn release_delayed(&mut self, slot: Slot, now: u64) -> Added {
        let slots = &mut self.slots;
        self.delayed
            .remove(slots.due(slot), |slot, position| slots.set_due(slot, position));
        slots.set_due(slot, NONE);
        let priority = slots.due_priority(slot);
        self.mark(slot, priority, now)
    }

    fn release_parked(&mut self, slot: Slot, now: u64) -> Added {
        let slots = &mut self.slots;
        self.parked
            .remove(slots.link(slot), |slot, position| slots.set_link(slot, position));
        let flags = slots.flags(slot) & !PARKED;
        slots.set_flags(slot, flags);
        if flags & DIRTY == 0 {
            return self.mark(slot, self.slots.priority(slot), now);
        }
        self.ready.push(slots, slot);
        Added::Again
    }

    /// The worker holds the key no longer.
    fn let_go(&mut self, slot: Slot) -> Option<Held> {
        let flags = self.slots.flags(slot);
        if flags & HELD == 0 {
            return None;
        }
        self.slots.set_flags(slot, flags & !HELD);
        let i = self.slots.link(slot);
        let held = self.held.swap_remove(i as usize);
        if let Some(moved) = self.held.get(i as usize) {
            self.slots.set_link(moved.slot, i);
        }
        Some(held)
    }

    /// Drops a key if nothing is known of it any more.
    fn drop_unknown(&mut self, slot: Slot) -> Option<K> {
        let key = self.slots.remove_unknown(slot);
        if self.slots.is_empty() && self.slots.capacity() > KEPT {
            self.slots.reset();
            self.ready = Ready::default();
        }
        key
    }
}

/// What became of an added key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Added {
    /// It was dirty already, or the queue is shut down.
    No,
    /// It became dirty; a worker holds it, or it is parked.
    Kept,
    /// It became dirty, and a worker can take it.
    Ready,
    /// It was dirty, and now a worker can take it.
    Again,
}

impl Added {
    pub(super) fn is_new(self) -> bool {
        matches!(self, Self::Kept | Self::Ready)
    }

    pub(super) fn is_ready(self) -> bool {
        matches!(self, Self::Ready | Self::Again)
    }
}

/// What became of the keys whose time came.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Promoted {
    pub(super) added: usize,
    pub(super) ready: usize,
}

impl Promoted {
    pub(super) fn count(&mut self, added: Added) {
        self.added += usize::from(added.is_new());
        self.ready += usize::from(added.is_ready());
    }
}

/// What a worker gave back.
#[derive(Clone, Copy)]
pub(super) struct Done {
    pub(super) worked: Duration,
    /// The key was added meanwhile and waits again.
    pub(super) again: bool,
}
