//! The future of `WorkQueue::get`.

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
    queue::{AfterUnlock, QueueShared},
    waiters::Ticket,
};

/// A worker that waits for a key. Dropping it deregisters the worker; if it was woken and took no key, another worker is woken.
pub(super) struct GetFuture<'a, K: Key> {
    queue: &'a WorkQueue<K>,
    ticket: Option<Ticket>,
    /// The timer's deadline.
    sleeps_until: Option<u64>,
}

enum GetOutcome<K> {
    /// A key, and how long it waited.
    Key(K, Duration),
    ShutDown,
    /// No key. This worker is the timer owner and sleeps until then.
    SleepUntil(u64),
    /// No key. The worker sleeps until it gets a wake-up.
    Wait,
}

impl<'a, K: Key> GetFuture<'a, K> {
    pub(super) fn new(queue: &'a WorkQueue<K>) -> Self {
        Self {
            queue,
            ticket: None,
            sleeps_until: None,
        }
    }

    /// Takes a key; `None` after the shut-down. `timer` belongs to this future.
    pub(super) fn poll(
        &mut self,
        mut timer: Pin<&mut Option<Sleep>>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<K>> {
        // A worker that always finds a key still yields to other tasks.
        let progress = ready!(poll_proceed(cx));
        loop {
            match self.try_get(cx) {
                GetOutcome::Key(key, waited) => {
                    self.queue.waited(waited);
                    progress.made_progress();
                    return Poll::Ready(Some(key));
                }
                GetOutcome::ShutDown => return Poll::Ready(None),
                GetOutcome::Wait => {
                    self.sleeps_until = None;
                    timer.set(None);
                    return Poll::Pending;
                }
                GetOutcome::SleepUntil(due) => {
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

    fn try_get(&mut self, cx: &Context<'_>) -> GetOutcome<K> {
        self.queue.with_current(|shared, now, after| {
            if let Some((key, waited)) = shared.state.take(now) {
                self.deregister(shared, after);
                return GetOutcome::Key(key, waited);
            }
            if shared.state.is_shut_down() {
                self.deregister(shared, after);
                return GetOutcome::ShutDown;
            }
            let due = shared.state.next_due();
            let is_timer_owner = shared
                .waiters
                .register(&mut self.ticket, cx.waker(), due.is_some());
            match due.filter(|_| is_timer_owner) {
                Some(due) => GetOutcome::SleepUntil(due),
                None => GetOutcome::Wait,
            }
        })
    }

    /// Deregisters the worker. Returns whether it was woken before.
    fn deregister(&mut self, shared: &mut QueueShared<K>, after: &mut AfterUnlock) -> bool {
        let Some(ticket) = self.ticket.take() else {
            return false;
        };
        let was_woken = !shared.waiters.deregister(ticket);
        if shared.state.next_due().is_some() {
            shared.waiters.ensure_timer_owner(&mut after.to_wake);
        }
        was_woken
    }
}

impl<K: Key> Drop for GetFuture<'_, K> {
    fn drop(&mut self) {
        if self.ticket.is_none() {
            return;
        }
        let queue = self.queue;
        queue.with_current(|shared, _, after| {
            if self.deregister(shared, after) && shared.state.len() > 0 {
                shared.waiters.wake(1, &mut after.to_wake);
            }
        });
    }
}
