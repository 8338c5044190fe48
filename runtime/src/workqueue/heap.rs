//! Times in any order: a heap in which each knows its position, so that it can be changed.

use super::{due::Due, keys::Slot};

/// So many children has a time: a flat heap, for few cache misses.
const WIDTH: usize = 4;

/// Times, earliest first. `place` is told of each position that a slot gets.
#[derive(Default)]
pub(super) struct Heap(Vec<Due>);

impl Heap {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The earliest.
    pub(super) fn first(&self) -> Option<Due> {
        self.0.first().copied()
    }

    pub(super) fn at(&self, position: u32) -> u64 {
        self.0[position as usize].at
    }

    pub(super) fn slot(&self, position: u32) -> Slot {
        self.0[position as usize].slot
    }

    pub(super) fn push(&mut self, due: Due, place: impl FnMut(Slot, u32)) {
        if self.0.len() == self.0.capacity() {
            // By an eighth, not by the double: this is most of what a delayed key costs.
            self.0.reserve_exact((self.0.len() / 8).max(64));
        }
        self.0.push(due);
        self.rise(self.0.len() - 1, due, place);
    }

    /// Gives an entry an earlier time.
    pub(super) fn hasten(&mut self, position: u32, due: Due, place: impl FnMut(Slot, u32)) {
        self.rise(position as usize, due, place);
    }

    pub(super) fn remove(&mut self, position: u32, mut place: impl FnMut(Slot, u32)) {
        let position = position as usize;
        let Some(last) = self.0.pop() else { return };
        if position < self.0.len() {
            self.sink(position, last, &mut place);
        }
        if self.0.is_empty() && self.0.capacity() > 4096 {
            self.0 = Vec::new();
        }
    }

    /// The key of an entry moved to another slot.
    pub(super) fn relocated(&mut self, position: u32, slot: Slot) {
        self.0[position as usize].slot = slot;
    }

    pub(super) fn into_slots(self) -> impl Iterator<Item = Slot> {
        self.0.into_iter().map(|due| due.slot)
    }

    /// Puts `due` where it belongs between `position` and the top.
    fn rise(&mut self, mut position: usize, due: Due, mut place: impl FnMut(Slot, u32)) {
        while position > 0 {
            let parent = (position - 1) / WIDTH;
            if self.0[parent] <= due {
                break;
            }
            self.put(position, self.0[parent], &mut place);
            position = parent;
        }
        self.put(position, due, &mut place);
    }

    /// Puts `due` where it belongs, instead of what is at `position`.
    fn sink(&mut self, mut position: usize, due: Due, place: &mut impl FnMut(Slot, u32)) {
        loop {
            let children = WIDTH * position + 1;
            let end = self.0.len().min(children + WIDTH);
            let Some(least) = (children..end).min_by_key(|&child| self.0[child]) else {
                break;
            };
            if self.0[least] >= due {
                break;
            }
            self.put(position, self.0[least], place);
            position = least;
        }
        self.rise(position, due, place);
    }

    fn put(&mut self, position: usize, due: Due, place: &mut impl FnMut(Slot, u32)) {
        self.0[position] = due;
        #[expect(clippy::cast_possible_truncation, reason = "as many as there are slots")]
        place(due.slot, position as u32);
    }
}
