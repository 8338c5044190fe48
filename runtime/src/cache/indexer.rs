//! The objects that an index holds under each value.

use std::{borrow::Borrow, hash::Hash, sync::Arc};

use hashbrown::HashMap;

use super::{object::StoredObject, tree::Tree};
use crate::NamespacedName;

/// Objects by value. A value without objects takes no room.
#[derive(Debug)]
pub(super) struct Indexer<V>(HashMap<V, Tree>);

impl<V> Default for Indexer<V> {
    fn default() -> Self {
        Self(HashMap::default())
    }
}

impl<V: Eq + Hash> Indexer<V> {
    /// Puts the object in the place of what has its name; `hash` is the name's.
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

    /// The values that objects have, in no order.
    pub(super) fn keys(&self) -> Vec<V>
    where
        V: Clone,
    {
        self.0.keys().cloned().collect()
    }

    /// The objects under a value, as they are now; none without any.
    pub(super) fn tree<Q: Eq + Hash + ?Sized>(&self, value: &Q) -> Option<&Tree>
    where
        V: Borrow<Q>,
    {
        self.0.get(value)
    }

    /// The objects under a value, as a snapshot.
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
