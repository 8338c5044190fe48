//! Last answers: the uid and resource version of the controller's last write of each object that no informer covers, in bounded memory.

use std::hash::BuildHasher as _;

use hashbrown::{DefaultHashBuilder, HashMap};

use crate::{ApiResource, NamespacedName};

/// So many objects are remembered at least, and twice as many at most; an entry takes some 20 bytes.
const OBJECTS_PER_GENERATION: usize = 32_768;

/// Hashes of objects, with hashes of their last uid and resource version.
///
/// Two generations approximate an LRU: when the newer one is full it replaces the older one, which drops the objects without recent writes. A
/// dropped object counts as changed at its next write. Two versions with the same 64-bit hash would count as equal; a random seed makes
/// that as improbable for every input.
#[derive(Debug, Default)]
pub(super) struct LastAnswers {
    newer: HashMap<u64, u64>,
    older: HashMap<u64, u64>,
    hasher: DefaultHashBuilder,
}

impl LastAnswers {
    /// Remembers an answer, and returns whether the one before it had the same uid and resource version.
    pub(super) fn replace(
        &mut self,
        kind: &ApiResource,
        name: &NamespacedName,
        uid: &str,
        version: &str,
    ) -> bool {
        let object = self.hasher.hash_one((&*kind.group, &*kind.plural, name));
        let answer = self.hasher.hash_one((uid, version));
        if self.newer.len() >= OBJECTS_PER_GENERATION && !self.newer.contains_key(&object) {
            self.older = std::mem::take(&mut self.newer);
        }
        let last = self.newer.insert(object, answer);
        last.or_else(|| self.older.remove(&object)) == Some(answer)
    }
}

#[cfg(test)]
#[path = "last_answers_tests.rs"]
mod tests;
