//! A handler that is told of some objects only.

use std::{collections::HashSet, fmt};

use parking_lot::Mutex;

use super::{Deleted, EventHandler, Object};
use crate::{NamespacedName, View, panics::caught};

/// Tells a handler only of objects that pass a predicate.
///
/// An object that begins to pass is told as an addition, one that no longer passes as a deletion: with the state that passed last,
/// `final_state_known`. The predicate is asked once of each state, in the handler's task; it may look at more than the object. Whether a
/// deletion is told depends on what the handler was told before, not on the object's last state. So the handler sees a life without gaps
/// of each object, whatever the predicate says. For that, the names of the objects that pass are remembered.
///
/// A predicate that panics did not let the object pass; the panic is logged.
pub struct Filtered<P, H> {
    predicate: P,
    handler: H,
    /// Those of which the handler was told.
    passed: Mutex<HashSet<NamespacedName>>,
}

impl<P, H> Filtered<P, H> {
    /// Tells `handler` of what `predicate` says yes to.
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
                "the predicate of a filtered event handler panicked at {}: {panic}; the handler is not told of that object",
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
