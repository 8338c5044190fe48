//! A queue that keeps the newest changes of each object.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use super::pending_notifications::Notification;
use crate::{NamespacedName, cache::store::StoreEvent};

/// Changes in order, of each object at most a deletion and what came after it.
///
/// Its rules are told at [`HandlerOptions::coalesce`](crate::cache::HandlerOptions::coalesce). A deletion takes up nothing that comes
/// later: only additions and updates need to be found again.
#[derive(Debug, Default)]
pub(super) struct Coalesced {
    /// By the number under which each was pushed.
    queue: BTreeMap<u64, Notification>,
    pushed: u64,
    /// The addition or update that waits.
    open: HashMap<NamespacedName, u64>,
}

impl Coalesced {
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
            && self.open.get(change.name()) == Some(&number)
        {
            self.open.remove(change.name());
        }
        Some(notification)
    }

    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    fn change(&mut self, change: StoreEvent, is_in_initial_list: bool) {
        let name = change.name().clone();
        let is_deletion = matches!(change, StoreEvent::Deleted { .. });
        let Some(number) = self.open.get(&name).copied() else {
            if !is_deletion {
                self.open.insert(name, self.pushed);
            }
            self.append(Notification::Changed {
                change,
                is_in_initial_list,
            });
            return;
        };
        if is_deletion {
            self.open.remove(&name);
        }
        let waiting = self.queue.remove(&number);
        if let Some(Notification::Changed {
            change: waiting,
            is_in_initial_list,
        }) = waiting
            && let Some(change) = merge(waiting, change)
        {
            let merged = Notification::Changed {
                change,
                is_in_initial_list,
            };
            self.queue.insert(number, merged);
        }
    }

    fn append(&mut self, notification: Notification) {
        self.queue.insert(self.pushed, notification);
        self.pushed += 1;
    }
}

/// What two changes of one object come to, the first an addition or an update.
fn merge(first: StoreEvent, second: StoreEvent) -> Option<StoreEvent> {
    Some(match (first, second) {
        (StoreEvent::Added(_), StoreEvent::Updated { new, .. }) => StoreEvent::Added(new),
        (StoreEvent::Added(_), StoreEvent::Deleted { .. }) => return None,
        (StoreEvent::Updated { old, .. }, StoreEvent::Updated { new, .. }) => {
            StoreEvent::Updated { old, new }
        }
        // A deletion; additions come only after deletions.
        (_, second) => second,
    })
}
