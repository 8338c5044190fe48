//! The shared informer of one kind.

use std::marker::PhantomData;

use super::{Lister, Metadata, Object, lister::IndexKey};
use crate::{KindInfo, ObjectName, View};

/// A shared informer: one list and watch, any number of readers. Cloning copies a pointer.
pub struct SharedInformer<K> {
    _kind: PhantomData<fn() -> K>,
}

impl<K> Clone for SharedInformer<K> {
    fn clone(&self) -> Self {
        Self { _kind: PhantomData }
    }
}

/// A change of the store, undecoded, as in-line sinks see it after the store was changed.
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
        /// After.
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

/// A deleted object.
pub struct Deleted<K> {
    /// The last state that is known.
    pub object: Object<K>,
    /// Whether `object` is the state at deletion; false when the deletion was missed and found by a relist.
    pub final_state_known: bool,
}

/// Told of every change, one at a time, in order, in a task of its own.
pub trait EventHandler<K>: Send + Sync + 'static {
    /// An object appeared.
    fn on_add(&self, object: &Object<K>, is_in_initial_list: bool) {
        let _ = (object, is_in_initial_list);
    }
    /// An object changed, or was resynced (equal resource versions).
    fn on_update(&self, old: &Object<K>, new: &Object<K>) {
        let _ = (old, new);
    }
    /// An object went away.
    fn on_delete(&self, deleted: &Deleted<K>) {
        let _ = deleted;
    }
}

/// A registered handler; see [`HandlerRegistration::remove`].
pub struct HandlerRegistration {}

impl HandlerRegistration {
    /// Whether the handler was told of everything in the first list.
    pub fn has_synced(&self) -> bool {
        unimplemented!()
    }
    /// Stops the handler; dropping the registration does not.
    pub fn remove(&self) {
        unimplemented!()
    }
}

impl<K: View> SharedInformer<K> {
    /// The kind that is watched.
    pub fn info(&self) -> &KindInfo {
        unimplemented!()
    }
    /// Reads the store.
    pub fn lister(&self) -> Lister<K> {
        unimplemented!()
    }
    /// Whether the first list is in the store.
    pub fn has_synced(&self) -> bool {
        unimplemented!()
    }
    /// Adds a handler, also after start.
    pub fn add_event_handler(&self, _handler: impl EventHandler<K>) -> HandlerRegistration {
        unimplemented!()
    }
    /// Adds a sink that is called in line, after the store was changed and before the next change: it must be quick and must not block.
    /// This is what controllers feed their queues with.
    pub fn add_sink(&self, _sink: impl Fn(&Change<'_>) + Send + Sync + 'static) {
        unimplemented!()
    }
    /// Names of objects that have `value` in the index.
    pub fn index_keys(&self, _index: &str, _value: &IndexKey) -> Vec<ObjectName> {
        unimplemented!()
    }
}
