//! Wait list: the keys that wait until one informer shows their writes.

use std::collections::BTreeMap;

use hashbrown::HashSet;

use crate::{
    NamespacedName,
    cache::{InformerHandle, OrderedVersion},
};

/// The keys that wait for resource versions of one informer, or for deletions.
#[derive(Debug, Default)]
pub(super) struct WaitList {
    /// By namespace, then by version. An informer that lists namespaces one by one can have reached different versions in them.
    versions: BTreeMap<Box<str>, BTreeMap<OrderedVersion, Vec<WaitingKey>>>,
    deletions: HashSet<NamespacedName>,
}

/// A key, and the object that it wrote.
type WaitingKey = (NamespacedName, NamespacedName);

impl WaitList {
    /// Adds a key that waits until the informer has reached the version.
    pub(super) fn add_version(&mut self, key: &NamespacedName, object: &NamespacedName, version: &str) {
        let namespace = object.namespace().unwrap_or_default();
        if !self.versions.contains_key(namespace) {
            self.versions.insert(namespace.into(), BTreeMap::new());
        }
        if let Some(versions) = self.versions.get_mut(namespace) {
            let waiting = versions.entry(OrderedVersion::new(version)).or_default();
            waiting.push((key.clone(), object.clone()));
        }
    }

    /// Adds a key that waits for a deletion.
    pub(super) fn add_deletion(&mut self, key: &NamespacedName) {
        self.deletions.insert(key.clone());
    }

    pub(super) fn len(&self) -> usize {
        self.versions.values().map(BTreeMap::len).sum::<usize>() + self.deletions.len()
    }

    /// Takes out the keys that wait for a reached version, and all that wait for deletions.
    pub(super) fn take_reached(&mut self, informer: &InformerHandle) -> HashSet<NamespacedName> {
        let mut taken = std::mem::take(&mut self.deletions);
        self.versions.retain(|_, versions| {
            while let Some(first) = versions.first_entry() {
                let object = first.get().first().map(|(_, object)| object);
                let is_reached = object.and_then(|object| informer.has_reached(object, first.key().as_str()));
                if is_reached == Some(false) {
                    break;
                }
                taken.extend(first.remove().into_iter().map(|(key, _)| key));
            }
            !versions.is_empty()
        });
        taken
    }

    /// Takes out all keys.
    pub(super) fn take_all(&mut self) -> HashSet<NamespacedName> {
        let mut taken = std::mem::take(&mut self.deletions);
        let versions = std::mem::take(&mut self.versions).into_values();
        taken.extend(
            versions
                .flat_map(BTreeMap::into_values)
                .flatten()
                .map(|(key, _)| key),
        );
        taken
    }
}
