//! The due times of keys, earliest first. Most are added in their order, because delays are alike: those are in a sorted run. The others
//! are in a heap.

use super::{due_heap::DueHeap, key_table::Slot, sorted_run::SortedRun};

/// A key's due time, in nanoseconds since the queue was created. The sequence number keeps the order of equal times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Due {
    pub(super) at: u64,
    sequence: u32,
    pub(super) slot: Slot,
}

/// Due times by position. `moved` is called with each new position of a slot.
#[derive(Default)]
pub(super) struct DueTimes {
    sorted: SortedRun,
    heap: DueHeap,
    sequence: u32,
}

impl DueTimes {
    pub(super) fn len(&self) -> usize {
        self.sorted.len() + self.heap.len()
    }

    /// The earliest.
    pub(super) fn first(&self) -> Option<Due> {
        match (self.sorted.first(), self.heap.first()) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    pub(super) fn at(&self, position: u32) -> u64 {
        if SortedRun::has(position) {
            self.sorted.at(position)
        } else {
            self.heap.at(position)
        }
    }

    pub(super) fn push(&mut self, at: u64, slot: Slot, mut moved: impl FnMut(Slot, u32)) {
        let due = self.due(at, slot);
        match self.sorted.push(due) {
            Some(position) => moved(slot, position),
            None => self.heap.push(due, moved),
        }
    }

    /// Decreases the time of an entry.
    pub(super) fn decrease(&mut self, position: u32, at: u64, mut moved: impl FnMut(Slot, u32)) {
        if SortedRun::has(position) {
            let due = self.due(at, self.sorted.slot(position));
            self.sorted.remove(position, &mut moved);
            self.heap.push(due, moved);
        } else {
            let due = self.due(at, self.heap.slot(position));
            self.heap.decrease(position, due, moved);
        }
    }

    pub(super) fn remove(&mut self, position: u32, mut moved: impl FnMut(Slot, u32)) {
        if SortedRun::has(position) {
            self.sorted.remove(position, &mut moved);
        } else {
            self.heap.remove(position, moved);
        }
    }

    /// Notes that the key of an entry moved to another slot.
    pub(super) fn relocated(&mut self, position: u32, slot: Slot) {
        if SortedRun::has(position) {
            self.sorted.relocated(position, slot);
        } else {
            self.heap.relocated(position, slot);
        }
    }

    /// Removes all entries.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Slot> + use<> {
        let all = std::mem::take(self);
        all.sorted.into_slots().chain(all.heap.into_slots())
    }

    fn due(&mut self, at: u64, slot: Slot) -> Due {
        self.sequence = self.sequence.wrapping_add(1);
        Due {
            at,
            sequence: self.sequence,
            slot,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, collections::HashMap};

    use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};

    use super::*;

    /// Compares it with a model: thousands of times, most of them in order, that are taken, removed from the middle, decreased and relocated.
    #[test]
    fn first_is_always_the_earliest() {
        for seed in 0..4 {
            let mut random = StdRng::seed_from_u64(seed);
            let (mut times, positions) = (DueTimes::default(), RefCell::new(HashMap::new()));
            let moved = |slot, position| {
                positions.borrow_mut().insert(slot, position);
            };
            let position = |slot: &Slot| positions.borrow()[slot];
            // Slot to time and sequence.
            let (mut model, mut sequence) = (HashMap::<Slot, (u64, u32)>::new(), 0);
            let (mut now, mut next) = (0, 0);
            for step in 0..6_000 {
                now += random.random_range(0..3);
                let any = model
                    .keys()
                    .min_by_key(|slot| slot.wrapping_mul(2_654_435_761) ^ step);
                let (any, growing) = (any.copied(), step % 2000 < 1000);
                match (random.random_range(0..10), any) {
                    (0..=5, _) if growing => {
                        let delay = if random.random_ratio(1, 8) {
                            random.random_range(0..5000)
                        } else {
                            1000
                        };
                        sequence += 1;
                        times.push(now + delay, next, moved);
                        model.insert(next, (now + delay, sequence));
                        next += 1;
                    }
                    (0..=6, Some(slot)) => {
                        times.remove(position(&slot), moved);
                        model.remove(&slot);
                    }
                    (7, Some(slot)) if model[&slot].0 > now => {
                        sequence += 1;
                        times.decrease(position(&slot), now, moved);
                        model.insert(slot, (now, sequence));
                    }
                    (8, Some(slot)) => {
                        let (old, time) = (position(&slot), model[&slot]);
                        times.relocated(old, next);
                        moved(next, old);
                        model.remove(&slot);
                        model.insert(next, time);
                        next += 1;
                    }
                    _ => {
                        if let Some(due) = times.first() {
                            times.remove(position(&due.slot), moved);
                            model.remove(&due.slot);
                        }
                    }
                }
                assert_eq!(times.len(), model.len());
                let least = model.iter().min_by_key(|(_, time)| **time);
                assert_eq!(
                    times.first().map(|due| (due.slot, due.at)),
                    least.map(|(slot, (at, _))| (*slot, *at))
                );
                if let Some(slot) = model.keys().next() {
                    assert_eq!(times.at(position(slot)), model[slot].0);
                }
            }
            let mut left: Vec<Slot> = times.take().collect();
            left.sort_unstable();
            let mut expected: Vec<Slot> = model.into_keys().collect();
            expected.sort_unstable();
            assert_eq!(left, expected);
            assert_eq!(times.len(), 0);
        }
    }
}
