//! What a handler was not yet told.

use std::collections::VecDeque;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::coalesced::Coalesced;
use crate::cache::store::StoreEvent;

/// A handler that is behind by so many changes is complained about.
const MANY: usize = 10_000;
/// The room that an empty ring keeps.
const KEPT: usize = 1024;

/// What a ring carries.
#[derive(Debug, Clone)]
pub(super) enum Notification {
    Changed {
        change: StoreEvent,
        is_in_initial_list: bool,
    },
    /// Everything in the first list was told.
    Synced,
}

/// A queue without bound between the processing task and one handler.
#[derive(Debug)]
pub(super) struct Ring {
    /// Whose it is, for the log.
    handler: String,
    state: Mutex<State>,
    pushed: Notify,
}

#[derive(Debug)]
struct State {
    queue: Queue,
    is_closed: bool,
    /// It was logged that the handler is behind, and it has not caught up since.
    has_warned: bool,
}

#[derive(Debug)]
enum Queue {
    /// Every change.
    Every(VecDeque<Notification>),
    /// The newest changes of each object.
    Newest(Coalesced),
}

impl Queue {
    fn push(&mut self, notification: Notification) {
        match self {
            Self::Every(queue) => queue.push_back(notification),
            Self::Newest(queue) => queue.push(notification),
        }
    }

    fn pop(&mut self) -> Option<Notification> {
        match self {
            Self::Every(queue) => {
                let popped = queue.pop_front();
                if queue.is_empty() {
                    queue.shrink_to(KEPT);
                }
                popped
            }
            Self::Newest(queue) => queue.pop(),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Every(queue) => queue.len(),
            Self::Newest(queue) => queue.len(),
        }
    }
}

impl Ring {
    pub(super) fn new(handler: String, coalesce: bool) -> Self {
        let queue = if coalesce {
            Queue::Newest(Coalesced::default())
        } else {
            Queue::Every(VecDeque::new())
        };
        Self {
            handler,
            state: Mutex::new(State {
                queue,
                is_closed: false,
                has_warned: false,
            }),
            pushed: Notify::new(),
        }
    }

    pub(super) fn handler(&self) -> &str {
        &self.handler
    }

    /// Does nothing once the ring is closed. Who waits is told by [`pushed_all`](Self::pushed_all).
    pub(super) fn push(&self, notification: Notification) {
        let mut state = self.state.lock();
        if state.is_closed {
            return;
        }
        state.queue.push(notification);
        let warns = state.queue.len() >= MANY && !state.has_warned;
        state.has_warned |= warns;
        drop(state);
        if warns {
            tracing::warn!(
                "{} is behind by {MANY} changes, and all that it was not yet told is kept in memory: it should hand its work on, \
                 or be added with `HandlerOptions::coalesce`",
                self.handler
            );
        }
    }

    pub(super) fn pop(&self) -> Option<Notification> {
        let mut state = self.state.lock();
        let popped = state.queue.pop();
        state.has_warned &= state.queue.len() >= MANY / 2;
        popped
    }

    /// Wakes the consumer: once for all that was pushed, not for each.
    pub(super) fn pushed_all(&self) {
        if self.len() > 0 {
            self.pushed.notify_one();
        }
    }

    /// Waits until something was pushed. For one consumer. Cancel safe.
    pub(super) async fn pushed(&self) {
        self.pushed.notified().await;
    }

    /// Forgets what is in it and what comes.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        let forgotten = std::mem::replace(&mut state.queue, Queue::Every(VecDeque::new()));
        drop(state);
        drop(forgotten);
    }

    pub(super) fn len(&self) -> usize {
        self.state.lock().queue.len()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::count_warnings, *};

    #[test]
    fn a_handler_that_is_behind_is_complained_about_once_until_it_has_caught_up_by_half() {
        let (warnings, _guard) = count_warnings();
        let ring = Ring::new("a handler".into(), false);
        let push = |times: usize| (0..times).for_each(|_| ring.push(Notification::Synced));
        let pop = |times: usize| (0..times).for_each(|_| drop(ring.pop().unwrap()));
        push(MANY - 1);
        assert_eq!(warnings(), 0);
        push(100);
        assert_eq!(warnings(), 1);
        // Half of it is not yet below half.
        pop(ring.len() - MANY / 2);
        push(MANY);
        assert_eq!(warnings(), 1);
        pop(ring.len() - MANY / 2 + 1);
        push(MANY / 2);
        assert_eq!(warnings(), 1);
        push(1);
        assert_eq!((warnings(), ring.len()), (2, MANY));
    }

    #[test]
    fn a_closed_ring_keeps_nothing() {
        let ring = Ring::new("a handler".into(), false);
        ring.push(Notification::Synced);
        ring.close();
        ring.push(Notification::Synced);
        assert_eq!((ring.len(), ring.pop().is_none()), (0, true));
    }
}
