//! A heap of due times whose entries can be changed, because each slot knows its position.

use super::{due_times::Due, key_table::Slot};

/// The number of children of a node: a flat heap has fewer cache misses.
const CHILDREN: usize = 4;

/// Due times, earliest first. `moved` is called with each new position of a slot.
#[derive(Default)]
pub(super) struct DueHeap(Vec<Due>);

impl DueHeap {
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

    pub(super) fn push(&mut self, due: Due, moved: impl FnMut(Slot, u32)) {
        if self.0.len() == self.0.capacity() {
            // It grows by an eighth instead of doubling: this is most of the memory of a delayed key.
            self.0.reserve_exact((self.0.len() / 8).max(64));
        }
        self.0.push(due);
        self.sift_up(self.0.len() - 1, due, moved);
    }

    /// Decreases the time of an entry.
    pub(super) fn decrease(&mut self, position: u32, due: Due, moved: impl FnMut(Slot, u32)) {
        self.sift_up(position as usize, due, moved);
    }

    pub(super) fn remove(&mut self, position: u32, mut moved: impl FnMut(Slot, u32)) {
        let position = position as usize;
        let Some(last) = self.0.pop() else { return };
        if position < self.0.len() {
            self.sift_down(position, last, &mut moved);
        }
        if self.0.is_empty() && self.0.capacity() > 4096 {
            self.0 = Vec::new();
        }
    }

    /// Notes that the key of an entry moved to another slot.
    pub(super) fn relocated(&mut self, position: u32, slot: Slot) {
        self.0[position as usize].slot = slot;
    }

    pub(super) fn into_slots(self) -> impl Iterator<Item = Slot> {
        self.0.into_iter().map(|due| due.slot)
    }

    /// Sifts `due` up from `position`.
    fn sift_up(&mut self, mut position: usize, due: Due, mut moved: impl FnMut(Slot, u32)) {
        while position > 0 {
            let parent = (position - 1) / CHILDREN;
            if self.0[parent] <= due {
                break;
            }
            self.put(position, self.0[parent], &mut moved);
            position = parent;
        }
        self.put(position, due, &mut moved);
    }

    /// Replaces the entry at `position` by `due`, and sifts that down.
    fn sift_down(&mut self, mut position: usize, due: Due, moved: &mut impl FnMut(Slot, u32)) {
        loop {
            let children = CHILDREN * position + 1;
            let end = self.0.len().min(children + CHILDREN);
            let Some(least) = (children..end).min_by_key(|&child| self.0[child]) else {
                break;
            };
            if self.0[least] >= due {
                break;
            }
            self.put(position, self.0[least], moved);
            position = least;
        }
        self.sift_up(position, due, moved);
    }

    fn put(&mut self, position: usize, due: Due, moved: &mut impl FnMut(Slot, u32)) {
        self.0[position] = due;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "there are at most as many as slots"
        )]
        moved(due.slot, position as u32);
    }
}
