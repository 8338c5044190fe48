//! The store: the objects by name, and the indexes over them.

use std::{borrow::Cow, collections::HashSet, sync::Arc};

use hashbrown::HashMap;
use parking_lot::RwLock;

use super::{
    fifo::{Delta, Namespace},
    index::{Index, IndexKey},
    index_sets::IndexSets,
    object::StoredObject,
};
use crate::ObjectName;

/// A change that was made to the store.
#[derive(Debug, Clone)]
pub(super) enum Stored {
    Added(Arc<StoredObject>),
    Updated {
        old: Arc<StoredObject>,
        new: Arc<StoredObject>,
    },
    Deleted {
        old: Arc<StoredObject>,
        final_state_known: bool,
    },
}

impl Stored {
    /// An update that changes nothing: it was told before, and is told again to those who resync.
    fn unchanged(object: &Arc<StoredObject>) -> Self {
        Self::Updated {
            old: object.clone(),
            new: object.clone(),
        }
    }

    pub(super) fn is_unchanged(&self) -> bool {
        matches!(self, Self::Updated { old, new } if Arc::ptr_eq(old, new))
    }

    pub(super) fn name(&self) -> &ObjectName {
        match self {
            Self::Added(object) | Self::Updated { new: object, .. } | Self::Deleted { old: object, .. } => {
                object.metadata.name()
            }
        }
    }
}

/// Objects by name. Many readers, one writer; readers see each batch whole or not at all.
#[derive(Debug, Default)]
pub(super) struct Store {
    inner: RwLock<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    objects: HashMap<ObjectName, Arc<StoredObject>>,
    namespaces: IndexSets<Box<str>>,
    indexes: Vec<(Arc<Index>, IndexSets<IndexKey>)>,
    bytes: usize,
}

impl Store {
    pub(super) fn get(&self, name: &ObjectName) -> Option<Arc<StoredObject>> {
        self.inner.read().objects.get(name).cloned()
    }

    /// All objects that pass.
    pub(super) fn all(&self, mut pass: impl FnMut(&StoredObject) -> bool) -> Vec<Arc<StoredObject>> {
        let inner = self.inner.read();
        inner
            .objects
            .values()
            .filter(|object| pass(object))
            .cloned()
            .collect()
    }

    /// The objects of a namespace that pass.
    pub(super) fn of_namespace(
        &self,
        namespace: &str,
        mut pass: impl FnMut(&StoredObject) -> bool,
    ) -> Vec<Arc<StoredObject>> {
        let inner = self.inner.read();
        let objects = inner
            .namespaces
            .names(namespace)
            .filter_map(|name| inner.objects.get(name));
        objects.filter(|object| pass(object)).cloned().collect()
    }

    /// The objects that have the value in the index.
    pub(super) fn by_index(&self, index: &str, key: &IndexKey) -> Vec<Arc<StoredObject>> {
        let inner = self.inner.read();
        let names = inner.index(index).into_iter().flat_map(|sets| sets.names(key));
        names
            .filter_map(|name| inner.objects.get(name))
            .cloned()
            .collect()
    }

    /// The names of the objects that have the value in the index, sorted.
    pub(super) fn index_keys(&self, index: &str, key: &IndexKey) -> Vec<ObjectName> {
        let inner = self.inner.read();
        let mut names: Vec<_> = inner
            .index(index)
            .into_iter()
            .flat_map(|sets| sets.names(key))
            .cloned()
            .collect();
        drop(inner);
        names.sort_unstable();
        names
    }

    pub(super) fn indexes(&self) -> Vec<Arc<Index>> {
        self.inner
            .read()
            .indexes
            .iter()
            .map(|(index, _)| index.clone())
            .collect()
    }

    /// Adds an index and fills it. Says whether it is new: one of the same name is left as it is.
    pub(super) fn add_index(&self, index: Index) -> bool {
        let mut inner = self.inner.write();
        if inner.index(index.spec.name).is_some() {
            return false;
        }
        let mut sets = IndexSets::default();
        for (name, object) in &inner.objects {
            for key in index.values(&object.json).keys {
                sets.insert(key, name);
            }
        }
        inner.indexes.push((Arc::new(index), sets));
        true
    }

    /// Objects and the bytes of their JSON.
    pub(super) fn size(&self) -> (usize, usize) {
        let inner = self.inner.read();
        (inner.objects.len(), inner.bytes)
    }

    /// How many values each index holds, that of namespaces first.
    #[cfg(test)]
    pub(super) fn index_sizes(&self) -> Vec<usize> {
        let inner = self.inner.read();
        let sizes = inner.indexes.iter().map(|(_, sets)| sets.values());
        std::iter::once(inner.namespaces.values()).chain(sizes).collect()
    }

    /// Applies a batch at once. Says what it changed, in order; if `and_unchanged`, also what came again in the version that is there.
    pub(super) fn apply(&self, batch: Vec<Delta>, and_unchanged: bool) -> Vec<Stored> {
        let mut inner = self.inner.write();
        let mut changes = Vec::with_capacity(batch.len());
        for delta in batch {
            match delta {
                Delta::Upserted(object) => changes.extend(inner.upsert(object, and_unchanged)),
                Delta::Deleted(object) => changes.extend(inner.delete(object, true)),
                Delta::Tombstone(object) => changes.extend(inner.delete(object, false)),
                Delta::Replaced { namespace, objects } => {
                    inner.replace(&namespace, objects, and_unchanged, &mut changes);
                }
                Delta::Sync(object) => {
                    changes.extend(inner.objects.get(object.metadata.name()).map(Stored::unchanged));
                }
                Delta::SyncAll => changes.extend(inner.objects.values().map(Stored::unchanged)),
            }
        }
        changes
    }
}

impl Inner {
    fn index(&self, name: &str) -> Option<&IndexSets<IndexKey>> {
        self.indexes
            .iter()
            .find_map(|(index, sets)| (index.spec.name == name).then_some(sets))
    }

    /// Leaves the old object alone when it has the version already.
    fn upsert(&mut self, new: Arc<StoredObject>, and_unchanged: bool) -> Option<Stored> {
        let Some(old) = self.objects.get(&new.metadata.name).cloned() else {
            self.insert(&new);
            return Some(Stored::Added(new));
        };
        if same_version(&old, &new) {
            return and_unchanged.then(|| Stored::unchanged(&old));
        }
        self.remove(&old);
        self.insert(&new);
        Some(Stored::Updated { old, new })
    }

    /// A deletion of what is not there was told before, by a relist.
    fn delete(&mut self, last: Arc<StoredObject>, final_state_known: bool) -> Option<Stored> {
        let old = self.objects.get(&last.metadata.name).cloned()?;
        self.remove(&old);
        Some(Stored::Deleted {
            old: last,
            final_state_known,
        })
    }

    /// Deletions first, then the new and the changed in the order of the list.
    fn replace(
        &mut self,
        namespace: &Namespace,
        objects: Vec<Arc<StoredObject>>,
        and_unchanged: bool,
        changes: &mut Vec<Stored>,
    ) {
        let kept: HashSet<&ObjectName> = objects.iter().map(|object| &object.metadata.name).collect();
        let gone: Vec<Arc<StoredObject>> = self
            .names(namespace.as_deref())
            .filter(|name| !kept.contains(name))
            .filter_map(|name| self.objects.get(name).cloned())
            .collect();
        drop(kept);
        for old in gone {
            self.remove(&old);
            changes.push(Stored::Deleted {
                old,
                final_state_known: false,
            });
        }
        for object in objects {
            changes.extend(self.upsert(object, and_unchanged));
        }
    }

    fn names<'s>(&'s self, namespace: Option<&str>) -> Box<dyn Iterator<Item = &'s ObjectName> + 's> {
        match namespace {
            Some(namespace) => Box::new(self.namespaces.names(namespace)),
            None => Box::new(self.objects.keys()),
        }
    }

    fn insert(&mut self, object: &Arc<StoredObject>) {
        let name = &object.metadata.name;
        self.bytes += object.json.len();
        self.namespaces
            .insert(name.namespace().unwrap_or_default().into(), name);
        for (position, (index, sets)) in self.indexes.iter_mut().enumerate() {
            for key in keys(object, position, index).iter() {
                sets.insert(key.clone(), name);
            }
        }
        self.objects.insert(name.clone(), object.clone());
    }

    fn remove(&mut self, object: &StoredObject) {
        let name = &object.metadata.name;
        self.objects.remove(name);
        self.bytes -= object.json.len();
        self.namespaces.remove(name.namespace().unwrap_or_default(), name);
        for (position, (index, sets)) in self.indexes.iter_mut().enumerate() {
            for key in keys(object, position, index).iter() {
                sets.remove(key, name);
            }
        }
    }
}

/// What the scan found, unless the index is younger than the object.
fn keys<'o>(object: &'o StoredObject, position: usize, index: &Index) -> Cow<'o, [IndexKey]> {
    match object.indexed.get(position) {
        Some(values) => Cow::Borrowed(&values.keys),
        None => Cow::Owned(index.values(&object.json).keys.into_vec()),
    }
}

fn same_version(old: &StoredObject, new: &StoredObject) -> bool {
    let (old, new) = (&old.metadata, &new.metadata);
    !new.resource_version.is_empty() && old.resource_version == new.resource_version && old.uid == new.uid
}
