//! Event handlers, their options, and the changes that sinks receive.

use std::{cmp::Ordering, time::Duration};

use super::{Deleted, Metadata, Object, resource_version, store::StoreEvent};
use crate::NamespacedName;

/// Receives every change of an informer's objects, one at a time, in order (client-go's ResourceEventHandler). Runs in its own task.
///
/// Guaranteed, for each object: one addition, any number of updates, one deletion, and so on; the `old` of an update is the object of
/// the event before it. A handler that is added late first receives the objects in the store, as additions of the initial list; between
/// these and later changes nothing is lost or delivered twice. The store already contains the delivered object, or a newer version of it.
///
/// Not guaranteed: an order among objects, or among handlers; intermediate states that no watch delivered; that `old` differs from `new`
/// (see [`HandlerOptions::resync`]); that pending changes are delivered when the informer stops.
///
/// A slow handler delays neither the informer nor other handlers: its pending changes are kept in memory, without bound. A warning is
/// logged when 10,000 changes are pending, and again if that happens after the handler has caught up by half. A handler must not block
/// its thread for long: enqueue the work. A panic is logged, and the handler continues with the next change.
pub trait EventHandler<K>: Send + Sync + 'static {
    /// An object was added. `is_in_initial_list` is true if it existed before the handler.
    ///
    /// Other additions may be delivered before the last of the initial list: objects that begin to pass a [filter](super::Filtered), and
    /// new objects of one namespace while another one of the same informer is still being listed.
    fn on_add(&self, object: &Object<K>, is_in_initial_list: bool) {
        let _ = (object, is_in_initial_list);
    }
    /// An object changed. The uids differ if it was deleted and recreated while no watch was open; the resource versions are equal in a
    /// resync.
    fn on_update(&self, old: &Object<K>, new: &Object<K>) {
        let _ = (old, new);
    }
    /// An object was deleted, or no longer matches the informer's selectors.
    fn on_delete(&self, deleted: &Deleted<K>) {
        let _ = deleted;
    }
}

/// Options of a handler or sink: resync period and coalescing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HandlerOptions {
    /// Resync period: every cached object is delivered again at this interval, as an update with equal resource versions. A resync sends
    /// no request to the API server. None or zero: never.
    ///
    /// The minimum is one second. As in client-go, an informer has one resync check period: the smallest period of the handlers that were
    /// added before its start, else that of the first handler with a period. A period of a handler that is added later is raised to it;
    /// a period that is not a multiple of it is rounded up to the next check.
    /// From the check at which the handler is due to the next check, it also receives objects that a relist finds unchanged.
    pub resync: Option<Duration>,
    /// Merges the pending changes of each object. Pending changes are then bounded by the number of objects: those that the handler
    /// knows, and those that exist.
    ///
    /// An update is merged into the pending addition or update before it, in its place in the order, with the `old` of the first and the
    /// `new` of the last. A deletion replaces a pending update. A pending addition and a deletion cancel each other. A pending deletion
    /// stays: an object that is created afterwards under the same name is delivered as an addition. So the handler still sees add,
    /// updates, delete of each object in that order, with fewer steps, and its last state.
    /// If an object was deleted and recreated while no watch was open (delivered as an update to another uid) and then deleted, the
    /// deletion may carry the second uid, which the handler has not seen.
    ///
    /// No effect on a sink: it is called inline and has no pending changes.
    pub coalesce: bool,
}

impl HandlerOptions {
    /// Sets the [resync period](Self::resync).
    pub fn resync(self, period: Duration) -> Self {
        Self {
            resync: Some(period),
            ..self
        }
    }

    /// Sets [`coalesce`](Self::coalesce).
    pub fn coalesce(self) -> Self {
        Self {
            coalesce: true,
            ..self
        }
    }
}

/// A change of the store, as sinks receive it: metadata only, not decoded.
///
/// Guaranteed, for each object: one addition, any number of updates, one deletion, and so on; the `old` of an update is the `new` before
/// it. The store already contains the whole batch of the change, or newer versions.
///
/// Not guaranteed: that each write is delivered (of the writes while no watch was open only the outcome is); that `old` and `new` differ.
#[derive(Debug, Clone, Copy)]
pub enum Change<'a> {
    /// The object is new to the store.
    Added {
        /// The object.
        new: &'a Metadata,
        /// Whether it is part of the initial list.
        is_in_initial_list: bool,
    },
    /// The object replaced an older version, or an object of the same name with another uid.
    Updated {
        /// The metadata before.
        old: &'a Metadata,
        /// The metadata after; of the same version as `old` in a resync.
        new: &'a Metadata,
    },
    /// The object was deleted, or no longer matches the informer's selectors.
    Deleted {
        /// The last known state.
        old: &'a Metadata,
        /// Whether `old` is the state at deletion; false for a tombstone (client-go's DeletedFinalStateUnknown).
        final_state_known: bool,
    },
}

impl<'a> Change<'a> {
    pub(super) fn from_event(event: &'a StoreEvent, is_in_initial_list: bool) -> Self {
        match event {
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

    /// Whether an addition or update is exactly one write, delivered by a watch without a gap before it.
    ///
    /// False for objects from a list (streaming or not), for objects that existed before the sink, for a resync, and for every deletion:
    /// a deletion may also mean that the object no longer matches the informer's selectors.
    pub fn is_from_watch(&self) -> bool {
        match self {
            Self::Added {
                new,
                is_in_initial_list,
            } => new.from_watch && !is_in_initial_list,
            Self::Updated { old, new } => {
                // A list may repeat an object that a watch delivered before.
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

    /// Returns the object's namespace and name.
    pub fn name(&self) -> &'a NamespacedName {
        match self {
            Self::Added { new, .. } | Self::Updated { new, .. } => new.name(),
            Self::Deleted { old, .. } => old.name(),
        }
    }
}
