//! When keys are due: a heap in which each knows its position, so that its time can be changed.

use super::slots::Slot;

/// So many children has a time: a flat heap, for few cache misses.
const WIDTH: usize = 4;

/// A key's time, in nanoseconds since the queue was made. The turn keeps the order of those of one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Due {
    pub(super) at: u64,
    turn: u32,
    pub(super) slot: Slot,
}

/// The times of keys, earliest first. `place` is told of each position that a slot gets.
#[derive(Default)]
pub(super) struct DueTimes {
    heap: Vec<Due>,
    turn: u32,
}

impl DueTimes {
    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }

    /// The earliest.
    pub(super) fn first(&self) -> Option<Due> {
        self.heap.first().copied()
    }

    pub(super) fn at(&self, position: u32) -> u64 {
        self.heap[position as usize].at
    }

    pub(super) fn push(&mut self, at: u64, slot: Slot, place: impl FnMut(Slot, u32)) {
        if self.heap.len() == self.heap.capacity() {
            // By an eighth, not by the double: this is most of what a delayed key costs.
            self.heap.reserve_exact((self.heap.len() / 8).max(64));
        }
        let due = self.due(at, slot);
        self.heap.push(due);
        self.rise(self.heap.len() - 1, due, place);
    }

    /// Gives an entry an earlier time.
    pub(super) fn hasten(&mut self, position: u32, at: u64, place: impl FnMut(Slot, u32)) {
        let due = self.due(at, self.heap[position as usize].slot);
        self.rise(position as usize, due, place);
    }

    pub(super) fn remove(&mut self, position: u32, mut place: impl FnMut(Slot, u32)) {
        let position = position as usize;
        let Some(last) = self.heap.pop() else { return };
        if position < self.heap.len() {
            self.sink(position, last, &mut place);
        }
        if self.heap.is_empty() && self.heap.capacity() > 4096 {
            self.heap = Vec::new();
        }
    }

    /// The key of an entry moved to another slot.
    pub(super) fn relocated(&mut self, position: u32, slot: Slot) {
        self.heap[position as usize].slot = slot;
    }

    /// Empties it.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Slot> + use<> {
        std::mem::take(&mut self.heap).into_iter().map(|due| due.slot)
    }

    fn due(&mut self, at: u64, slot: Slot) -> Due {
        self.turn = self.turn.wrapping_add(1);
        Due {
            at,
            turn: self.turn,
            slot,
        }
    }

    /// Puts `due` where it belongs between `position` and the top.
    fn rise(&mut self, mut position: usize, due: Due, mut place: impl FnMut(Slot, u32)) {
        while position > 0 {
            let parent = (position - 1) / WIDTH;
            if self.heap[parent] <= due {
                break;
            }
            self.put(position, self.heap[parent], &mut place);
            position = parent;
        }
        self.put(position, due, &mut place);
    }

    /// Puts `due` where it belongs, instead of what is at `position`.
    fn sink(&mut self, mut position: usize, due: Due, place: &mut impl FnMut(Slot, u32)) {
        loop {
            let children = WIDTH * position + 1;
            let end = self.heap.len().min(children + WIDTH);
            let Some(least) = (children..end).min_by_key(|&child| self.heap[child]) else {
                break;
            };
            if self.heap[least] >= due {
                break;
            }
            self.put(position, self.heap[least], place);
            position = least;
        }
        self.rise(position, due, place);
    }

    fn put(&mut self, position: usize, due: Due, place: &mut impl FnMut(Slot, u32)) {
        self.heap[position] = due;
        #[expect(clippy::cast_possible_truncation, reason = "as many as there are slots")]
        place(due.slot, position as u32);
    }
}
