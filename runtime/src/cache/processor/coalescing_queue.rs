//! A queue of pending notifications that merges the changes of each object.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use super::pending_notifications::Notification;
use crate::{NamespacedName, cache::store::StoreEvent};

/// Pending notifications in order; of each object at most one deletion and one addition or update after it.
///
/// [`HandlerOptions::coalesce`](crate::cache::HandlerOptions::coalesce) documents the rules. Nothing is merged into a pending deletion, so
/// that only additions and updates are indexed by name.
#[derive(Debug, Default)]
pub(super) struct CoalescingQueue {
    /// By sequence number.
    queue: BTreeMap<u64, Notification>,
    next_number: u64,
    /// The sequence number of each object's pending addition or update.
    mergeable: HashMap<NamespacedName, u64>,
}

impl CoalescingQueue {
    pub(super) fn push(&mut self, notification: Notification) {
        match notification {
            Notification::Changed {
                change,
                is_in_initial_list,
            } => self.change(change, is_in_initial_list),
            Notification::Synced => self.append(Notification::Synced),
        }
    }

    pub(super) fn pop(&mut self) -> Option<Notification> {
        let (number, notification) = self.queue.pop_first()?;
        if let Notification::Changed { change, .. } = &notification
            && self.mergeable.get(change.name()) == Some(&number)
        {
            self.mergeable.remove(change.name());
        }
        Some(notification)
    }

    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    fn change(&mut self, change: StoreEvent, is_in_initial_list: bool) {
        let name = change.name().clone();
        let is_deletion = matches!(change, StoreEvent::Deleted { .. });
        let Some(number) = self.mergeable.get(&name).copied() else {
            if !is_deletion {
                self.mergeable.insert(name, self.next_number);
            }
            self.append(Notification::Changed {
                change,
                is_in_initial_list,
            });
            return;
        };
        if is_deletion {
            self.mergeable.remove(&name);
        }
        let pending = self.queue.remove(&number);
        if let Some(Notification::Changed {
            change: pending,
            is_in_initial_list,
        }) = pending
            && let Some(change) = merge(pending, change)
        {
            let merged = Notification::Changed {
                change,
                is_in_initial_list,
            };
            self.queue.insert(number, merged);
        }
    }

    fn append(&mut self, notification: Notification) {
        self.queue.insert(self.next_number, notification);
        self.next_number += 1;
    }
}

/// Merges two changes of one object; the first is an addition or an update. None: they cancel each other.
fn merge(first: StoreEvent, second: StoreEvent) -> Option<StoreEvent> {
    Some(match (first, second) {
        (StoreEvent::Added(_), StoreEvent::Updated { new, .. }) => StoreEvent::Added(new),
        (StoreEvent::Added(_), StoreEvent::Deleted { .. }) => return None,
        (StoreEvent::Updated { old, .. }, StoreEvent::Updated { new, .. }) => {
            StoreEvent::Updated { old, new }
        }
        // The second is a deletion: an addition only follows a deletion.
        (_, second) => second,
    })
}
