//! Orphans, objects without a controller: an index over them, and the owners that may adopt one when it changes.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use kubewright::{
    Kind, NamespacedName, View,
    cache::{Change, IndexKey, Lister, LookupError, Metadata, Object, Owner as _, SharedInformer},
    controller::predicates::labels_changed,
};

use super::{
    invalid_objects::{InvalidObject, InvalidObjects},
    label_matcher::{InvalidSelector, LabelMatcher},
};

const ORPHAN_INDEX: &str = "orphans by namespace";

/// Reads the orphans of a kind by namespace, without visiting other objects.
pub(crate) struct Orphans<K>(Lister<K>);

impl<K: View> Orphans<K> {
    /// Adds the index to the informer, unless another controller did.
    pub(crate) fn of(informer: &SharedInformer<K>) -> Self {
        let lister = informer.lister();
        if !lister.indexes().iter().any(|name| name == ORPHAN_INDEX) {
            let namespace = |object: &Object<K>| {
                let is_orphan = object.metadata().controller().is_none();
                let namespace = object.name().namespace().filter(|_| is_orphan);
                Ok::<_, String>(namespace.map(IndexKey::from))
            };
            if let Err(error) = informer.add_index_function(ORPHAN_INDEX, namespace) {
                tracing::error!("{error}");
            }
        }
        Self(lister)
    }

    /// Returns the orphans in a namespace.
    pub(crate) fn in_namespace(
        &self,
        namespace: &str,
    ) -> Result<impl Iterator<Item = Object<K>> + use<K>, LookupError> {
        Ok(self.0.by_index(ORPHAN_INDEX, namespace)?.objects())
    }
}

/// A kind that selects objects by their labels.
pub(crate) trait Selects: Kind {
    /// Compiles the selector. An absent one is [`None`] and selects nothing.
    fn selector(&self) -> Result<Option<LabelMatcher>, InvalidSelector>;
}

/// The compiled selectors of all owners of a kind. Each is compiled once for a generation of its owner.
pub(crate) struct Selectors<O> {
    owners: Lister<O>,
    controller: &'static str,
    invalid: InvalidObjects,
    /// By the owner's uid.
    compiled: Mutex<HashMap<Box<str>, CompiledSelector>>,
}

#[derive(Clone)]
struct CompiledSelector {
    generation: Option<i64>,
    matcher: Option<Arc<LabelMatcher>>,
}

impl<O: Selects> Selectors<O> {
    /// Selectors for a controller, under whose name it reports those that are empty or invalid.
    pub(crate) fn new(owners: Lister<O>, controller: &'static str, invalid: &InvalidObjects) -> Self {
        Self {
            owners,
            controller,
            invalid: invalid.clone(),
            compiled: Mutex::default(),
        }
    }

    /// Returns the selector of an owner. None if it is absent, empty or invalid, which is reported: API servers refuse such owners, and their
    /// controllers should do nothing.
    pub(crate) fn of(&self, owner: &O) -> Option<Arc<LabelMatcher>>
    where
        O: kube::Resource,
    {
        let (info, metadata, name) = (O::info(), owner.meta(), owner.owner_name());
        let object = InvalidObject::decoded(&info.kind, &name, metadata);
        self.look_up(object, || self.compile(owner, object))
    }

    /// [`of`](Self::of) for an owner that is not decoded yet.
    pub(crate) fn of_cached(&self, owner: &Object<O>) -> Option<Arc<LabelMatcher>> {
        let info = O::info();
        let object = InvalidObject::of(&info.kind, owner.metadata());
        // The reconcile reports owners that do not decode.
        self.look_up(object, || self.compile(&*owner.decode().ok()?, object))
    }

    fn look_up(
        &self,
        owner: InvalidObject<'_>,
        compile: impl FnOnce() -> Option<LabelMatcher>,
    ) -> Option<Arc<LabelMatcher>> {
        let InvalidObject { uid, generation, .. } = owner;
        let known = self.compiled().get(uid).cloned();
        if let Some(known) = known
            && known.generation.is_some()
            && known.generation == generation
        {
            return known.matcher;
        }
        let matcher = compile().map(Arc::new);
        let selector = CompiledSelector {
            generation,
            matcher: matcher.clone(),
        };
        self.compiled().insert(uid.into(), selector);
        matcher
    }

    fn compile(&self, owner: &O, object: InvalidObject<'_>) -> Option<LabelMatcher> {
        let (reason, why) = match owner.selector() {
            Ok(Some(matcher)) if !matcher.is_empty() => return Some(matcher),
            Ok(_) => ("EmptySelector", "its selector is empty".to_owned()),
            Err(error) => ("InvalidSelector", error.to_string()),
        };
        self.invalid.report(self.controller, object, reason, &why);
        None
    }

    /// Returns the owners that may adopt the changed object: those that select it, if it became an orphan, or is one with new labels. If there
    /// are several, each is reported: one of them will own the object, and it is chance which one.
    ///
    /// Objects of the initial list enqueue nothing: the first reconcile of each owner finds them in the cache.
    pub(crate) fn adopters(&self, change: &Change<'_>) -> Vec<NamespacedName> {
        let Some(orphan) = new_orphan(change) else {
            return Vec::new();
        };
        let Some(namespace) = orphan.name().namespace() else {
            return Vec::new();
        };
        let owners = self.owners.namespace(namespace).list().objects();
        let adopters = owners.filter(|owner| {
            self.of_cached(owner)
                .is_some_and(|selector| selector.matches(|key| orphan.label(key)))
        });
        let adopters: Vec<_> = adopters.collect();
        self.report_overlaps(orphan, &adopters);
        adopters.iter().map(|owner| owner.name().clone()).collect()
    }

    fn report_overlaps(&self, orphan: &Metadata, adopters: &[Object<O>]) {
        let [first, second, ..] = adopters else {
            return;
        };
        let info = O::info();
        for owner in adopters {
            let other = if owner.name() == first.name() {
                second
            } else {
                first
            };
            let why = format_args!(
                "its selector and that of {} match {}: change one of them",
                other.name(),
                orphan.name()
            );
            let object = InvalidObject::of(&info.kind, owner.metadata());
            self.invalid
                .report(self.controller, object, "OverlappingSelector", &why);
        }
    }

    /// Drops the selector of an owner that was deleted.
    pub(crate) fn forget(&self, uid: &str) {
        self.compiled().remove(uid);
    }

    fn compiled(&self) -> MutexGuard<'_, HashMap<Box<str>, CompiledSelector>> {
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the object, if the change may lead to its adoption.
fn new_orphan<'c>(change: &Change<'c>) -> Option<&'c Metadata> {
    let (new, is_news) = match *change {
        Change::Added {
            new,
            is_in_initial_list,
        } => (new, !is_in_initial_list),
        Change::Updated { old, new } => (new, old.controller().is_some() || labels_changed(change)),
        Change::Deleted { .. } => return None,
    };
    (is_news && !new.is_deleting() && new.controller().is_none()).then_some(new)
}

#[cfg(test)]
#[path = "orphans_tests.rs"]
mod tests;
