//! The store: the cached objects by name, and the indexes over them (client-go's ThreadSafeStore).

use std::{cmp::Ordering, hash::BuildHasher as _, sync::Arc};

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use parking_lot::RwLock;

use super::{
    fifo::{Delta, Namespace},
    index::{Index, IndexKey},
    indexer::Indexer,
    metadata::Metadata,
    object::StoredObject,
    prefetch, resource_version,
    snapshot_tree::Tree,
};
use crate::NamespacedName;

/// Prefetches memory for at most this many deltas at a time: more would evict the first of it from the CPU's cache.
const PREFETCH_MAX_DELTAS: usize = 64;
/// Prefetching fewer deltas than this costs more than it saves.
const PREFETCH_MIN_DELTAS: usize = 4;

/// A change of one object in the store, as handlers and sinks receive it.
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
    /// An update that changes nothing. Only listeners that resync receive it.
    fn unchanged(object: &Arc<StoredObject>) -> Self {
        Self::Updated {
            old: object.clone(),
            new: object.clone(),
        }
    }

    pub(super) fn is_unchanged(&self) -> bool {
        matches!(self, Self::Updated { old, new } if Arc::ptr_eq(old, new))
    }

    /// Returns the object that the change replaced or deleted.
    pub(super) fn outdated(&self) -> Option<&StoredObject> {
        match self {
            Self::Added(_) => None,
            Self::Updated { .. } if self.is_unchanged() => None,
            Self::Updated { old, .. } | Self::Deleted { old, .. } => Some(old),
        }
    }

    /// Returns the current object, or the last state of a deleted one.
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

/// The cached objects by name, with their indexes. Many readers, one writer; a reader sees each batch completely or not at all.
///
/// A reader holds the lock only to look up one object or to take a snapshot, so that a list of 100,000 objects delays neither the writer
/// nor other readers.
#[derive(Debug, Default)]
pub(super) struct Store {
    state: RwLock<StoreState>,
    hasher: DefaultHashBuilder,
}

#[derive(Debug, Default)]
struct StoreState {
    objects: Tree,
    namespaces: Indexer<Box<str>>,
    /// Indexes are added, never removed.
    indexes: Vec<(Arc<Index>, Indexer<IndexKey>)>,
    bytes: usize,
    /// The last resource version of each reflector, by the namespace that it lists.
    versions: Vec<(Namespace, Box<str>)>,
    /// The number of lists with an older resource version than the store had before.
    rewinds: u64,
}

impl Store {
    pub(super) fn get(&self, name: &NamespacedName) -> Option<Arc<StoredObject>> {
        let hash = self.hash(name);
        self.state.read().objects.get(hash, name).cloned()
    }

    /// Returns the stored object of that name if it has the same uid and resource version.
    pub(super) fn get_same_version(&self, metadata: &Metadata) -> Option<Arc<StoredObject>> {
        self.get(metadata.name())
            .filter(|stored| metadata.is_version_of(&stored.metadata))
    }

    /// Returns a snapshot of all objects.
    pub(super) fn all(&self) -> Tree {
        self.state.read().objects.clone()
    }

    /// Returns a snapshot of the objects of a namespace.
    pub(super) fn of_namespace(&self, namespace: &str) -> Tree {
        self.state.read().namespaces.get(namespace)
    }

    /// Returns a snapshot of the objects that have the value in the index; none without such an index.
    pub(super) fn by_index(&self, index: &str, key: &IndexKey) -> Option<Tree> {
        let state = self.state.read();
        state.index(index).map(|objects| objects.get(key))
    }

    /// Returns the sorted names of the objects that have the value in the index; none without such an index.
    pub(super) fn index_keys(&self, index: &str, key: &IndexKey) -> Option<Vec<NamespacedName>> {
        let objects = self.by_index(index, key)?;
        let mut names: Vec<_> = objects.iter().map(|object| object.name().clone()).collect();
        names.sort_unstable();
        Some(names)
    }

    /// Returns the sorted values of the index; none without such an index.
    pub(super) fn index_values(&self, index: &str) -> Option<Vec<IndexKey>> {
        let mut values = {
            let state = self.state.read();
            state.index(index).map(Indexer::keys)?
        };
        values.sort_unstable();
        Some(values)
    }

    pub(super) fn indexes(&self) -> Vec<Arc<Index>> {
        let state = self.state.read();
        state.indexes.iter().map(|(index, _)| index.clone()).collect()
    }

    /// Adds an index and fills it. An index of the same name is left as it is; returns false if that one has another definition.
    ///
    /// The index's function is called without a lock. Objects that arrive during these calls are indexed in another round.
    pub(super) fn add_index(&self, index: Index) -> bool {
        let index = Arc::new(index);
        // By address; the held pointer keeps the address from being reused.
        let mut keys_of: HashMap<*const StoredObject, (Arc<StoredObject>, Box<[IndexKey]>)> = HashMap::new();
        let mut missing: Vec<Arc<StoredObject>> = self.all().iter().cloned().collect();
        loop {
            for object in missing.drain(..) {
                let keys = index.keys(&object);
                keys_of.insert(Arc::as_ptr(&object), (object, keys));
            }
            let mut state = self.state.write();
            if let Some((existing, _)) = state.indexes.iter().find(|(known, _)| known.name == index.name) {
                return existing.is_equivalent(&index);
            }
            let objects = state.objects.clone();
            missing.extend(
                objects
                    .iter()
                    .filter(|object| !keys_of.contains_key(&Arc::as_ptr(object)))
                    .cloned(),
            );
            if !missing.is_empty() {
                continue;
            }
            let position = state.indexes.len();
            let mut indexer = Indexer::default();
            for object in objects.iter() {
                let Some((_, keys)) = keys_of.remove(&Arc::as_ptr(object)) else {
                    continue;
                };
                let hash = self.hash(object.name());
                for key in &keys {
                    indexer.insert(key, hash, object);
                }
                object.set_keys(position, keys);
            }
            state.indexes.push((index, indexer));
            return true;
        }
    }

    /// Returns the resource version up to which all changes of a namespace are in the store; none before its first list.
    pub(super) fn version(&self, namespace: Option<&str>) -> Option<String> {
        let state = self.state.read();
        let version = |wanted: Option<&str>| {
            let found = state.versions.iter().find(|(of, _)| of.as_deref() == wanted);
            found.map(|(_, version)| version.to_string())
        };
        version(namespace).or_else(|| version(None))
    }

    /// Whether all changes of a namespace up to a resource version are in the store. None before its first list, and where the versions
    /// cannot be compared.
    pub(super) fn has_reached(&self, namespace: Option<&str>, version: &str) -> Option<bool> {
        let state = self.state.read();
        let of = |wanted: Option<&str>| state.versions.iter().find(|(of, _)| of.as_deref() == wanted);
        let (_, reached) = of(namespace).or_else(|| of(None))?;
        Some(resource_version::compare(reached, version)? != Ordering::Less)
    }

    /// Returns how often a list had an older resource version than the store before it, as after the API server was restored from a backup.
    pub(super) fn rewinds(&self) -> u64 {
        self.state.read().rewinds
    }

    /// Returns the number of objects, the bytes of their JSON, and the bytes that are stored of it. Visits each object.
    pub(super) fn size(&self) -> (usize, usize, usize) {
        let (objects, bytes) = {
            let state = self.state.read();
            (state.objects.clone(), state.bytes)
        };
        let kept = objects.iter().map(|object| object.payload.kept()).sum();
        (objects.len(), bytes, kept)
    }

    /// Returns the bytes of all objects' JSON.
    pub(super) fn bytes(&self) -> usize {
        self.state.read().bytes
    }

    /// Returns the number of values in each index, the namespace index first.
    #[cfg(test)]
    pub(super) fn index_sizes(&self) -> Vec<usize> {
        let state = self.state.read();
        let sizes = state.indexes.iter().map(|(_, indexer)| indexer.values());
        std::iter::once(state.namespaces.values()).chain(sizes).collect()
    }

    /// Applies a batch atomically. Returns the changes in order; with `include_unchanged`, also the objects that arrived again in the stored
    /// version. For one writer.
    pub(super) fn apply(&self, batch: Vec<Delta>, include_unchanged: bool) -> Vec<StoreEvent> {
        let mut state = loop {
            let indexes = self.indexes();
            for object in batch.iter().flat_map(Delta::objects) {
                object.index(&indexes);
            }
            let state = self.state.write();
            // Otherwise an index was added while the lock was not held: index again.
            if state.indexes.len() == indexes.len() {
                break state;
            }
        };
        let mut changes = Vec::with_capacity(batch.len());
        let (mut batch, mut prefetched) = (batch.into_iter(), 0);
        loop {
            if prefetched == 0 {
                let next = batch.as_slice();
                self.prefetch(&state, &next[..next.len().min(PREFETCH_MAX_DELTAS)]);
                prefetched = PREFETCH_MAX_DELTAS;
            }
            prefetched -= 1;
            let Some(delta) = batch.next() else { break };
            match delta {
                Delta::Upserted(object) => {
                    changes.extend(state.upsert(self.hash(object.name()), object, include_unchanged));
                }
                Delta::Deleted(object) => {
                    changes.extend(state.delete(self.hash(object.name()), object, true));
                }
                Delta::DeletedFinalStateUnknown(object) => {
                    changes.extend(state.delete(self.hash(object.name()), object, false));
                }
                Delta::Replaced {
                    namespace,
                    version,
                    objects,
                } => {
                    // Deletions first, then additions and updates in the order of the list.
                    self.delete_unlisted(&mut state, &namespace, &objects, &mut changes);
                    for object in objects {
                        changes.extend(state.upsert(self.hash(object.name()), object, include_unchanged));
                    }
                    state.set_listed_version(namespace, version);
                }
                Delta::Listed { namespace, version } => state.set_listed_version(namespace, version),
                Delta::Bookmark { namespace, version } => state.advance_version(&namespace, version),
                Delta::Sync(object) => {
                    let hash = self.hash(object.name());
                    changes.extend(state.objects.get(hash, object.name()).map(StoreEvent::unchanged));
                }
                Delta::SyncAll => changes.extend(state.objects.iter().map(StoreEvent::unchanged)),
            }
        }
        changes
    }

    /// Reads the memory that applying these deltas will touch, all of it at once: applied one by one, each delta would wait for memory
    /// several times.
    fn prefetch(&self, state: &StoreState, batch: &[Delta]) {
        if batch.len() < PREFETCH_MIN_DELTAS {
            return;
        }
        let names = batch.iter().filter_map(|delta| match delta {
            Delta::Upserted(object) | Delta::Deleted(object) => Some(object.name()),
            _ => None,
        });
        let hashed: Vec<_> = names.map(|name| (name, self.hash(name))).collect();
        let trees = hashed.iter().flat_map(|&(name, hash)| {
            let of_namespace = state.namespaces.tree(name.namespace().unwrap_or_default());
            [
                Some((&state.objects, hash)),
                of_namespace.map(|tree| (tree, hash)),
            ]
        });
        let stored: Vec<_> = Tree::prefetch(trees.flatten()).collect();
        for old in &stored {
            old.prefetch();
        }
        prefetch::read(stored.iter().map(|old| old.metadata.touch()));
        for old in &stored {
            old.payload.prefetch();
        }
    }

    /// Deletes the objects of a namespace (none: all) that are not in the list: tombstones, because the watch missed their deletion.
    fn delete_unlisted(
        &self,
        state: &mut StoreState,
        namespace: &Namespace,
        objects: &[Arc<StoredObject>],
        changes: &mut Vec<StoreEvent>,
    ) {
        let stored = match namespace {
            Some(namespace) => state.namespaces.get(&**namespace),
            None => state.objects.clone(),
        };
        if stored.is_empty() {
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
        let unlisted: Vec<_> = stored
            .iter()
            .filter(|object| !is_listed(object))
            .cloned()
            .collect();
        // Dropped before the store changes: a tree that is shared with a snapshot is copied when it changes.
        drop(stored);
        for old in unlisted {
            state.remove(self.hash(old.name()), &old);
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

impl StoreState {
    fn index(&self, name: &str) -> Option<&Indexer<IndexKey>> {
        self.indexes
            .iter()
            .find_map(|(index, indexer)| (*index.name == *name).then_some(indexer))
    }

    /// Sets the resource version of a list, even if it is older than the one before.
    fn set_listed_version(&mut self, namespace: Namespace, version: Box<str>) {
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

    /// Advances the resource version. Ignored before the first list, and if the version is older.
    fn advance_version(&mut self, namespace: &Namespace, version: Box<str>) {
        let known = self.versions.iter_mut().find(|(of, _)| of == namespace);
        if let Some((_, known)) = known
            && resource_version::compare(known, &version) != Some(Ordering::Greater)
        {
            *known = version;
        }
    }

    /// Adds or replaces an object; does nothing if the stored object has the same version.
    fn upsert(&mut self, hash: u64, new: Arc<StoredObject>, include_unchanged: bool) -> Option<StoreEvent> {
        let old = self.objects.get(hash, new.name()).cloned();
        if let Some(old) = old
            .as_ref()
            .filter(|old| new.metadata.is_version_of(&old.metadata))
        {
            return include_unchanged.then(|| StoreEvent::unchanged(old));
        }
        if let Some(old) = &old {
            self.bytes -= old.payload.length();
            self.remove_from_indexes(hash, old, Some(&new));
        }
        self.bytes += new.payload.length();
        self.namespaces.insert(namespace(&new), hash, &new);
        for (position, (_, indexer)) in self.indexes.iter_mut().enumerate() {
            for key in &new.keys(position).unwrap_or_default() {
                indexer.insert(key, hash, &new);
            }
        }
        self.objects.insert(hash, new.clone());
        Some(match old {
            Some(old) => StoreEvent::Updated { old, new },
            None => StoreEvent::Added(new),
        })
    }

    /// Deletes an object. If it is not stored, a relist has already delivered its deletion.
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
        self.remove_from_indexes(hash, object, None);
    }

    /// Removes an object from the indexes, except from values that `next`, its replacement, has too.
    fn remove_from_indexes(&mut self, hash: u64, object: &StoredObject, next: Option<&StoredObject>) {
        for (position, (_, indexer)) in self.indexes.iter_mut().enumerate() {
            let kept = next.and_then(|next| next.keys(position)).unwrap_or_default();
            for key in &object.keys(position).unwrap_or_default() {
                if !kept.contains(key) {
                    indexer.remove(key, hash, object.name());
                }
            }
        }
    }
}

fn namespace(object: &StoredObject) -> &str {
    object.name().namespace().unwrap_or_default()
}
