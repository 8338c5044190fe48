//! The pending notifications of a handler (client-go's processorListener).

use std::collections::VecDeque;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::coalescing_queue::CoalescingQueue;
use crate::cache::store::StoreEvent;

/// A warning is logged when a handler has this many pending notifications.
const WARN_AT_PENDING: usize = 10_000;
/// The capacity that an empty queue keeps, in notifications.
const RETAINED_CAPACITY: usize = 1024;

/// A notification for a handler.
#[derive(Debug, Clone)]
pub(super) enum Notification {
    Changed {
        change: StoreEvent,
        is_in_initial_list: bool,
    },
    /// All objects of the first list precede it.
    Synced,
}

/// An unbounded queue between the processing task and the task of one handler.
#[derive(Debug)]
pub(super) struct PendingNotifications {
    /// The handler's name, for the log.
    handler: String,
    state: Mutex<PendingState>,
    flushed: Notify,
}

#[derive(Debug)]
struct PendingState {
    queue: NotificationQueue,
    is_closed: bool,
    /// The warning was logged, and the handler has not caught up by half since.
    has_warned: bool,
}

#[derive(Debug)]
enum NotificationQueue {
    /// Keeps every change.
    All(VecDeque<Notification>),
    /// Merges the changes of each object.
    Coalescing(CoalescingQueue),
}

impl NotificationQueue {
    fn push(&mut self, notification: Notification) {
        match self {
            Self::All(queue) => queue.push_back(notification),
            Self::Coalescing(queue) => queue.push(notification),
        }
    }

    fn pop(&mut self) -> Option<Notification> {
        match self {
            Self::All(queue) => {
                let popped = queue.pop_front();
                if queue.is_empty() {
                    queue.shrink_to(RETAINED_CAPACITY);
                }
                popped
            }
            Self::Coalescing(queue) => queue.pop(),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::All(queue) => queue.len(),
            Self::Coalescing(queue) => queue.len(),
        }
    }
}

impl PendingNotifications {
    pub(super) fn new(handler: String, coalesce: bool) -> Self {
        let queue = if coalesce {
            NotificationQueue::Coalescing(CoalescingQueue::default())
        } else {
            NotificationQueue::All(VecDeque::new())
        };
        Self {
            handler,
            state: Mutex::new(PendingState {
                queue,
                is_closed: false,
                has_warned: false,
            }),
            flushed: Notify::new(),
        }
    }

    pub(super) fn handler(&self) -> &str {
        &self.handler
    }

    /// Adds a notification, unless the queue is closed. Wakes no one: call [`flush`](Self::flush) after a batch.
    pub(super) fn push(&self, notification: Notification) {
        let mut state = self.state.lock();
        if state.is_closed {
            return;
        }
        state.queue.push(notification);
        let warns = state.queue.len() >= WARN_AT_PENDING && !state.has_warned;
        state.has_warned |= warns;
        drop(state);
        if warns {
            tracing::warn!(
                "{} has {WARN_AT_PENDING} pending changes, which are kept in memory: enqueue its work elsewhere, or add it with \
                 `HandlerOptions::coalesce`",
                self.handler
            );
        }
    }

    /// Removes the next notification.
    pub(super) fn pop(&self) -> Option<Notification> {
        let mut state = self.state.lock();
        let popped = state.queue.pop();
        state.has_warned &= state.queue.len() >= WARN_AT_PENDING / 2;
        popped
    }

    /// Wakes the handler's task if notifications are pending: once for a batch, not for each notification.
    pub(super) fn flush(&self) {
        if self.len() > 0 {
            self.flushed.notify_one();
        }
    }

    /// Waits for a flush. For one consumer. Cancel safe.
    pub(super) async fn wait(&self) {
        self.flushed.notified().await;
    }

    /// Drops all pending notifications, and ignores later ones.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        let dropped = std::mem::replace(&mut state.queue, NotificationQueue::All(VecDeque::new()));
        drop(state);
        drop(dropped);
    }

    pub(super) fn len(&self) -> usize {
        self.state.lock().queue.len()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::processor_tests::count_warnings, *};

    #[test]
    fn slow_handler_is_warned_about_once_until_it_catches_up_by_half() {
        let (warnings, _guard) = count_warnings();
        let pending = PendingNotifications::new("a handler".into(), false);
        let push = |times: usize| (0..times).for_each(|_| pending.push(Notification::Synced));
        let pop = |times: usize| (0..times).for_each(|_| drop(pending.pop().unwrap()));
        push(WARN_AT_PENDING - 1);
        assert_eq!(warnings(), 0);
        push(100);
        assert_eq!(warnings(), 1);
        // Exactly half is not below half.
        pop(pending.len() - WARN_AT_PENDING / 2);
        push(WARN_AT_PENDING);
        assert_eq!(warnings(), 1);
        pop(pending.len() - WARN_AT_PENDING / 2 + 1);
        push(WARN_AT_PENDING / 2);
        assert_eq!(warnings(), 1);
        push(1);
        assert_eq!((warnings(), pending.len()), (2, WARN_AT_PENDING));
    }

    #[test]
    fn closed_queue_is_empty_and_ignores_notifications() {
        let pending = PendingNotifications::new("a handler".into(), false);
        pending.push(Notification::Synced);
        pending.close();
        pending.push(Notification::Synced);
        assert_eq!((pending.len(), pending.pop().is_none()), (0, true));
    }
}
