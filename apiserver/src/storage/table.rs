//! The objects of one resource, and their recent changes.

use super::Object;
use super::object::TypeMeta;
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;
use tokio::sync::watch;

/// The number of changes in a table's history.
pub const HISTORY_CAPACITY: usize = 4096;
/// The number of recent changes that hold their objects as trees; older ones hold JSON.
const TREE_CHANGES: usize = 128;
/// With more objects than this, a table holds objects that did not change recently as JSON.
const JSON_STORAGE_MIN_OBJECTS: usize = 1024;
/// The number of changes that a compaction keeps for open watches.
const HISTORY_AFTER_COMPACTION: usize = TREE_CHANGES;

/// A change of an object.
#[derive(Debug)]
pub struct Change {
    /// The type of the change.
    pub kind: ChangeKind,
    /// The revision of the change.
    pub revision: u64,
    /// The object's key.
    pub key: Arc<str>,
    /// The object after the change; for a deletion, its last state with the revision of the deletion.
    pub object: Arc<Object>,
    /// The object before the change.
    pub before: Option<Arc<Object>>,
}

/// The type of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The object was created.
    Added,
    /// The object was updated.
    Modified,
    /// The object was deleted.
    Deleted,
}

/// Entries that a write removed. Dropping their trees takes long, so that is done after the lock is released.
pub(super) type Evicted = [Option<Arc<Change>>; 2];

#[derive(Debug, Default)]
pub(super) struct ResourceTable {
    /// Sorted by key (namespace, slash, name), as in etcd.
    objects: BTreeMap<Arc<str>, Arc<Object>>,
    /// The type of the last object that was converted to JSON.
    ty: Option<Arc<TypeMeta>>,
    history: VecDeque<Arc<Change>>,
    /// The history contains all changes after this revision.
    truncated_at: u64,
    pub(super) changed: watch::Sender<u64>,
    last_page: Mutex<LastPage>,
}

/// The last page that was read: the number of remaining objects of the next page need not be counted again.
#[derive(Debug, Default)]
struct LastPage {
    /// The revision of the newest change when the page was read.
    newest: u64,
    prefix: String,
    /// The last key of the page.
    last: Arc<str>,
    remaining: usize,
}

impl ResourceTable {
    pub(super) fn get(&self, key: &str) -> Option<Arc<Object>> {
        self.objects.get(key).map(Object::reader_copy)
    }

    /// The revision of an object.
    pub(super) fn revision(&self, key: &str) -> Option<u64> {
        self.objects.get(key).map(|object| object.revision)
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    /// All objects.
    pub(super) fn all(&self) -> impl Iterator<Item = Arc<Object>> {
        self.objects.values().map(Object::reader_copy)
    }

    /// Stores or deletes an object; None if the object to delete does not exist. The evicted entries should be dropped after the lock is released.
    pub(super) fn write(
        &mut self,
        key: &str,
        new: Option<Value>,
        revision: u64,
    ) -> Option<(Arc<Object>, Evicted)> {
        let (key, before) = match self.objects.get_key_value(key) {
            Some((key, before)) => (key.clone(), Some(before.clone())),
            None => (Arc::from(key), None),
        };
        let (kind, object) = match (new, &before) {
            (Some(value), before) => {
                let object = Arc::new(Object::new(value, revision));
                self.objects.insert(key.clone(), object.clone());
                let kind = if before.is_some() {
                    ChangeKind::Modified
                } else {
                    ChangeKind::Added
                };
                (kind, object)
            }
            (None, Some(before)) => {
                let object = Arc::new(Object::new(before.value().clone(), revision));
                self.objects.remove(&key);
                (ChangeKind::Deleted, object)
            }
            (None, None) => return None,
        };
        let is_full = self.history.len() == HISTORY_CAPACITY;
        let oldest = is_full.then(|| self.history.pop_front()).flatten();
        if let Some(oldest) = &oldest {
            self.truncated_at = oldest.revision;
        }
        self.history.push_back(Arc::new(Change {
            kind,
            revision,
            key,
            object: object.clone(),
            before,
        }));
        let shrunk = self.shrink_old_change();
        self.changed.send_replace(revision);
        Some((object, [oldest, shrunk]))
    }

    /// Converts the change that left the newest [`TREE_CHANGES`] to JSON, and with many objects also the object itself.
    fn shrink_old_change(&mut self) -> Option<Arc<Change>> {
        let change = self.history.len().checked_sub(TREE_CHANGES + 1);
        let change = change.and_then(|at| self.history.get_mut(at))?;
        let mut to_json_only = |object: &Object| Arc::new(object.to_json_only(&mut self.ty));
        if self.objects.len() > JSON_STORAGE_MIN_OBJECTS
            && let Some(present) = self.objects.get_mut(&change.key)
            && Arc::ptr_eq(present, &change.object)
        {
            *present = to_json_only(present);
        }
        let shrunk = Change {
            kind: change.kind,
            revision: change.revision,
            key: change.key.clone(),
            object: to_json_only(&change.object),
            before: change.before.as_deref().map(to_json_only),
        };
        Some(std::mem::replace(change, Arc::new(shrunk)))
    }

    /// Returns the objects from a key on at revision `at`, at most `limit`, and the number of the remaining ones. `at` may be newer than the
    /// newest change.
    pub(super) fn page(
        &self,
        prefix: &str,
        from: &str,
        at: u64,
        limit: usize,
    ) -> Result<(Vec<Arc<Object>>, usize), u64> {
        if at < self.truncated_at {
            return Err(self.truncated_at);
        }
        let changed = |change: &&Arc<Change>| change.key.starts_with(prefix) && &*change.key >= from;
        let since = self
            .history
            .iter()
            .rev()
            .take_while(|change| change.revision > at);
        let mut since = since.filter(changed).peekable();
        if since.peek().is_none() {
            return Ok(self.current_page(prefix, from, limit));
        }
        // Undo the changes since then, newest first.
        let entries = self.entries(prefix, from);
        let mut past: BTreeMap<&str, &Arc<Object>> = entries.map(|(key, object)| (&**key, object)).collect();
        for change in since {
            match &change.before {
                Some(before) => past.insert(&change.key, before),
                None => past.remove(&*change.key),
            };
        }
        let mut objects = past.into_values().map(Object::reader_copy);
        Ok((objects.by_ref().take(limit).collect(), objects.count()))
    }

    fn current_page(&self, prefix: &str, from: &str, limit: usize) -> (Vec<Arc<Object>>, usize) {
        let mut entries = self.entries(prefix, from);
        let (mut objects, mut last) = (vec![], None);
        for (key, object) in entries.by_ref().take(limit) {
            objects.push(object.reader_copy());
            last = Some(key);
        }
        let newest = self.newest();
        let mut page = self.last_page.lock();
        let follows =
            page.newest == newest && page.prefix == prefix && from.strip_suffix('\0') == Some(&*page.last);
        let remaining = match page.remaining.checked_sub(objects.len()) {
            Some(remaining) if follows => remaining,
            _ => entries.count(),
        };
        if let (Some(last), 1..) = (last, remaining) {
            *page = LastPage {
                newest,
                prefix: prefix.to_owned(),
                last: last.clone(),
                remaining,
            };
        }
        (objects, remaining)
    }

    /// Keys are compared only at the ends of the range, because the keys of many objects are scattered in memory.
    fn entries<'a>(
        &'a self,
        prefix: &str,
        from: &str,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a Arc<Object>)> + use<'a> {
        let start = Bound::Included(from.max(prefix));
        // A prefix is a namespace and a slash: the range ends at the next character.
        let end = prefix.strip_suffix('/').map(|namespace| format!("{namespace}0"));
        let range = match end.as_deref() {
            None => (start, Bound::Unbounded),
            // `from` comes from a client; a range that starts after its end would panic.
            Some(end) if from >= end => (Bound::Included(end), Bound::Excluded(end)),
            Some(end) => (start, Bound::Excluded(end)),
        };
        self.objects.range::<str, _>(range)
    }

    /// The revision of the newest change.
    pub(super) fn newest(&self) -> u64 {
        *self.changed.borrow()
    }

    pub(super) fn changes(&self, after: u64, limit: usize) -> Result<Vec<Arc<Change>>, u64> {
        if after < self.truncated_at {
            return Err(self.truncated_at);
        }
        let first = self.history.partition_point(|change| change.revision <= after);
        Ok(self.history.range(first..).take(limit).cloned().collect())
    }

    /// Truncates the history to the changes that open watches may still need.
    pub(super) fn compact(&mut self) {
        let old = self.history.len().saturating_sub(HISTORY_AFTER_COMPACTION);
        if let Some(oldest) = self.history.drain(..old).next_back() {
            self.truncated_at = oldest.revision;
        }
        self.history.shrink_to_fit();
    }
}
