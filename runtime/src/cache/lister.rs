//! Listers: read the store of an informer by name, namespace, label selector, index and owner.

use std::{fmt, marker::PhantomData, sync::Arc, vec};

use kube::core::Selector;

use super::{
    DecodeError, IndexKey, Metadata, Object, Owner,
    index::{CONTROLLER_UID_INDEX, Index},
    label_selector::LabelRequirements,
    object::StoredObject,
    snapshot_tree::{self, Tree},
    stats::count,
    untyped_informer::UntypedInformer,
};
use crate::{NamespacedName, View};

/// Reads the objects of one informer's store (client-go's Lister and Indexer). Cloning copies a pointer.
///
/// Guaranteed: each call reads a consistent snapshot of the store, which contains each batch of changes completely or not at all, in
/// lookups by name, namespace and index alike. Returned objects never change. A later call reads no older snapshot, unless the API server
/// itself went back, as after it was restored from a backup. No call waits for the network or for another reader.
///
/// Not guaranteed: that two calls read the same snapshot; that it is up to date: the cache is behind the API server by the latency of the
/// watch, or longer while the watch is broken. Before the cache sync, objects may be missing. After the informer has stopped, its last
/// objects can still be read.
pub struct Lister<K> {
    untyped: Arc<UntypedInformer>,
    kind: PhantomData<fn() -> K>,
}

impl<K> Clone for Lister<K> {
    fn clone(&self) -> Self {
        Self::over(self.untyped.clone())
    }
}

impl<K> fmt::Debug for Lister<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lister")
            .field("info", self.untyped.info())
            .finish_non_exhaustive()
    }
}

// ANCHOR: lookup
/// Why a lookup in the cache failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LookupError {
    /// The cache has no such object. The API server may have it nevertheless.
    #[error("{kind} {name} not found in the cache")]
    NotFound {
        /// The kind.
        kind: String,
        /// The name that was looked up.
        name: NamespacedName,
    },
    /// The object is in the cache, but its bytes do not decode as `K`.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The informer has no index of that name.
    #[error(
        "the informer of {kind} has no index {index:?}, only {indexes:?}; add it with `SharedInformer::add_index` before the lookup"
    )]
    UnknownIndex {
        /// The kind of the informer.
        kind: String,
        /// The name of the missing index.
        index: String,
        /// The names of the indexes that the informer has.
        indexes: Vec<String>,
    },
    /// The owner has no uid: it was not read from an API server.
    #[error(
        "cannot look up the {kind} objects that {owner} owns: the owner has no uid; pass an owner that was read from the API server or the \
         cache, and give objects that a test seeds a `metadata.uid`"
    )]
    OwnerWithoutUid {
        /// The kind of the objects that were looked up.
        kind: String,
        /// Namespace and name of the owner.
        owner: NamespacedName,
    },
}
// ANCHOR_END: lookup

impl LookupError {
    /// Whether the error is [`NotFound`](Self::NotFound).
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }
}

/// Iterator over the objects of a list; decodes each object as it advances.
///
/// Guaranteed: it iterates over a snapshot, each object once, `len` objects in all. It holds no lock; the objects that it has not returned
/// yet stay in memory. An object that does not decode is an error item and does not end the iteration. Decoded objects are not cached.
/// A long iteration yields the thread about every half millisecond.
///
/// Not guaranteed: an order, or the same order twice.
pub struct Items<K> {
    source: ItemsSource,
    kind: PhantomData<fn() -> K>,
}

#[derive(Clone)]
enum ItemsSource {
    Snapshot(snapshot_tree::TreeIntoIter),
    Filtered(vec::IntoIter<Arc<StoredObject>>),
}

impl Iterator for ItemsSource {
    type Item = Arc<StoredObject>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Snapshot(objects) => objects.next(),
            Self::Filtered(objects) => objects.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::Snapshot(objects) => objects.size_hint(),
            Self::Filtered(objects) => objects.size_hint(),
        }
    }
}

impl ExactSizeIterator for ItemsSource {}

impl<K: View> Iterator for Items<K> {
    type Item = Result<Arc<K>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let object = self.source.next()?;
        Some(object.decoder.decode(&object))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.source.size_hint()
    }
}

impl<K: View> ExactSizeIterator for Items<K> {}

impl<K> fmt::Debug for Items<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.source.clone().map(|object| object.name().clone());
        f.debug_list().entries(names).finish()
    }
}

impl<K: View> Items<K> {
    /// The objects of a snapshot, which is walked as the iterator advances.
    fn all(snapshot: Tree) -> Self {
        Self::new(ItemsSource::Snapshot(snapshot.into_iter()))
    }

    /// The objects of a snapshot with metadata that passes the filter.
    fn filtered(snapshot: &Tree, filter: impl Fn(&Metadata) -> bool) -> Self {
        let selected = snapshot.iter().filter(|object| filter(&object.metadata));
        let selected = selected.cloned().collect::<Vec<_>>();
        Self::new(ItemsSource::Filtered(selected.into_iter()))
    }

    fn new(source: ItemsSource) -> Self {
        Self {
            source,
            kind: PhantomData,
        }
    }

    /// Returns the objects without decoding them.
    pub fn objects(self) -> impl ExactSizeIterator<Item = Object<K>> {
        self.source.map(Object::new)
    }
}

impl<K> Lister<K> {
    pub(super) fn over(untyped: Arc<UntypedInformer>) -> Self {
        Self {
            untyped,
            kind: PhantomData,
        }
    }
}

impl<K: View> Lister<K> {
    /// Returns the decoded object of that name.
    ///
    /// The second `get` of a version puts the decoded object into the decoded cache, where it stays until the object changes or the cache
    /// is full: see [`SharedInformerFactory::set_decoded_cache_bytes`](super::SharedInformerFactory::set_decoded_cache_bytes). It is cached as
    /// one type, the first that is read twice: if listers of two types read one store, the other one decodes at each call.
    pub fn get(&self, name: &NamespacedName) -> Result<Arc<K>, LookupError> {
        let Some(object) = self.untyped.store.get(name) else {
            return Err(LookupError::NotFound {
                kind: self.untyped.info().kind.to_string(),
                name: name.clone(),
            });
        };
        Ok(self.untyped.decoder.decode_and_cache(&object)?)
    }

    /// Returns the object of that name without decoding it.
    pub fn object(&self, name: &NamespacedName) -> Option<Object<K>> {
        Some(Object::new(self.untyped.store.get(name)?))
    }

    /// Returns all objects, in no particular order.
    pub fn list(&self) -> Items<K> {
        Items::all(self.scanned())
    }

    /// Returns the objects with matching labels. Visits each object's labels; for frequent lookups add an index.
    pub fn select(&self, selector: &Selector) -> Items<K> {
        let requirements = LabelRequirements::of(selector);
        Items::filtered(&self.scanned(), |metadata| requirements.match_labels(metadata))
    }

    /// Returns a lister of one namespace.
    pub fn namespace(&self, namespace: &str) -> NamespaceLister<K> {
        NamespaceLister {
            lister: self.clone(),
            namespace: namespace.into(),
        }
    }

    /// Returns the objects that have `value` in the index, in no particular order. Costs one hash lookup.
    ///
    /// An index that the informer does not have is a [`LookupError::UnknownIndex`].
    pub fn by_index(&self, index: &str, value: impl Into<IndexKey>) -> Result<Items<K>, LookupError> {
        self.index_snapshot(index, &value.into()).map(Items::all)
    }

    /// As [`by_index`](Self::by_index), for listers that a derive generates: their informers have the index. Empty without it.
    #[doc(hidden)]
    pub fn by_derived_index(&self, index: &str, value: impl Into<IndexKey>) -> Items<K> {
        Items::all(
            self.untyped
                .store
                .by_index(index, &value.into())
                .unwrap_or_default(),
        )
    }

    /// Returns the sorted names of the objects that have `value` in the index.
    ///
    /// An index that the informer does not have is a [`LookupError::UnknownIndex`].
    pub fn index_keys(
        &self,
        index: &str,
        value: impl Into<IndexKey>,
    ) -> Result<Vec<NamespacedName>, LookupError> {
        let names = self.untyped.store.index_keys(index, &value.into());
        names.ok_or_else(|| self.unknown_index(index))
    }

    /// Returns the values that objects have in the index, sorted, each once.
    ///
    /// An index that the informer does not have is a [`LookupError::UnknownIndex`].
    pub fn index_values(&self, index: &str) -> Result<Vec<IndexKey>, LookupError> {
        let values = self.untyped.store.index_values(index);
        values.ok_or_else(|| self.unknown_index(index))
    }

    /// Returns the objects that `owner` controls: those with its uid in their controller owner reference (`controller: true`).
    ///
    /// This is the owner that `.owns(…)` maps changes to. Other owner references do not count. The lookup is by uid, so that objects of a
    /// deleted owner with the same name are not returned. Only objects in the owner's namespace are returned, or, of a cluster-scoped
    /// owner, those of all namespaces.
    ///
    /// The index over owner uids is added to the informer by the first call, which reads the metadata of each cached object once. From then
    /// on a call costs one hash lookup. An informer on which this is never called pays nothing for it.
    ///
    /// An owner without a uid is a [`LookupError::OwnerWithoutUid`].
    ///
    /// ```
    /// # use k8s_openapi::api::{apps::v1::ReplicaSet, core::v1::Pod};
    /// # use kubewright::cache::{Lister, LookupError};
    /// fn count(pods: &Lister<Pod>, owner: &ReplicaSet) -> Result<usize, LookupError> {
    ///     Ok(pods.owned_by(owner)?.len())
    /// }
    /// ```
    pub fn owned_by(&self, owner: &impl Owner) -> Result<Items<K>, LookupError> {
        let name = owner.owner_name();
        let Some(uid) = owner.owner_uid().filter(|uid| !uid.is_empty()) else {
            return Err(LookupError::OwnerWithoutUid {
                kind: self.untyped.info().kind.to_string(),
                owner: name,
            });
        };
        let (store, uid) = (&self.untyped.store, IndexKey::from(uid));
        let dependents = if let Some(dependents) = store.by_index(CONTROLLER_UID_INDEX, &uid) {
            dependents
        } else {
            store.add_index(Index::by_controller_uid());
            self.index_snapshot(CONTROLLER_UID_INDEX, &uid)?
        };
        Ok(match name.namespace() {
            Some(namespace) => Items::filtered(&dependents, |metadata| {
                metadata.name().namespace() == Some(namespace)
            }),
            None => Items::all(dependents),
        })
    }

    /// All objects, for a visit of each.
    fn scanned(&self) -> Tree {
        count(&self.untyped.counters.scans);
        self.untyped.store.all()
    }

    fn index_snapshot(&self, index: &str, value: &IndexKey) -> Result<Tree, LookupError> {
        let objects = self.untyped.store.by_index(index, value);
        objects.ok_or_else(|| self.unknown_index(index))
    }

    fn unknown_index(&self, index: &str) -> LookupError {
        LookupError::UnknownIndex {
            kind: self.untyped.info().kind.to_string(),
            index: index.to_owned(),
            indexes: self.indexes(),
        }
    }

    /// Returns the names of the indexes, in the order in which they were added. The index of namespaces, which always exists, has no name:
    /// [`namespace`](Self::namespace) reads it.
    pub fn indexes(&self) -> Vec<String> {
        let indexes = self.untyped.store.indexes();
        indexes.iter().map(|index| index.name.to_string()).collect()
    }
}

/// A [`Lister`] of one namespace, with the same guarantees. Empty if the informer does not watch the namespace, or if it does not exist.
pub struct NamespaceLister<K> {
    lister: Lister<K>,
    namespace: Arc<str>,
}

impl<K> Clone for NamespaceLister<K> {
    fn clone(&self) -> Self {
        Self {
            lister: self.lister.clone(),
            namespace: self.namespace.clone(),
        }
    }
}

impl<K> fmt::Debug for NamespaceLister<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamespaceLister")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl<K: View> NamespaceLister<K> {
    /// Returns the decoded object of that name.
    pub fn get(&self, name: &str) -> Result<Arc<K>, LookupError> {
        self.lister
            .get(&NamespacedName::namespaced(self.namespace.clone(), name))
    }

    /// Returns all objects of the namespace, in no particular order.
    pub fn list(&self) -> Items<K> {
        Items::all(self.scanned())
    }

    /// Returns the objects of the namespace that have `value` in the index, in no particular order.
    ///
    /// It walks the objects that have the value in any namespace. An index that the informer does not have is a
    /// [`LookupError::UnknownIndex`].
    pub fn by_index(&self, index: &str, value: impl Into<IndexKey>) -> Result<Items<K>, LookupError> {
        let found = self.lister.index_snapshot(index, &value.into())?;
        Ok(Items::filtered(&found, |metadata| {
            metadata.name().namespace().unwrap_or_default() == &*self.namespace
        }))
    }

    /// Returns the objects of the namespace with matching labels.
    pub fn select(&self, selector: &Selector) -> Items<K> {
        let requirements = LabelRequirements::of(selector);
        Items::filtered(&self.scanned(), |metadata| requirements.match_labels(metadata))
    }

    /// All objects of the namespace, for a visit of each.
    fn scanned(&self) -> Tree {
        let untyped = &self.lister.untyped;
        count(&untyped.counters.scans);
        untyped.store.of_namespace(&self.namespace)
    }
}
