//! Workers that wait, and who is called.

use std::{collections::VecDeque, task::Waker};

use crate::wake_batch::defer_wake;

/// Tells waiting workers apart.
pub(super) type Ticket = u64;

/// The workers that wait. One of them keeps the time: it sleeps until the first key is due; the others only wait to be called. A worker
/// that is called has lost its seat.
#[derive(Default)]
pub(super) struct Waiters {
    line: VecDeque<(Ticket, Waker)>,
    timer_owner: Option<(Ticket, Waker)>,
    last: Ticket,
}

/// The workers to wake when the lock is released.
#[derive(Default)]
pub(super) struct ToWake {
    first: Option<Waker>,
    more: Vec<Waker>,
}

impl Waiters {
    /// Whether nobody waits.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.line.is_empty() && self.timer_owner.is_none()
    }

    /// A seat for a worker, or its waker anew if it has one. Answers whether it keeps the time.
    pub(super) fn sit(&mut self, ticket: &mut Option<Ticket>, waker: &Waker, has_due: bool) -> bool {
        let mine = *ticket.get_or_insert_with(|| {
            self.last += 1;
            self.last
        });
        let in_line = self.line.iter().position(|(other, _)| *other == mine);
        if self.keeps_time(mine) || has_due && self.timer_owner.is_none() {
            in_line.and_then(|seat| self.line.remove(seat));
            self.timer_owner = Some((mine, waker.clone()));
            return true;
        }
        match in_line {
            Some(seat) => self.line[seat].1.clone_from(waker),
            None => self.line.push_back((mine, waker.clone())),
        }
        false
    }

    /// Gives a seat up. Answers whether it was still there: whether nobody called it.
    pub(super) fn leave(&mut self, ticket: Ticket) -> bool {
        if self.keeps_time(ticket) {
            self.timer_owner = None;
            return true;
        }
        let seat = self.line.iter().position(|(other, _)| *other == ticket);
        seat.and_then(|seat| self.line.remove(seat)).is_some()
    }

    /// Calls so many workers, the one who keeps the time last.
    #[inline]
    pub(super) fn call(&mut self, count: usize, called: &mut ToWake) {
        if self.is_empty() {
            return;
        }
        for _ in 0..count {
            let next = self.line.pop_front().or_else(|| self.timer_owner.take());
            let Some((_, waker)) = next else { return };
            called.push(waker);
        }
    }

    /// The first key is due earlier than was thought: calls who keeps the time, or somebody to keep it.
    pub(super) fn call_timekeeper(&mut self, called: &mut ToWake) {
        match &self.timer_owner {
            Some((_, waker)) => called.push(waker.clone()),
            None => self.call(1, called),
        }
    }

    /// Calls somebody to keep the time if nobody does.
    pub(super) fn want_timekeeper(&mut self, called: &mut ToWake) {
        if self.timer_owner.is_none() {
            self.call(1, called);
        }
    }

    pub(super) fn call_all(&mut self, called: &mut ToWake) {
        self.call(self.line.len() + 1, called);
    }

    fn keeps_time(&self, ticket: Ticket) -> bool {
        self.timer_owner
            .as_ref()
            .is_some_and(|(keeper, _)| *keeper == ticket)
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
