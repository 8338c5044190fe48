//! When keys are due, earliest first. Most times come in their order, as delays are much alike: those stand in a run. The others are in a
//! heap.

use super::{heap::Heap, keys::Slot, run::Run};

/// A key's time, in nanoseconds since the queue was made. The turn keeps the order of those of one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Due {
    pub(super) at: u64,
    turn: u32,
    pub(super) slot: Slot,
}

/// The times of keys. `place` is told of each position that a slot gets.
#[derive(Default)]
pub(super) struct DueTimes {
    run: Run,
    heap: Heap,
    turn: u32,
}

impl DueTimes {
    pub(super) fn len(&self) -> usize {
        self.run.len() + self.heap.len()
    }

    /// The earliest.
    pub(super) fn first(&self) -> Option<Due> {
        match (self.run.first(), self.heap.first()) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    pub(super) fn at(&self, position: u32) -> u64 {
        if Run::has(position) {
            self.run.at(position)
        } else {
            self.heap.at(position)
        }
    }

    pub(super) fn push(&mut self, at: u64, slot: Slot, mut place: impl FnMut(Slot, u32)) {
        let due = self.due(at, slot);
        match self.run.push(due) {
            Some(position) => place(slot, position),
            None => self.heap.push(due, place),
        }
    }

    /// Gives an entry an earlier time.
    pub(super) fn hasten(&mut self, position: u32, at: u64, mut place: impl FnMut(Slot, u32)) {
        if Run::has(position) {
            let due = self.due(at, self.run.slot(position));
            self.run.remove(position, &mut place);
            self.heap.push(due, place);
        } else {
            let due = self.due(at, self.heap.slot(position));
            self.heap.hasten(position, due, place);
        }
    }

    pub(super) fn remove(&mut self, position: u32, mut place: impl FnMut(Slot, u32)) {
        if Run::has(position) {
            self.run.remove(position, &mut place);
        } else {
            self.heap.remove(position, place);
        }
    }

    /// The key of an entry moved to another slot.
    pub(super) fn relocated(&mut self, position: u32, slot: Slot) {
        if Run::has(position) {
            self.run.relocated(position, slot);
        } else {
            self.heap.relocated(position, slot);
        }
    }

    /// Empties it.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Slot> + use<> {
        let all = std::mem::take(self);
        all.run.into_slots().chain(all.heap.into_slots())
    }

    fn due(&mut self, at: u64, slot: Slot) -> Due {
        self.turn = self.turn.wrapping_add(1);
        Due {
            at,
            turn: self.turn,
            slot,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, collections::HashMap};

    use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};

    use super::*;

    /// Beside a list that is sorted whenever somebody asks: thousands of times, most of them in their order, that are taken, removed from
    /// the middle, hastened and moved.
    #[test]
    fn the_earliest_is_always_the_first() {
        for seed in 0..4 {
            let mut random = StdRng::seed_from_u64(seed);
            let (mut times, positions) = (DueTimes::default(), RefCell::new(HashMap::new()));
            let place = |slot, position| {
                positions.borrow_mut().insert(slot, position);
            };
            let position = |slot: &Slot| positions.borrow()[slot];
            // Slot to time and turn.
            let (mut model, mut turn) = (HashMap::<Slot, (u64, u32)>::new(), 0);
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
                        turn += 1;
                        times.push(now + delay, next, place);
                        model.insert(next, (now + delay, turn));
                        next += 1;
                    }
                    (0..=6, Some(slot)) => {
                        times.remove(position(&slot), place);
                        model.remove(&slot);
                    }
                    (7, Some(slot)) if model[&slot].0 > now => {
                        turn += 1;
                        times.hasten(position(&slot), now, place);
                        model.insert(slot, (now, turn));
                    }
                    (8, Some(slot)) => {
                        let (moved, time) = (position(&slot), model[&slot]);
                        times.relocated(moved, next);
                        place(next, moved);
                        model.remove(&slot);
                        model.insert(next, time);
                        next += 1;
                    }
                    _ => {
                        if let Some(due) = times.first() {
                            times.remove(position(&due.slot), place);
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
