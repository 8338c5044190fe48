//! What is told of changes: handlers in tasks of their own, sinks in line.

use std::{cmp::Ordering, time::Duration};

use super::{Metadata, Object, resource_version, store::StoreEvent};
use crate::NamespacedName;

/// Told of every change, one at a time, in order, in a task of its own.
///
/// Guaranteed, of each object: added, then updated any number of times, then deleted, and so on; the `old` of an update is what the
/// handler was told of last. A handler that was added late is told of what is in the store first, as additions of the initial list;
/// nothing is lost or doubled between that and what comes afterwards. What is told is in the store by then, or something newer is.
///
/// Not guaranteed: an order among objects, or among handlers; intermediate states that no watch brought; that `old` differs from `new`
/// (see [`HandlerOptions::resync`]); that what was not yet told is told when the informer stops.
///
/// A handler that is slow holds up nobody: what it was not yet told is kept for it without bound, which is logged once when it is behind
/// by ten thousand changes, and again after it had caught up by half. It must not block the thread for long: hand work on. A panic is
/// logged, and the handler goes on with the next change.
pub trait EventHandler<K>: Send + Sync + 'static {
    /// An object appeared. `is_in_initial_list`: it was there before the handler. Others may come before the last of these: what a
    /// change lets through a [filter](super::Filtered), and, of an informer of several namespaces, what is new in one of them.
    fn on_add(&self, object: &Object<K>, is_in_initial_list: bool) {
        let _ = (object, is_in_initial_list);
    }
    /// An object changed; perhaps it was deleted and created again meanwhile, then the uids differ. Or it was resynced: then the resource
    /// versions are equal.
    fn on_update(&self, old: &Object<K>, new: &Object<K>) {
        let _ = (old, new);
    }
    /// An object went away.
    fn on_delete(&self, deleted: &Deleted<K>) {
        let _ = deleted;
    }
}

/// How a handler or sink wants to be told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HandlerOptions {
    /// After this time, again and again, the handler is told of everything in the store, as updates with equal resource versions. Nothing
    /// is asked of the API server for that. None or zero: never.
    ///
    /// At least a second. An informer checks who is due as often as the smallest period says that was wanted before it started, or
    /// else the first one afterwards. A period that is wanted later is raised to that one; one that is no multiple of it is rounded up
    /// to the next check.
    /// From the check at which it is due until the next one the handler is also told of what a relist finds unchanged.
    pub resync: Option<Duration>,
    /// Of each object, only the newest of the changes that wait are kept for the handler. What waits is then bounded by the number of
    /// objects: those that the handler was told of, and those that there are.
    ///
    /// An update takes up the addition or update before it: it is told in that one's place, with the `old` of the first and the `new`
    /// of the last. A deletion takes up the update before it. An object that came and went without the handler having been told of it
    /// is not told at all. A deletion that waits stays: what is created afterwards under the same name is told as an addition.
    /// So the handler still sees a life without gaps of each object, with fewer steps, and its last state.
    /// Where an object was deleted and created again while nobody watched, which is told as an update to another uid, and then deleted,
    /// the handler may be told of the deletion with the uid of the second, of which it had not heard.
    ///
    /// A sink is called in line: nothing waits for it, and this changes nothing.
    pub coalesce: bool,
}

impl HandlerOptions {
    /// With [`resync`](Self::resync).
    pub fn resync(self, period: Duration) -> Self {
        Self {
            resync: Some(period),
            ..self
        }
    }

    /// With [`coalesce`](Self::coalesce).
    pub fn coalesce(self) -> Self {
        Self {
            coalesce: true,
            ..self
        }
    }
}

/// A deleted object.
///
/// It may have been created again by now. `object` may be a version that the handler was not told of: what was written while no watch
/// was there, or the state at deletion, which no update brings.
#[derive(Debug, Clone)]
pub struct Deleted<K> {
    /// The last state that is known.
    pub object: Object<K>,
    /// Whether `object` is the state at deletion; false when the deletion was missed and found by a relist.
    pub final_state_known: bool,
}

/// A change of the store, undecoded, as in-line sinks see it after the store was changed.
///
/// Guaranteed, of each object: added, updated any number of times, deleted, and so on; the `old` of an update is the `new` before it. The
/// store holds what is told, or something newer, and all of the batch that it came with.
///
/// Not guaranteed: that each write is told: of what happened while no watch was there only the outcome is; that `old` and `new` differ.
#[derive(Debug, Clone, Copy)]
pub enum Change<'a> {
    /// The object is new to the store.
    Added {
        /// The object.
        new: &'a Metadata,
        /// Whether it came with the first list.
        is_in_initial_list: bool,
    },
    /// The object replaced an older one, perhaps one with another uid.
    Updated {
        /// Before.
        old: &'a Metadata,
        /// After; of the same version as `old` when it is a resync.
        new: &'a Metadata,
    },
    /// The object is gone.
    Deleted {
        /// The last known state.
        old: &'a Metadata,
        /// Whether that is the state at deletion.
        final_state_known: bool,
    },
}

impl<'a> Change<'a> {
    pub(super) fn of(stored: &'a StoreEvent, is_in_initial_list: bool) -> Self {
        match stored {
            StoreEvent::Added(new) => Self::Added {
                new: &new.metadata,
                is_in_initial_list,
            },
            StoreEvent::Updated { old, new } => Self::Updated {
                old: &old.metadata,
                new: &new.metadata,
            },
            StoreEvent::Deleted {
                old,
                final_state_known,
            } => Self::Deleted {
                old: &old.metadata,
                final_state_known: *final_state_known,
            },
        }
    }

    /// Whether an addition or update is one step of a watch that missed nothing before it: the object became what it is by one write.
    /// False where a list told of it, streamed or not, for an object that was there before the sink, and for a resync; false for
    /// every deletion, because one can mean that the object no longer matches the informer's selector.
    pub fn is_from_watch(&self) -> bool {
        match self {
            Self::Added {
                new,
                is_in_initial_list,
            } => new.from_watch && !is_in_initial_list,
            Self::Updated { old, new } => {
                // A list may bring an object again that a watch brought once.
                let is_step = |order| !matches!(order, Some(Ordering::Greater | Ordering::Equal));
                new.from_watch
                    && old.uid() == new.uid()
                    && old.resource_version() != new.resource_version()
                    && is_step(resource_version::compare(
                        old.resource_version(),
                        new.resource_version(),
                    ))
            }
            Self::Deleted { .. } => false,
        }
    }

    /// The object's name.
    pub fn name(&self) -> &'a NamespacedName {
        match self {
            Self::Added { new, .. } | Self::Updated { new, .. } => new.name(),
            Self::Deleted { old, .. } => old.name(),
        }
    }
}
