//! Reading the store.

use std::{fmt, marker::PhantomData, sync::Arc, vec};

use kube::core::Selector;

use super::{
    DecodeError, IndexKey, Metadata, Object, Owner,
    index::{CONTROLLER_UID_INDEX, Index},
    label_selector::LabelRequirements,
    object::StoredObject,
    tree::{self, Tree},
    untyped_informer::UntypedInformer,
};
use crate::{NamespacedName, View};

/// Reads the objects of one informer's store. Cloning copies a pointer.
///
/// Guaranteed: each call sees the store at one moment, with each batch of changes whole or not at all, in lookups by name, namespace
/// and index alike; what it hands out never changes. A later call sees no older moment, unless the API server itself went back, as after
/// a backup was restored. No call waits for the network, or for a reader.
///
/// Not guaranteed: that two calls see the same moment; that what was true then is true now: the store is behind the API server by as long as
/// a watch takes, or is away. Before the informer has synced all objects may be missing, or those of some of its namespaces. After it has
/// stopped, what it held last is read.
pub struct Lister<K> {
    core: Arc<UntypedInformer>,
    kind: PhantomData<fn() -> K>,
}

impl<K> Clone for Lister<K> {
    fn clone(&self) -> Self {
        Self::over(self.core.clone())
    }
}

impl<K> fmt::Debug for Lister<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lister")
            .field("info", self.core.info())
            .finish_non_exhaustive()
    }
}

/// Why [`Lister::get`] has no object. The API server may have one all the same.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LookupError {
    /// The cache holds no such object.
    #[error("{kind} {name} not found in the cache")]
    NotFound {
        /// The kind.
        kind: String,
        /// The name asked for.
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

impl LookupError {
    /// Whether there is no such object.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }
}

/// The objects that a list found, as they were at that moment; decoded one by one as the iterator advances.
///
/// Guaranteed: each object once, and as many as `len` says; nothing that changes meanwhile shows. No lock is held, but what it has not
/// yet handed out stays in memory. One that does not decode is an error in its place, and ends nothing. Nothing is kept decoded.
/// A walk over many thousands lets other threads run in between.
///
/// Not guaranteed: an order, or the same order twice.
pub struct Items<K> {
    found: Found,
    kind: PhantomData<fn() -> K>,
}

#[derive(Clone)]
enum Found {
    All(tree::IntoIter),
    Some(vec::IntoIter<Arc<StoredObject>>),
}

impl Iterator for Found {
    type Item = Arc<StoredObject>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::All(all) => all.next(),
            Self::Some(some) => some.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::All(all) => all.size_hint(),
            Self::Some(some) => some.size_hint(),
        }
    }
}

impl ExactSizeIterator for Found {}

impl<K: View> Iterator for Items<K> {
    type Item = Result<Arc<K>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let object = self.found.next()?;
        Some(object.views.read(&object))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.found.size_hint()
    }
}

impl<K: View> ExactSizeIterator for Items<K> {}

impl<K> fmt::Debug for Items<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.found.clone().map(|object| object.name().clone());
        f.debug_list().entries(names).finish()
    }
}

impl<K: View> Items<K> {
    /// The objects of a snapshot, which is only walked as the iterator advances.
    fn all(snapshot: Tree) -> Self {
        Self::new(Found::All(snapshot.into_iter()))
    }

    /// Those that pass.
    fn some(snapshot: &Tree, pass: impl Fn(&Metadata) -> bool) -> Self {
        let found = snapshot.iter().filter(|object| pass(&object.metadata));
        let found = found.cloned().collect::<Vec<_>>();
        Self::new(Found::Some(found.into_iter()))
    }

    fn new(found: Found) -> Self {
        Self {
            found,
            kind: PhantomData,
        }
    }

    /// The objects without decoding them.
    pub fn objects(self) -> impl ExactSizeIterator<Item = Object<K>> {
        self.found.map(Object::new)
    }
}

impl<K> Lister<K> {
    pub(super) fn over(core: Arc<UntypedInformer>) -> Self {
        Self {
            core,
            kind: PhantomData,
        }
    }
}

impl<K: View> Lister<K> {
    /// The object of that name, decoded. Got twice, it stays so for the next who asks, until it changes or there is no room: see
    /// [`SharedInformerFactory::set_hot_set`](super::SharedInformerFactory::set_hot_set). It stays decoded as one type, the first that
    /// got it twice: where listers of two types read one store, the other decodes at each call.
    pub fn get(&self, name: &NamespacedName) -> Result<Arc<K>, LookupError> {
        let Some(object) = self.core.store.get(name) else {
            return Err(LookupError::NotFound {
                kind: self.core.info().kind.to_string(),
                name: name.clone(),
            });
        };
        Ok(self.core.views.read_and_keep(&object)?)
    }

    /// The object of that name, not decoded.
    pub fn object(&self, name: &NamespacedName) -> Option<Object<K>> {
        Some(Object::new(self.core.store.get(name)?))
    }

    /// All objects, in no particular order.
    pub fn list(&self) -> Items<K> {
        Items::all(self.core.store.all())
    }

    /// The objects whose labels match.
    pub fn select(&self, selector: &Selector) -> Items<K> {
        let requirements = LabelRequirements::of(selector);
        Items::some(&self.core.store.all(), |metadata| {
            requirements.match_labels(metadata)
        })
    }

    /// The objects of one namespace.
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
        Items::all(self.core.store.by_index(index, &value.into()).unwrap_or_default())
    }

    /// Returns the sorted names of the objects that have `value` in the index.
    ///
    /// An index that the informer does not have is a [`LookupError::UnknownIndex`].
    pub fn index_keys(
        &self,
        index: &str,
        value: impl Into<IndexKey>,
    ) -> Result<Vec<NamespacedName>, LookupError> {
        let names = self.core.store.index_keys(index, &value.into());
        names.ok_or_else(|| self.unknown_index(index))
    }

    /// Returns the values that objects have in the index, sorted, each once.
    ///
    /// An index that the informer does not have is a [`LookupError::UnknownIndex`].
    pub fn index_values(&self, index: &str) -> Result<Vec<IndexKey>, LookupError> {
        let values = self.core.store.index_values(index);
        values.ok_or_else(|| self.unknown_index(index))
    }

    /// Returns the objects that `owner` controls: those whose controller owner reference (`controller: true`) has its uid.
    ///
    /// This is the owner that `.owns(…)` maps changes to. Other owner references do not count. The lookup is by uid, so that objects of a
    /// deleted owner with the same name are not returned. Only objects in the owner's namespace are returned, or, of a cluster-scoped
    /// owner, those of all namespaces.
    ///
    /// The index over owner uids is added to the informer by the first call, which reads the metadata of each cached object once. From then
    /// on a call costs one hash lookup. An informer of which this is never called pays nothing for it.
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
                kind: self.core.info().kind.to_string(),
                owner: name,
            });
        };
        let (store, uid) = (&self.core.store, IndexKey::from(uid));
        let owned = match store.by_index(CONTROLLER_UID_INDEX, &uid) {
            Some(owned) => owned,
            None => {
                store.add_index(Index::by_controller_uid());
                self.index_snapshot(CONTROLLER_UID_INDEX, &uid)?
            }
        };
        Ok(match name.namespace() {
            Some(namespace) => Items::some(&owned, |metadata| metadata.name().namespace() == Some(namespace)),
            None => Items::all(owned),
        })
    }

    fn index_snapshot(&self, index: &str, value: &IndexKey) -> Result<Tree, LookupError> {
        let objects = self.core.store.by_index(index, value);
        objects.ok_or_else(|| self.unknown_index(index))
    }

    fn unknown_index(&self, index: &str) -> LookupError {
        LookupError::UnknownIndex {
            kind: self.core.info().kind.to_string(),
            index: index.to_owned(),
            indexes: self.indexes(),
        }
    }

    /// Returns the names of the indexes, in the order in which they were added. The index of namespaces, which always exists, has no name:
    /// [`namespace`](Self::namespace) reads it.
    pub fn indexes(&self) -> Vec<String> {
        let indexes = self.core.store.indexes();
        indexes.iter().map(|index| index.name.to_string()).collect()
    }
}

/// [`Lister`] of one namespace, with the same guarantees. It is empty for a namespace that the informer does not watch, or that there is not.
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
    /// The object of that name, decoded.
    pub fn get(&self, name: &str) -> Result<Arc<K>, LookupError> {
        self.lister
            .get(&NamespacedName::namespaced(self.namespace.clone(), name))
    }

    /// All objects of the namespace, in no particular order.
    pub fn list(&self) -> Items<K> {
        Items::all(self.lister.core.store.of_namespace(&self.namespace))
    }

    /// Returns the objects of the namespace that have `value` in the index, in no particular order.
    ///
    /// It walks the objects that have the value in any namespace. An index that the informer does not have is a
    /// [`LookupError::UnknownIndex`].
    pub fn by_index(&self, index: &str, value: impl Into<IndexKey>) -> Result<Items<K>, LookupError> {
        let found = self.lister.index_snapshot(index, &value.into())?;
        Ok(Items::some(&found, |metadata| {
            metadata.name().namespace().unwrap_or_default() == &*self.namespace
        }))
    }

    /// Returns the objects of the namespace whose labels match.
    pub fn select(&self, selector: &Selector) -> Items<K> {
        let (core, requirements) = (&self.lister.core, LabelRequirements::of(selector));
        Items::some(&core.store.of_namespace(&self.namespace), |metadata| {
            requirements.match_labels(metadata)
        })
    }
}
