//! A handler that receives only objects that pass a predicate (client-go's FilteringResourceEventHandler).

use std::{collections::HashSet, fmt};

use parking_lot::Mutex;

use super::{Deleted, EventHandler, Object};
use crate::{NamespacedName, View, panics::caught};

/// Passes to a handler only the events of objects that pass a predicate (client-go's FilteringResourceEventHandler).
///
/// An object that begins to pass is delivered as an addition. One that no longer passes is delivered as a deletion, with the last state
/// that passed and `final_state_known` true. The predicate is called once for each state, in the handler's task; it may use more than
/// the object. Whether a deletion is delivered depends on the handler's earlier events, not on the object's last state, so that the
/// handler always sees add, updates, delete in that order, even if the predicate's result changes by itself. For this, the names of the
/// objects that pass are stored.
///
/// If the predicate panics, the object does not pass; the panic is logged.
pub struct Filtered<P, H> {
    predicate: P,
    handler: H,
    /// The objects that the handler knows.
    passed: Mutex<HashSet<NamespacedName>>,
}

impl<P, H> Filtered<P, H> {
    /// Returns a handler that passes to `handler` the objects for which `predicate` returns true.
    pub fn new(predicate: P, handler: H) -> Self {
        Self {
            predicate,
            handler,
            passed: Mutex::default(),
        }
    }

    fn passes<K: View>(&self, object: &Object<K>) -> bool
    where
        P: Fn(&Object<K>) -> bool,
    {
        caught(|| (self.predicate)(object)).unwrap_or_else(|panic| {
            tracing::error!(
                "the predicate of a filtered event handler panicked at {}: {panic}; the object is filtered out",
                object.name()
            );
            false
        })
    }
}

impl<P, H: fmt::Debug> fmt::Debug for Filtered<P, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filtered")
            .field("handler", &self.handler)
            .finish_non_exhaustive()
    }
}

impl<K, P, H> EventHandler<K> for Filtered<P, H>
where
    K: View,
    P: Fn(&Object<K>) -> bool + Send + Sync + 'static,
    H: EventHandler<K>,
{
    fn on_add(&self, object: &Object<K>, is_in_initial_list: bool) {
        if self.passes(object) {
            self.passed.lock().insert(object.name().clone());
            self.handler.on_add(object, is_in_initial_list);
        }
    }

    fn on_update(&self, old: &Object<K>, new: &Object<K>) {
        let passes = self.passes(new);
        let is_known = if passes {
            !self.passed.lock().insert(new.name().clone())
        } else {
            self.passed.lock().remove(new.name())
        };
        match (is_known, passes) {
            (true, true) => self.handler.on_update(old, new),
            (false, true) => self.handler.on_add(new, false),
            (true, false) => self.handler.on_delete(&Deleted {
                object: old.clone(),
                final_state_known: true,
            }),
            (false, false) => {}
        }
    }

    fn on_delete(&self, deleted: &Deleted<K>) {
        let passed = self.passed.lock().remove(deleted.object.name());
        if passed {
            self.handler.on_delete(deleted);
        }
    }
}
