//! Due times that were added in their order.

use std::collections::VecDeque;

use super::{
    due_times::Due,
    key_table::{NONE, Slot},
};

/// The bit that distinguishes positions in the run from those in the heap.
const IN_RUN: u32 = 1 << 31;
/// The bits of a position. Positions are absolute, so that they stay the same when the first entry is removed. Bit 30 is never set: no
/// position is `NONE`.
const POSITION_MASK: u32 = (1 << 30) - 1;
/// The run is compacted when it has more removed entries than others, plus this.
const MIN_REMOVED: usize = 64;

/// Sorted due times. An entry that is removed from the middle stays, marked as empty.
#[derive(Default)]
pub(super) struct SortedRun {
    /// Neither the first nor the last is empty.
    times: VecDeque<Due>,
    /// The position of the first.
    base: u32,
    empty: usize,
}

impl SortedRun {
    /// Whether a position is in the run.
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

    /// Appends a time and returns its position; `None` if it is earlier than the last one.
    pub(super) fn push(&mut self, due: Due) -> Option<u32> {
        if self.times.back().is_some_and(|last| last.at > due.at)
            || self.times.len() == POSITION_MASK as usize
        {
            return None;
        }
        if self.times.len() == self.times.capacity() {
            // It grows by an eighth instead of doubling: this is most of the memory of a delayed key.
            self.times.reserve_exact((self.times.len() / 8).max(64));
        }
        self.times.push_back(due);
        Some(self.position(self.times.len() - 1))
    }

    /// Removes an entry. `moved` is called with the new positions of others.
    pub(super) fn remove(&mut self, position: u32, moved: &mut impl FnMut(Slot, u32)) {
        let index = self.index(position);
        self.times[index].slot = NONE;
        self.empty += 1;
        while self.times.front().is_some_and(|due| due.slot == NONE) {
            self.times.pop_front();
            self.base = (self.base + 1) & POSITION_MASK;
            self.empty -= 1;
        }
        while self.times.back().is_some_and(|due| due.slot == NONE) {
            self.times.pop_back();
            self.empty -= 1;
        }
        if self.empty > self.len() + MIN_REMOVED {
            self.times.retain(|due| due.slot != NONE);
            self.empty = 0;
            for (index, due) in self.times.iter().enumerate() {
                moved(due.slot, self.position(index));
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
        (position.wrapping_sub(self.base) & POSITION_MASK) as usize
    }

    fn position(&self, index: usize) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "there are fewer than 2^30")]
        let number = self.base.wrapping_add(index as u32) & POSITION_MASK;
        IN_RUN | number
    }
}
