//! The workers that wait for a key, and which of them is woken.

use std::{collections::VecDeque, task::Waker};

use crate::wake_batch::defer_wake;

/// Identifies a waiting worker.
pub(super) type Ticket = u64;

/// The waiting workers, first come, first served. One of them is the timer owner: it sleeps until the first key is due. The others sleep
/// until they are woken. A worker that is woken is no longer registered.
#[derive(Default)]
pub(super) struct Waiters {
    line: VecDeque<(Ticket, Waker)>,
    timer_owner: Option<(Ticket, Waker)>,
    last_ticket: Ticket,
}

/// The workers to wake after the lock is released.
#[derive(Default)]
pub(super) struct ToWake {
    first: Option<Waker>,
    more: Vec<Waker>,
}

impl Waiters {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.line.is_empty() && self.timer_owner.is_none()
    }

    /// Registers a worker, or replaces its waker. Returns whether it is the timer owner.
    pub(super) fn register(&mut self, ticket: &mut Option<Ticket>, waker: &Waker, has_due: bool) -> bool {
        let own = *ticket.get_or_insert_with(|| {
            self.last_ticket += 1;
            self.last_ticket
        });
        let position = self.line.iter().position(|(other, _)| *other == own);
        if self.is_timer_owner(own) || has_due && self.timer_owner.is_none() {
            position.and_then(|position| self.line.remove(position));
            self.timer_owner = Some((own, waker.clone()));
            return true;
        }
        match position {
            Some(position) => self.line[position].1.clone_from(waker),
            None => self.line.push_back((own, waker.clone())),
        }
        false
    }

    /// Removes a worker. Returns false if it was woken before.
    pub(super) fn deregister(&mut self, ticket: Ticket) -> bool {
        if self.is_timer_owner(ticket) {
            self.timer_owner = None;
            return true;
        }
        let position = self.line.iter().position(|(other, _)| *other == ticket);
        position.and_then(|position| self.line.remove(position)).is_some()
    }

    /// Wakes so many workers, the timer owner last.
    #[inline]
    pub(super) fn wake(&mut self, count: usize, to_wake: &mut ToWake) {
        if self.is_empty() {
            return;
        }
        for _ in 0..count {
            let next = self.line.pop_front().or_else(|| self.timer_owner.take());
            let Some((_, waker)) = next else { return };
            to_wake.push(waker);
        }
    }

    /// Wakes the timer owner, because the first key is due earlier than before; without one, wakes a worker that becomes it.
    pub(super) fn wake_timer_owner(&mut self, to_wake: &mut ToWake) {
        match &self.timer_owner {
            Some((_, waker)) => to_wake.push(waker.clone()),
            None => self.wake(1, to_wake),
        }
    }

    /// Wakes a worker that becomes the timer owner, if there is none.
    pub(super) fn ensure_timer_owner(&mut self, to_wake: &mut ToWake) {
        if self.timer_owner.is_none() {
            self.wake(1, to_wake);
        }
    }

    pub(super) fn wake_all(&mut self, to_wake: &mut ToWake) {
        self.wake(self.line.len() + 1, to_wake);
    }

    fn is_timer_owner(&self, ticket: Ticket) -> bool {
        self.timer_owner
            .as_ref()
            .is_some_and(|(owner, _)| *owner == ticket)
    }
}

impl ToWake {
    #[inline]
    pub(super) fn wake(self) {
        let Some(first) = self.first else { return };
        defer_wake(first);
        self.more.into_iter().for_each(defer_wake);
    }

    fn push(&mut self, waker: Waker) {
        if self.first.is_none() {
            self.first = Some(waker);
        } else {
            self.more.push(waker);
        }
    }
}
