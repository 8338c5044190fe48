//! The queued keys: a FIFO line for each priority, and which key is next.

use super::{
    Key, Priority,
    key_states::KeyStates,
    key_table::{NONE, Slot},
};

/// How often in a row the highest priority is preferred to others.
const MAX_PREFERRED: u32 = 7;

/// The queued keys, first in, first out within a priority.
#[derive(Default)]
pub(super) struct ReadyQueue {
    /// Highest priority first. Empty lines are kept.
    lines: Vec<PriorityLine>,
    len: usize,
    /// How often in a row the highest priority was preferred to others.
    preferred: u32,
}

/// Keys of one priority, linked through their slots.
struct PriorityLine {
    priority: Priority,
    first: Slot,
    last: Slot,
    /// Keys in the line.
    len: usize,
    /// Empty slots in the line, whose keys moved to another line.
    moved: usize,
    /// How often another line was preferred since this one was served last.
    passed: u32,
}

impl ReadyQueue {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn push<K: Key>(&mut self, slots: &mut KeyStates<K>, slot: Slot) {
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

    /// Takes the next key.
    #[inline]
    pub(super) fn pop<K: Key>(&mut self, slots: &mut KeyStates<K>) -> Option<Slot> {
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
            line.moved -= 1;
            slots.release(slot);
        }
    }

    /// Notes that a key moved from this priority's line to another.
    pub(super) fn note_moved<K: Key>(&mut self, slots: &mut KeyStates<K>, priority: Priority) {
        /// A line is compacted when it has more empty slots than keys, plus this.
        const MIN_EMPTY: usize = 32;
        let line = self.line(priority);
        line.len -= 1;
        line.moved += 1;
        let is_mostly_empty = line.moved > line.len + MIN_EMPTY;
        if is_mostly_empty {
            line.compact(slots);
        }
        self.len -= 1;
    }

    /// Returns the line to serve: the highest priority that has keys; every eighth time, if others have keys, the one that was passed over most
    /// often.
    fn choose(&mut self) -> usize {
        // The common case: one line has all keys.
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
        let is_turn = self.preferred == MAX_PREFERRED;
        self.preferred = if is_turn { 0 } else { self.preferred + 1 };
        let chosen = if is_turn { other } else { first };
        self.lines[chosen].passed = 0;
        chosen
    }

    fn line(&mut self, priority: Priority) -> &mut PriorityLine {
        let position = self.lines.iter().position(|line| line.priority <= priority);
        let i = position.unwrap_or(self.lines.len());
        if self.lines.get(i).is_none_or(|line| line.priority != priority) {
            self.lines.insert(i, PriorityLine::new(priority));
        }
        &mut self.lines[i]
    }
}

impl PriorityLine {
    fn new(priority: Priority) -> Self {
        Self {
            priority,
            first: NONE,
            last: NONE,
            len: 0,
            moved: 0,
            passed: 0,
        }
    }

    /// Frees the empty slots.
    fn compact<K: Key>(&mut self, slots: &mut KeyStates<K>) {
        let mut slot = std::mem::replace(&mut self.first, NONE);
        self.moved = 0;
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
