//! The names that an index holds under each value.

use std::{borrow::Borrow, hash::Hash};

use hashbrown::{HashMap, HashSet};

use crate::ObjectName;

/// Names by value. A value without names takes no room.
#[derive(Debug)]
pub(super) struct IndexSets<V>(HashMap<V, HashSet<ObjectName>>);

impl<V> Default for IndexSets<V> {
    fn default() -> Self {
        Self(HashMap::default())
    }
}

impl<V: Eq + Hash> IndexSets<V> {
    pub(super) fn insert(&mut self, value: V, name: &ObjectName) {
        self.0.entry(value).or_default().insert(name.clone());
    }

    pub(super) fn remove<Q: Eq + Hash + ?Sized>(&mut self, value: &Q, name: &ObjectName)
    where
        V: Borrow<Q>,
    {
        if let Some(names) = self.0.get_mut(value) {
            names.remove(name);
            if names.is_empty() {
                self.0.remove(value);
            }
        }
    }

    pub(super) fn names<'s, Q: Eq + Hash + ?Sized>(
        &'s self,
        value: &Q,
    ) -> impl Iterator<Item = &'s ObjectName> + use<'s, V, Q>
    where
        V: Borrow<Q>,
    {
        self.0.get(value).into_iter().flatten()
    }

    #[cfg(test)]
    pub(super) fn values(&self) -> usize {
        self.0.len()
    }
}
