//! Waiting for a key.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    task::coop::poll_proceed,
    time::{Sleep, sleep_until},
};

use super::{
    Key, WorkQueue,
    queue::{Afterwards, Shared},
    waiters::Ticket,
};

/// One worker's wait. When it is dropped its seat is given up; who was called and takes nothing calls another.
pub(super) struct Wait<'a, K: Key> {
    queue: &'a WorkQueue<K>,
    ticket: Option<Ticket>,
    /// Until when the timer sleeps.
    sleeps_until: Option<u64>,
}

enum Found<K> {
    /// And how long it waited.
    Key(K, Duration),
    ShutDown,
    /// Nothing; this worker keeps the time until then.
    NothingUntil(u64),
    /// Nothing; somebody will call.
    Nothing,
}

impl<'a, K: Key> Wait<'a, K> {
    pub(super) fn new(queue: &'a WorkQueue<K>) -> Self {
        Self {
            queue,
            ticket: None,
            sleeps_until: None,
        }
    }

    /// Takes a key; nothing when there is none and never will be. `timer` is this wait's.
    pub(super) fn poll(
        &mut self,
        mut timer: Pin<&mut Option<Sleep>>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<K>> {
        // A worker that always finds a key still lets others run.
        let progress = ready!(poll_proceed(cx));
        loop {
            match self.look(cx) {
                Found::Key(key, waited) => {
                    self.queue.waited(waited);
                    progress.made_progress();
                    return Poll::Ready(Some(key));
                }
                Found::ShutDown => return Poll::Ready(None),
                Found::Nothing => {
                    self.sleeps_until = None;
                    timer.set(None);
                    return Poll::Pending;
                }
                Found::NothingUntil(due) => {
                    if self.sleeps_until.replace(due) != Some(due) {
                        timer.set(Some(sleep_until(self.queue.clock.instant(due))));
                    }
                    if let Some(sleep) = timer.as_mut().as_pin_mut() {
                        ready!(sleep.poll(cx));
                    }
                    self.sleeps_until = None;
                }
            }
        }
    }

    fn look(&mut self, cx: &Context<'_>) -> Found<K> {
        self.queue.look(|shared, now, afterwards| {
            if let Some((key, waited)) = shared.state.take(now) {
                self.stand_up(shared, afterwards);
                return Found::Key(key, waited);
            }
            if shared.state.is_shut_down() {
                self.stand_up(shared, afterwards);
                return Found::ShutDown;
            }
            let due = shared.state.next_due();
            let keeps_time = shared.waiters.sit(&mut self.ticket, cx.waker(), due.is_some());
            match due.filter(|_| keeps_time) {
                Some(due) => Found::NothingUntil(due),
                None => Found::Nothing,
            }
        })
    }

    /// Gives the seat up. Answers whether it was called away from it.
    fn stand_up(&mut self, shared: &mut Shared<K>, afterwards: &mut Afterwards) -> bool {
        let Some(ticket) = self.ticket.take() else {
            return false;
        };
        let was_called = !shared.waiters.leave(ticket);
        if shared.state.next_due().is_some() {
            shared.waiters.want_timekeeper(&mut afterwards.called);
        }
        was_called
    }
}

impl<K: Key> Drop for Wait<'_, K> {
    fn drop(&mut self) {
        if self.ticket.is_none() {
            return;
        }
        let queue = self.queue;
        queue.look(|shared, _, afterwards| {
            if self.stand_up(shared, afterwards) && shared.state.len() > 0 {
                shared.waiters.call(1, &mut afterwards.called);
            }
        });
    }
}
