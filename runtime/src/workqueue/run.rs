//! Times that came in their order.

use std::collections::VecDeque;

use super::{
    due::Due,
    keys::{NONE, Slot},
};

/// What tells the positions of a run from those of a heap.
const IN_RUN: u32 = 1 << 31;
/// Positions count on, so that nobody is told of a new one when the first is taken. The bit between is never set: no position is `NONE`.
const NUMBERS: u32 = (1 << 30) - 1;
/// Empty places are looked for when there are more of them than of others, and than this.
const FEW: usize = 64;

/// Times in their order, each no earlier than the one before it. What is removed from the middle leaves an empty place.
#[derive(Default)]
pub(super) struct Run {
    /// Neither the first nor the last of them is empty.
    times: VecDeque<Due>,
    /// The number of the first.
    base: u32,
    empty: usize,
}

impl Run {
    /// Whether a position is one in a run.
    pub(super) fn has(position: u32) -> bool {
        position & IN_RUN != 0
    }

    pub(super) fn len(&self) -> usize {
        self.times.len() - self.empty
    }

    pub(super) fn first(&self) -> Option<Due> {
        self.times.front().copied()
    }

    pub(super) fn at(&self, position: u32) -> u64 {
        self.times[self.index(position)].at
    }

    pub(super) fn slot(&self, position: u32) -> Slot {
        self.times[self.index(position)].slot
    }

    /// Appends a time and answers its position; nothing if it is earlier than the last one.
    pub(super) fn push(&mut self, due: Due) -> Option<u32> {
        if self.times.back().is_some_and(|last| last.at > due.at) || self.times.len() == NUMBERS as usize {
            return None;
        }
        if self.times.len() == self.times.capacity() {
            // By an eighth, not by the double: this is most of what a delayed key costs.
            self.times.reserve_exact((self.times.len() / 8).max(64));
        }
        self.times.push_back(due);
        Some(self.position(self.times.len() - 1))
    }

    /// Removes what is at a position. `place` is told of those that others get.
    pub(super) fn remove(&mut self, position: u32, place: &mut impl FnMut(Slot, u32)) {
        let index = self.index(position);
        self.times[index].slot = NONE;
        self.empty += 1;
        while self.times.front().is_some_and(|due| due.slot == NONE) {
            self.times.pop_front();
            self.base = (self.base + 1) & NUMBERS;
            self.empty -= 1;
        }
        while self.times.back().is_some_and(|due| due.slot == NONE) {
            self.times.pop_back();
            self.empty -= 1;
        }
        if self.empty > self.len() + FEW {
            self.times.retain(|due| due.slot != NONE);
            self.empty = 0;
            for (index, due) in self.times.iter().enumerate() {
                place(due.slot, self.position(index));
            }
        }
        if self.times.is_empty() && self.times.capacity() > 4096 {
            self.times = VecDeque::new();
        }
    }

    pub(super) fn relocated(&mut self, position: u32, slot: Slot) {
        let index = self.index(position);
        self.times[index].slot = slot;
    }

    pub(super) fn into_slots(self) -> impl Iterator<Item = Slot> {
        self.times
            .into_iter()
            .map(|due| due.slot)
            .filter(|slot| *slot != NONE)
    }

    fn index(&self, position: u32) -> usize {
        (position.wrapping_sub(self.base) & NUMBERS) as usize
    }

    fn position(&self, index: usize) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "there are no more than numbers")]
        let number = self.base.wrapping_add(index as u32) & NUMBERS;
        IN_RUN | number
    }
}
