//! A cache of the API server's objects.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use crate::kind::{Key, Kind};
use crate::object;

/// The last known state of all watched objects, including our own writes.
#[derive(Debug, Default)]
pub(crate) struct ObjectCache {
    objects: HashMap<Kind, BTreeMap<Key, Value>>,
}

impl ObjectCache {
    /// All objects of a kind, ordered by namespace and name.
    pub(crate) fn all(&self, kind: Kind) -> impl Iterator<Item = &Value> {
        self.objects.get(&kind).into_iter().flat_map(BTreeMap::values)
    }

    pub(crate) fn get(&self, kind: Kind, namespace: &str, name: &str) -> Option<&Value> {
        self.objects
            .get(&kind)?
            .get(&(namespace.to_owned(), name.to_owned()))
    }

    /// Stores an object, unless a newer version is stored.
    pub(crate) fn upsert(&mut self, kind: Kind, object: Value) {
        let objects = self.objects.entry(kind).or_default();
        let key = object::key(&object);
        match objects.get(&key) {
            Some(stored) if object::resource_version(stored) > object::resource_version(&object) => {}
            _ => drop(objects.insert(key, object)),
        }
    }

    /// Removes an object, unless a newer version is stored.
    pub(crate) fn remove(&mut self, kind: Kind, object: &Value) {
        let objects = self.objects.entry(kind).or_default();
        let key = object::key(object);
        let is_newer = |stored: &Value| object::resource_version(stored) > object::resource_version(object);
        if !objects.get(&key).is_some_and(is_newer) {
            objects.remove(&key);
        }
    }

    /// Removes an object whatever version is stored.
    pub(crate) fn delete(&mut self, kind: Kind, key: &Key) {
        self.objects.entry(kind).or_default().remove(key);
    }

    /// Replaces all objects of a kind by a list at `version`; objects newer than that stay.
    pub(crate) fn replace_all(&mut self, kind: Kind, list: Vec<Value>, version: u64) {
        let objects = self.objects.entry(kind).or_default();
        objects.retain(|_, stored| object::resource_version(stored) > version);
        for object in list {
            self.upsert(kind, object);
        }
    }
}
