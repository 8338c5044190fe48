//! The dependents of each owner, and which objects must be processed after a change. Pure: its input is the changes of the caches.
//!
//! Objects themselves stay in the caches. Upstream's graph has a node for every object of the cluster, and virtual ones for owners that it
//! has not seen; here an owner is looked up where it would be, and only edges are kept.

use std::{
    collections::{HashMap, HashSet},
    hash::{Hash, Hasher},
    sync::Arc,
};

use kubewright::{
    ApiResource, NamespacedName,
    cache::{Metadata, OwnerRef},
};

use super::{FOREGROUND, ORPHAN};

/// An object: its place, and its uid, which alone identifies it.
#[derive(Clone, Debug)]
pub(super) struct ObjectKey {
    pub(super) kind: Arc<ApiResource>,
    pub(super) name: NamespacedName,
    pub(super) uid: Arc<str>,
}

/// Owners and their dependents, by uid.
#[derive(Debug, Default)]
pub(super) struct Graph {
    dependents: HashMap<Arc<str>, HashSet<ObjectKey>>,
    /// Owners that wait for their dependents: their foreground deletion has begun.
    waiting: HashMap<Arc<str>, ObjectKey>,
}

/// What follows from a change.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Effect {
    /// The objects to look at.
    pub(super) enqueue: Vec<ObjectKey>,
    /// Whether the object is gone and had dependents, for which it is to be remembered.
    pub(super) is_lost_owner: bool,
}

impl Graph {
    /// The object was added or changed.
    pub(super) fn changed(
        &mut self,
        kind: &Arc<ApiResource>,
        old: Option<&Metadata>,
        new: &Metadata,
    ) -> Effect {
        if let Some(old) = old.filter(|old| old.uid() != new.uid()) {
            let mut effect = self.removed(kind, old);
            effect.enqueue.extend(self.changed(kind, None, new).enqueue);
            return effect;
        }
        let key = ObjectKey::new(kind, new);
        let (before, after) = (
            old.map_or(&[][..], Metadata::owner_references),
            new.owner_references(),
        );
        let mut enqueue = Vec::new();
        for owner in before {
            let now = find(after, &owner.uid);
            if now.is_none() {
                self.remove_dependent(&owner.uid, &key);
            }
            // The owner waits for one dependent less.
            if owner.block_owner_deletion && !now.is_some_and(|now| now.block_owner_deletion) {
                enqueue.extend(self.waiting.get(&owner.uid).cloned());
            }
        }
        let mut has_new_owner = false;
        for owner in after {
            has_new_owner |= find(before, &owner.uid).is_none_or(|known| !is_same_place(known, owner));
            self.dependents
                .entry(owner.uid.clone())
                .or_default()
                .insert(key.clone());
        }
        let begins = |finalizer| waits(new, finalizer) && !old.is_some_and(|old| waits(old, finalizer));
        let is_waiting = waits(new, FOREGROUND) && !waits(new, ORPHAN);
        if !is_waiting {
            // It has not begun, or it is over and another finalizer keeps the object: a second foreground deletion begins anew.
            self.waiting.remove(&key.uid);
        }
        if is_waiting && !self.waiting.contains_key(&key.uid) {
            self.waiting.insert(key.uid.clone(), key.clone());
            enqueue.extend(self.dependents(&key.uid));
            enqueue.push(key);
        } else if has_new_owner || begins(ORPHAN) {
            enqueue.push(key);
        }
        Effect {
            enqueue,
            is_lost_owner: false,
        }
    }

    /// The object is gone.
    pub(super) fn removed(&mut self, kind: &Arc<ApiResource>, old: &Metadata) -> Effect {
        let key = ObjectKey::new(kind, old);
        self.waiting.remove(&key.uid);
        let dependents = self.dependents(&key.uid);
        let mut enqueue: Vec<_> = dependents.collect();
        let is_lost_owner = !enqueue.is_empty();
        for owner in old.owner_references() {
            self.remove_dependent(&owner.uid, &key);
            enqueue.extend(self.waiting.get(&owner.uid).cloned());
        }
        Effect {
            enqueue,
            is_lost_owner,
        }
    }

    /// Returns the objects that name an object as owner.
    pub(super) fn dependents(&self, uid: &str) -> impl Iterator<Item = ObjectKey> + use<> {
        let dependents = self.dependents.get(uid).cloned();
        dependents.into_iter().flatten()
    }

    /// The number of owners that have dependents.
    #[cfg(test)]
    pub(super) fn owner_count(&self) -> usize {
        self.dependents.len()
    }

    fn remove_dependent(&mut self, owner: &str, key: &ObjectKey) {
        if let Some(dependents) = self.dependents.get_mut(owner) {
            dependents.remove(key);
            if dependents.is_empty() {
                self.dependents.remove(owner);
            }
        }
    }
}

impl ObjectKey {
    pub(super) fn new(kind: &Arc<ApiResource>, metadata: &Metadata) -> Self {
        Self {
            kind: kind.clone(),
            name: metadata.name().clone(),
            uid: metadata.uid().into(),
        }
    }
}

impl PartialEq for ObjectKey {
    fn eq(&self, other: &Self) -> bool {
        self.uid == other.uid
    }
}

impl Eq for ObjectKey {}

impl Hash for ObjectKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.uid.hash(state);
    }
}

/// Whether the object is being deleted and has the finalizer.
pub(super) fn waits(metadata: &Metadata, finalizer: &str) -> bool {
    metadata.is_deleting() && metadata.finalizers().any(|known| known == finalizer)
}

fn find<'a>(owners: &'a [OwnerRef], uid: &str) -> Option<&'a OwnerRef> {
    owners.iter().find(|owner| *owner.uid == *uid)
}

fn is_same_place(one: &OwnerRef, other: &OwnerRef) -> bool {
    (&one.api_version, &one.kind, &one.name) == (&other.api_version, &other.kind, &other.name)
}

#[cfg(test)]
#[path = "graph_tests.rs"]
mod tests;
