//! The indexer: the objects that have each value of an index.

use std::{borrow::Borrow, hash::Hash, sync::Arc};

use hashbrown::HashMap;

use super::{object::StoredObject, snapshot_tree::Tree};
use crate::NamespacedName;

/// The objects of one index by value. A value without objects has no entry.
#[derive(Debug)]
pub(super) struct Indexer<V>(HashMap<V, Tree>);

impl<V> Default for Indexer<V> {
    fn default() -> Self {
        Self(HashMap::default())
    }
}

impl<V: Eq + Hash> Indexer<V> {
    /// Adds the object under a value, and replaces the one of the same name. `hash` is the hash of the name.
    pub(super) fn insert<'q, Q: Eq + Hash + ?Sized>(
        &mut self,
        value: &'q Q,
        hash: u64,
        object: &Arc<StoredObject>,
    ) where
        V: Borrow<Q> + From<&'q Q>,
    {
        self.0.entry_ref(value).or_default().insert(hash, object.clone());
    }

    /// Removes the object of that name from a value.
    pub(super) fn remove<Q: Eq + Hash + ?Sized>(&mut self, value: &Q, hash: u64, name: &NamespacedName)
    where
        V: Borrow<Q>,
    {
        if let Some(objects) = self.0.get_mut(value) {
            objects.remove(hash, name);
            if objects.is_empty() {
                self.0.remove(value);
            }
        }
    }

    /// Returns the values that objects have, in no particular order.
    pub(super) fn keys(&self) -> Vec<V>
    where
        V: Clone,
    {
        self.0.keys().cloned().collect()
    }

    /// Returns the objects under a value; none if no object has it.
    pub(super) fn tree<Q: Eq + Hash + ?Sized>(&self, value: &Q) -> Option<&Tree>
    where
        V: Borrow<Q>,
    {
        self.0.get(value)
    }

    /// Returns a snapshot of the objects under a value; empty if no object has it.
    pub(super) fn get<Q: Eq + Hash + ?Sized>(&self, value: &Q) -> Tree
    where
        V: Borrow<Q>,
    {
        self.tree(value).cloned().unwrap_or_default()
    }

    #[cfg(test)]
    pub(super) fn values(&self) -> usize {
        self.0.len()
    }
}
