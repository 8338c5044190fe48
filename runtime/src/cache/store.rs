//! The store: the objects by name, and the indexes over them.

use std::{cmp::Ordering, hash::BuildHasher as _, hint::black_box, sync::Arc};

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use parking_lot::RwLock;

use super::{
    fifo::{Delta, Namespace},
    index::{Index, IndexKey},
    indexer::Indexer,
    metadata::Metadata,
    object::StoredObject,
    resource_version,
    tree::Tree,
};
use crate::NamespacedName;

/// For so many changes what they will touch is read beforehand: more would drive the first of it out of the processor's cache.
const FETCHED: usize = 64;
/// For fewer it does not pay.
const FEW: usize = 4;

/// A change that was made to the store.
#[derive(Debug, Clone)]
pub(super) enum StoreEvent {
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

impl StoreEvent {
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

    /// The object that it put out of date.
    pub(super) fn outdated(&self) -> Option<&StoredObject> {
        match self {
            Self::Added(_) => None,
            Self::Updated { .. } if self.is_unchanged() => None,
            Self::Updated { old, .. } | Self::Deleted { old, .. } => Some(old),
        }
    }

    /// The object as it is now, or was last.
    pub(super) fn object(&self) -> &StoredObject {
        match self {
            Self::Added(object) | Self::Updated { new: object, .. } | Self::Deleted { old: object, .. } => {
                object
            }
        }
    }

    pub(super) fn name(&self) -> &NamespacedName {
        self.object().name()
    }
}

/// Objects by name. Many readers, one writer; readers see each batch whole or not at all.
///
/// A reader holds the lock only as long as it takes to find one object, or to take a snapshot: a list of a hundred thousand objects holds
/// up nobody.
#[derive(Debug, Default)]
pub(super) struct Store {
    inner: RwLock<Inner>,
    hasher: DefaultHashBuilder,
}

#[derive(Debug, Default)]
struct Inner {
    objects: Tree,
    namespaces: Indexer<Box<str>>,
    /// Only ever grows.
    indexes: Vec<(Arc<Index>, Indexer<IndexKey>)>,
    bytes: usize,
    /// How far each reflector has come.
    versions: Vec<(Namespace, Box<str>)>,
    /// How often a list was older than what was reached before it.
    rewinds: u64,
}

impl Store {
    pub(super) fn get(&self, name: &NamespacedName) -> Option<Arc<StoredObject>> {
        let hash = self.hash(name);
        self.inner.read().objects.get(hash, name).cloned()
    }

    /// The object of that name, if it is there in this version.
    pub(super) fn known(&self, metadata: &Metadata) -> Option<Arc<StoredObject>> {
        self.get(metadata.name())
            .filter(|known| metadata.is_version_of(&known.metadata))
    }

    /// All objects.
    pub(super) fn all(&self) -> Tree {
        self.inner.read().objects.clone()
    }

    /// The objects of a namespace.
    pub(super) fn of_namespace(&self, namespace: &str) -> Tree {
        self.inner.read().namespaces.get(namespace)
    }

    /// The objects that have the value in the index; none if there is no such index.
    pub(super) fn by_index(&self, index: &str, key: &IndexKey) -> Option<Tree> {
        let inner = self.inner.read();
        inner.index(index).map(|objects| objects.get(key))
    }

    /// The sorted names of the objects that have the value in the index; none if there is no such index.
    pub(super) fn index_keys(&self, index: &str, key: &IndexKey) -> Option<Vec<NamespacedName>> {
        let objects = self.by_index(index, key)?;
        let mut names: Vec<_> = objects.iter().map(|object| object.name().clone()).collect();
        names.sort_unstable();
        Some(names)
    }

    /// The sorted values of the index; none if there is no such index.
    pub(super) fn index_values(&self, index: &str) -> Option<Vec<IndexKey>> {
        let mut values = {
            let inner = self.inner.read();
            inner.index(index).map(Indexer::keys)?
        };
        values.sort_unstable();
        Some(values)
    }

    pub(super) fn indexes(&self) -> Vec<Arc<Index>> {
        let inner = self.inner.read();
        inner.indexes.iter().map(|(index, _)| index.clone()).collect()
    }

    /// Adds an index and fills it. An index of the same name is left as it is; returns false if that one has another definition.
    ///
    /// The index's function is called without a lock. Objects that arrive meanwhile are indexed in another round.
    pub(super) fn add_index(&self, index: Index) -> bool {
        let index = Arc::new(index);
        // By address; the pointer keeps the address from being used again.
        let mut known: HashMap<*const StoredObject, (Arc<StoredObject>, Box<[IndexKey]>)> = HashMap::new();
        let mut unknown: Vec<Arc<StoredObject>> = self.all().iter().cloned().collect();
        loop {
            for object in unknown.drain(..) {
                let keys = index.keys(&object);
                known.insert(Arc::as_ptr(&object), (object, keys));
            }
            let mut inner = self.inner.write();
            if let Some((existing, _)) = inner.indexes.iter().find(|(known, _)| known.name == index.name) {
                return existing.is_equivalent(&index);
            }
            let objects = inner.objects.clone();
            unknown.extend(
                objects
                    .iter()
                    .filter(|object| !known.contains_key(&Arc::as_ptr(object)))
                    .cloned(),
            );
            if !unknown.is_empty() {
                continue;
            }
            let position = inner.indexes.len();
            let mut sets = Indexer::default();
            for object in objects.iter() {
                let Some((_, keys)) = known.remove(&Arc::as_ptr(object)) else {
                    continue;
                };
                let hash = self.hash(object.name());
                for key in &keys {
                    sets.insert(key, hash, object);
                }
                object.set_keys(position, keys);
            }
            inner.indexes.push((index, sets));
            return true;
        }
    }

    /// The version up to which everything of a namespace is in the store; none before its first list.
    pub(super) fn version(&self, namespace: Option<&str>) -> Option<String> {
        let inner = self.inner.read();
        let version = |wanted: Option<&str>| {
            let found = inner.versions.iter().find(|(of, _)| of.as_deref() == wanted);
            found.map(|(_, version)| version.to_string())
        };
        version(namespace).or_else(|| version(None))
    }

    /// Whether everything of a namespace up to a version is in the store; none before its first list, or where versions have no order.
    pub(super) fn has_reached(&self, namespace: Option<&str>, version: &str) -> Option<bool> {
        let inner = self.inner.read();
        let of = |wanted: Option<&str>| inner.versions.iter().find(|(of, _)| of.as_deref() == wanted);
        let (_, reached) = of(namespace).or_else(|| of(None))?;
        Some(resource_version::compare(reached, version)? != Ordering::Less)
    }

    /// How often a list was older than what was reached before it, as when the server was restored from a backup.
    pub(super) fn rewinds(&self) -> u64 {
        self.inner.read().rewinds
    }

    /// How many objects there are, the bytes of their JSON, and how many of those are kept. Looks at each object.
    pub(super) fn size(&self) -> (usize, usize, usize) {
        let (objects, bytes) = {
            let inner = self.inner.read();
            (inner.objects.clone(), inner.bytes)
        };
        let kept = objects.iter().map(|object| object.payload.kept()).sum();
        (objects.len(), bytes, kept)
    }

    /// The length of all objects' JSON.
    pub(super) fn bytes(&self) -> usize {
        self.inner.read().bytes
    }

    /// How many values each index holds, that of namespaces first.
    #[cfg(test)]
    pub(super) fn index_sizes(&self) -> Vec<usize> {
        let inner = self.inner.read();
        let sizes = inner.indexes.iter().map(|(_, sets)| sets.values());
        std::iter::once(inner.namespaces.values()).chain(sizes).collect()
    }

    /// Applies a batch at once. Says what it changed, in order; if `and_unchanged`, also what came again in the version that is there.
    /// For one writer.
    pub(super) fn apply(&self, batch: Vec<Delta>, and_unchanged: bool) -> Vec<StoreEvent> {
        let mut inner = loop {
            let indexes = self.indexes();
            for object in batch.iter().flat_map(Delta::objects) {
                object.index(&indexes);
            }
            let inner = self.inner.write();
            // Unless one was added in the meantime.
            if inner.indexes.len() == indexes.len() {
                break inner;
            }
        };
        let mut changes = Vec::with_capacity(batch.len());
        let (mut batch, mut fetched) = (batch.into_iter(), 0);
        loop {
            if fetched == 0 {
                let next = batch.as_slice();
                self.fetch(&inner, &next[..next.len().min(FETCHED)]);
                fetched = FETCHED;
            }
            fetched -= 1;
            let Some(delta) = batch.next() else { break };
            match delta {
                Delta::Upserted(object) => {
                    changes.extend(inner.upsert(self.hash(object.name()), object, and_unchanged));
                }
                Delta::Deleted(object) => {
                    changes.extend(inner.delete(self.hash(object.name()), object, true));
                }
                Delta::DeletedFinalStateUnknown(object) => {
                    changes.extend(inner.delete(self.hash(object.name()), object, false));
                }
                Delta::Replaced {
                    namespace,
                    version,
                    objects,
                } => {
                    // Deletions first, then the new and the changed in the order of the list.
                    self.delete_unlisted(&mut inner, &namespace, &objects, &mut changes);
                    for object in objects {
                        changes.extend(inner.upsert(self.hash(object.name()), object, and_unchanged));
                    }
                    inner.was_listed(namespace, version);
                }
                Delta::Listed { namespace, version } => inner.was_listed(namespace, version),
                Delta::Bookmark { namespace, version } => inner.has_reached(&namespace, version),
                Delta::Sync(object) => {
                    let hash = self.hash(object.name());
                    changes.extend(inner.objects.get(hash, object.name()).map(StoreEvent::unchanged));
                }
                Delta::SyncAll => changes.extend(inner.objects.iter().map(StoreEvent::unchanged)),
            }
        }
        changes
    }

    /// Reads what these changes will come to, all at a time: each waits for memory several times, one after another they would wait in turn.
    fn fetch(&self, inner: &Inner, batch: &[Delta]) {
        if batch.len() < FEW {
            return;
        }
        let names = batch.iter().filter_map(|delta| match delta {
            Delta::Upserted(object) | Delta::Deleted(object) => Some(object.name()),
            _ => None,
        });
        let hashed: Vec<_> = names.map(|name| (name, self.hash(name))).collect();
        let trees = hashed.iter().flat_map(|&(name, hash)| {
            let of_namespace = inner.namespaces.tree(name.namespace().unwrap_or_default());
            [
                Some((&inner.objects, hash)),
                of_namespace.map(|tree| (tree, hash)),
            ]
        });
        let there: Vec<_> = Tree::fetch(trees.flatten()).collect();
        for old in &there {
            old.prefetch();
        }
        black_box(there.iter().map(|old| old.metadata.fetch()).sum::<usize>());
        for old in &there {
            old.payload.prefetch();
        }
    }

    /// Deletes what is not in the list.
    fn delete_unlisted(
        &self,
        inner: &mut Inner,
        namespace: &Namespace,
        objects: &[Arc<StoredObject>],
        changes: &mut Vec<StoreEvent>,
    ) {
        let there = match namespace {
            Some(namespace) => inner.namespaces.get(&**namespace),
            None => inner.objects.clone(),
        };
        if there.is_empty() {
            return;
        }
        let mut listed: HashTable<usize> = HashTable::with_capacity(objects.len());
        let hash = |position: &usize| self.hash(objects[*position].name());
        for position in 0..objects.len() {
            listed.insert_unique(hash(&position), position, hash);
        }
        let is_listed = |object: &StoredObject| {
            let same = |position: &usize| objects[*position].name() == object.name();
            listed.find(self.hash(object.name()), same).is_some()
        };
        let gone: Vec<_> = there
            .iter()
            .filter(|object| !is_listed(object))
            .cloned()
            .collect();
        // Before anything changes: what is shared with a snapshot is copied.
        drop(there);
        for old in gone {
            inner.remove(self.hash(old.name()), &old);
            changes.push(StoreEvent::Deleted {
                old,
                final_state_known: false,
            });
        }
    }

    fn hash(&self, name: &NamespacedName) -> u64 {
        self.hasher.hash_one(name)
    }
}

impl Inner {
    fn index(&self, name: &str) -> Option<&Indexer<IndexKey>> {
        self.indexes
            .iter()
            .find_map(|(index, sets)| (*index.name == *name).then_some(sets))
    }

    /// Whatever it was before.
    fn was_listed(&mut self, namespace: Namespace, version: Box<str>) {
        let known = self.versions.iter_mut().find(|(of, _)| *of == namespace);
        if let Some((_, known)) = known {
            if resource_version::compare(known, &version) == Some(Ordering::Greater) {
                self.rewinds += 1;
            }
            *known = version;
        } else {
            self.versions.push((namespace, version));
        }
    }

    /// Forwards only, where that can be told; not before the first list.
    fn has_reached(&mut self, namespace: &Namespace, version: Box<str>) {
        let known = self.versions.iter_mut().find(|(of, _)| of == namespace);
        if let Some((_, known)) = known
            && resource_version::compare(known, &version) != Some(Ordering::Greater)
        {
            *known = version;
        }
    }

    /// Leaves the old object alone when it has the version already.
    fn upsert(&mut self, hash: u64, new: Arc<StoredObject>, and_unchanged: bool) -> Option<StoreEvent> {
        let old = self.objects.get(hash, new.name()).cloned();
        if let Some(old) = old
            .as_ref()
            .filter(|old| new.metadata.is_version_of(&old.metadata))
        {
            return and_unchanged.then(|| StoreEvent::unchanged(old));
        }
        if let Some(old) = &old {
            self.bytes -= old.payload.length();
            self.leave_indexes(hash, old, Some(&new));
        }
        self.bytes += new.payload.length();
        self.namespaces.insert(namespace(&new), hash, &new);
        for (position, (_, sets)) in self.indexes.iter_mut().enumerate() {
            for key in &new.keys(position).unwrap_or_default() {
                sets.insert(key, hash, &new);
            }
        }
        self.objects.insert(hash, new.clone());
        Some(match old {
            Some(old) => StoreEvent::Updated { old, new },
            None => StoreEvent::Added(new),
        })
    }

    /// A deletion of what is not there was told before, by a relist.
    fn delete(&mut self, hash: u64, last: Arc<StoredObject>, final_state_known: bool) -> Option<StoreEvent> {
        let old = self.objects.get(hash, last.name()).cloned()?;
        self.remove(hash, &old);
        Some(StoreEvent::Deleted {
            old: last,
            final_state_known,
        })
    }

    fn remove(&mut self, hash: u64, object: &StoredObject) {
        self.objects.remove(hash, object.name());
        self.bytes -= object.payload.length();
        self.namespaces.remove(namespace(object), hash, object.name());
        self.leave_indexes(hash, object, None);
    }

    /// Takes an object out of the indexes, but for the values that `next` has too: there it will take the place.
    fn leave_indexes(&mut self, hash: u64, object: &StoredObject, next: Option<&StoredObject>) {
        for (position, (_, sets)) in self.indexes.iter_mut().enumerate() {
            let kept = next.and_then(|next| next.keys(position)).unwrap_or_default();
            for key in &object.keys(position).unwrap_or_default() {
                if !kept.contains(key) {
                    sets.remove(key, hash, object.name());
                }
            }
        }
    }
}

fn namespace(object: &StoredObject) -> &str {
    object.name().namespace().unwrap_or_default()
}
