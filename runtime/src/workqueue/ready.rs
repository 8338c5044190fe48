//! The lines in which keys wait for a worker: one a priority, and who comes next.

use super::{
    Key, Priority,
    keys::{NONE, Slot},
    slots::Slots,
};

/// So often in a row is the highest priority preferred while others wait.
const PREFERRED: u32 = 7;

/// The keys that a worker can take, longest waiting first within a priority.
#[derive(Default)]
pub(super) struct Ready {
    /// Highest priority first; a line stays when it is empty.
    lines: Vec<Line>,
    len: usize,
    /// How often in a row the highest priority was preferred to others.
    preferred: u32,
}

/// Keys of one priority, linked through their slots.
struct Line {
    priority: Priority,
    first: Slot,
    last: Slot,
    /// Keys in the line.
    len: usize,
    /// Slots in the line that a key left for another line.
    left: usize,
    /// How often another line was served since this one was, while keys waited in both.
    passed: u32,
}

impl Ready {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn push<K: Key>(&mut self, slots: &mut Slots<K>, slot: Slot) {
        let line = self.line(slots.priority(slot));
        slots.set_link(slot, NONE);
        if line.first == NONE {
            line.first = slot;
        } else {
            slots.set_link(line.last, slot);
        }
        line.last = slot;
        line.len += 1;
        self.len += 1;
    }

    /// Takes the key that comes next.
    #[inline]
    pub(super) fn pop<K: Key>(&mut self, slots: &mut Slots<K>) -> Option<Slot> {
        if self.len == 0 {
            return None;
        }
        let chosen = self.choose();
        let line = &mut self.lines[chosen];
        loop {
            let slot = line.first;
            line.first = slots.link(slot);
            if slots.key(slot).is_some() {
                line.len -= 1;
                self.len -= 1;
                return Some(slot);
            }
            line.left -= 1;
            slots.release(slot);
        }
    }

    /// Notes that a key of this priority left its slot for another line.
    pub(super) fn left<K: Key>(&mut self, slots: &mut Slots<K>, priority: Priority) {
        /// A line is looked through when it has more empty slots than keys, and than this.
        const FEW: usize = 32;
        let line = self.line(priority);
        line.len -= 1;
        line.left += 1;
        let is_mostly_left = line.left > line.len + FEW;
        if is_mostly_left {
            line.sweep(slots);
        }
        self.len -= 1;
    }

    /// The highest priority whose line is not empty; every eighth time, if others wait, that of them which was passed over most often.
    fn choose(&mut self) -> usize {
        // Mostly there is one line.
        if self.lines[0].len == self.len {
            self.preferred = 0;
            self.lines[0].passed = 0;
            return 0;
        }
        let (mut first, mut other) = (None, None::<usize>);
        for (i, line) in self.lines.iter().enumerate().filter(|(_, line)| line.len > 0) {
            if first.is_none() {
                first = Some(i);
            } else if other.is_none_or(|other| self.lines[other].passed < line.passed) {
                other = Some(i);
            }
        }
        let first = first.unwrap_or_default();
        let Some(other) = other else {
            self.preferred = 0;
            self.lines[first].passed = 0;
            return first;
        };
        for line in self.lines.iter_mut().filter(|line| line.len > 0) {
            line.passed = line.passed.saturating_add(1);
        }
        let is_turn = self.preferred == PREFERRED;
        self.preferred = if is_turn { 0 } else { self.preferred + 1 };
        let chosen = if is_turn { other } else { first };
        self.lines[chosen].passed = 0;
        chosen
    }

    fn line(&mut self, priority: Priority) -> &mut Line {
        let place = self.lines.iter().position(|line| line.priority <= priority);
        let i = place.unwrap_or(self.lines.len());
        if self.lines.get(i).is_none_or(|line| line.priority != priority) {
            self.lines.insert(i, Line::new(priority));
        }
        &mut self.lines[i]
    }
}

impl Line {
    fn new(priority: Priority) -> Self {
        Self {
            priority,
            first: NONE,
            last: NONE,
            len: 0,
            left: 0,
            passed: 0,
        }
    }

    /// Frees the slots that keys left.
    fn sweep<K: Key>(&mut self, slots: &mut Slots<K>) {
        let mut slot = std::mem::replace(&mut self.first, NONE);
        self.left = 0;
        while slot != NONE {
            let next = slots.link(slot);
            if slots.key(slot).is_none() {
                slots.release(slot);
            } else {
                if self.first == NONE {
                    self.first = slot;
                } else {
                    slots.set_link(self.last, slot);
                }
                slots.set_link(slot, NONE);
                self.last = slot;
            }
            slot = next;
        }
    }
}
