//! Storage of objects in memory: a global resource version, a table per resource, a bounded history per table.
//!
//! Reading order: `object` (a stored version), `table` (objects and history), then this file. The store does not know kinds or requests.

mod object;
mod table;

pub use object::Object;
pub use table::{Change, ChangeKind, HISTORY_CAPACITY};

use parking_lot::RwLock;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use table::ResourceTable;
use tokio::sync::watch;

/// The reason why a write was not performed.
#[derive(Debug, PartialEq, Eq)]
pub enum WriteConflict {
    /// An object with that key exists.
    Exists,
    /// The object was changed or deleted since it was read.
    Changed,
}

/// A revision that cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub enum RevisionError {
    /// The revision is newer than the newest, which is this.
    Future(u64),
    /// The revision was compacted; the oldest available one is this.
    Compacted(u64),
}

/// The result of a list.
#[derive(Debug)]
pub struct Page {
    /// The objects, ordered by key.
    pub objects: Vec<Arc<Object>>,
    /// The number of objects after these.
    pub remaining: usize,
    /// The revision of the list.
    pub revision: u64,
}

/// The store. All methods are short and may be called from any thread.
#[derive(Debug)]
pub struct Store {
    inner: RwLock<StoreState>,
    /// The newest revision, for subscribers.
    newest: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct StoreState {
    revision: u64,
    /// Older revisions cannot be read any more.
    compacted: u64,
    tables: HashMap<String, ResourceTable>,
}

impl Default for Store {
    fn default() -> Self {
        Self {
            inner: RwLock::new(StoreState {
                // resourceVersion 0 means "any", and 1 is that of an empty etcd.
                revision: 1,
                compacted: 0,
                tables: HashMap::new(),
            }),
            newest: watch::Sender::new(1),
        }
    }
}

impl Store {
    /// Returns the key of an object: `namespace/name`, or `name` if cluster-scoped. With an empty name, the prefix of a namespace's keys.
    pub fn key(namespace: &str, name: &str) -> String {
        if namespace.is_empty() {
            name.to_owned()
        } else {
            format!("{namespace}/{name}")
        }
    }

    /// Returns the newest revision.
    pub fn revision(&self) -> u64 {
        self.inner.read().revision
    }

    /// Returns the current version of an object.
    pub fn get(&self, table: &str, key: &str) -> Option<Arc<Object>> {
        self.inner.read().tables.get(table)?.get(key)
    }

    /// Lists the objects with keys that start with `prefix` (`namespace/`, or empty for all) from the key `from` on, now or at a revision.
    pub fn list(
        &self,
        table: &str,
        prefix: &str,
        from: &str,
        at: Option<u64>,
    ) -> Result<Page, RevisionError> {
        self.page(table, prefix, from, at, usize::MAX)
    }

    /// Returns the present objects of a table, of one namespace or of all if it is empty.
    pub fn objects(&self, table: &str, namespace: &str) -> Vec<Arc<Object>> {
        // Only a past revision can be unavailable.
        let page = self.list(table, &Self::key(namespace, ""), "", None);
        page.map(|page| page.objects).unwrap_or_default()
    }

    /// Like [`Self::list`], but returns at most `limit` objects.
    pub fn page(
        &self,
        table: &str,
        prefix: &str,
        from: &str,
        at: Option<u64>,
        limit: usize,
    ) -> Result<Page, RevisionError> {
        let inner = self.inner.read();
        let revision = at.unwrap_or(inner.revision);
        if revision > inner.revision {
            return Err(RevisionError::Future(inner.revision));
        }
        inner.check_compaction(revision)?;
        let (objects, remaining) = match inner.tables.get(table) {
            None => (vec![], 0),
            Some(table) => table
                .page(prefix, from, revision, limit)
                .map_err(RevisionError::Compacted)?,
        };
        Ok(Page {
            objects,
            remaining,
            revision,
        })
    }

    /// Returns the number of objects of a table.
    pub fn count(&self, table: &str) -> usize {
        self.inner.read().tables.get(table).map_or(0, ResourceTable::len)
    }

    /// Returns all objects of all tables, with the tables' names.
    pub fn all(&self) -> Vec<(String, Arc<Object>)> {
        let inner = self.inner.read();
        let tables = inner.tables.iter();
        tables
            .flat_map(|(name, table)| table.all().map(|object| (name.clone(), object)))
            .collect()
    }

    /// Stores a new object.
    pub fn create(&self, table: &str, key: &str, object: Value) -> Result<Arc<Object>, WriteConflict> {
        self.write(table, key, None, Some(object))
    }

    /// Replaces an object, if it is still at the version `old`.
    pub fn update(
        &self,
        table: &str,
        key: &str,
        old: &Object,
        object: Value,
    ) -> Result<Arc<Object>, WriteConflict> {
        self.write(table, key, Some(old.revision), Some(object))
    }

    /// Deletes an object, if it is still at the version `old`. Returns its last state with the revision of the deletion.
    pub fn delete(&self, table: &str, key: &str, old: &Object) -> Result<Arc<Object>, WriteConflict> {
        self.write(table, key, Some(old.revision), None)
    }

    fn write(
        &self,
        table: &str,
        key: &str,
        old: Option<u64>,
        new: Option<Value>,
    ) -> Result<Arc<Object>, WriteConflict> {
        let mut inner = self.inner.write();
        let revision = inner.revision + 1;
        if !inner.tables.contains_key(table) {
            inner.tables.insert(table.to_owned(), ResourceTable::default());
        }
        let Some(table) = inner.tables.get_mut(table) else {
            return Err(WriteConflict::Changed);
        };
        match (old, table.revision(key)) {
            (None, Some(_)) => return Err(WriteConflict::Exists),
            (Some(_), present) if present != old => return Err(WriteConflict::Changed),
            _ => {}
        }
        let (object, evicted) = table.write(key, new, revision).ok_or(WriteConflict::Changed)?;
        inner.revision = revision;
        drop(inner);
        self.newest.send_replace(revision);
        drop(evicted);
        Ok(object)
    }

    /// Subscribes to the newest revision.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }

    /// Subscribes to the changes of one table.
    pub fn subscribe_table(&self, table: &str) -> watch::Receiver<u64> {
        let mut inner = self.inner.write();
        inner
            .tables
            .entry(table.to_owned())
            .or_default()
            .changed
            .subscribe()
    }

    /// Returns the tables with changes after a revision, and the revision up to which this holds.
    pub fn changed_since(&self, after: u64) -> (Vec<String>, u64) {
        let inner = self.inner.read();
        let changed = inner.tables.iter().filter(|(_, table)| table.newest() > after);
        (changed.map(|(name, _)| name.clone()).collect(), inner.revision)
    }

    /// Returns the revision of the newest change in a table; 0 if there was none.
    pub(crate) fn newest_change(&self, table: &str) -> u64 {
        self.inner
            .read()
            .tables
            .get(table)
            .map_or(0, ResourceTable::newest)
    }

    /// Checks that a new watch can start after a revision.
    pub fn check_watchable(&self, table: &str, after: u64) -> Result<(), RevisionError> {
        self.inner.read().check_compaction(after)?;
        self.changes(table, after, 1).map(drop)
    }

    /// Returns the changes of a table after a revision, oldest first, at most `limit`, and the revision up to which they are complete.
    /// Unlike [`Self::check_watchable`], this also serves compacted revisions that the history still contains: open watches read on.
    pub fn changes(
        &self,
        table: &str,
        after: u64,
        limit: usize,
    ) -> Result<(Vec<Arc<Change>>, u64), RevisionError> {
        let inner = self.inner.read();
        let Some(table) = inner.tables.get(table) else {
            return Ok((vec![], inner.revision));
        };
        let changes = table.changes(after, limit).map_err(RevisionError::Compacted)?;
        let until = match changes.last() {
            Some(last) if changes.len() == limit => last.revision,
            _ => inner.revision,
        };
        Ok((changes, until))
    }

    /// Compacts the history: reading older revisions is refused. Compaction is itself a revision, as in etcd, so that no revision that a
    /// client has seen is the newest. Open watches are refused only if they lag behind by more than a hundred changes.
    pub fn compact(&self) {
        let mut inner = self.inner.write();
        inner.revision += 1;
        inner.compacted = inner.revision;
        let revision = inner.revision;
        inner.tables.values_mut().for_each(ResourceTable::compact);
        drop(inner);
        self.newest.send_replace(revision);
    }

    /// Waits until the store has reached a revision; false after the timeout.
    pub async fn wait_for_revision(&self, revision: u64, timeout: Duration) -> bool {
        let mut newest = self.subscribe();
        let reached = newest.wait_for(|newest| *newest >= revision);
        tokio::time::timeout(timeout, reached).await.is_ok()
    }
}

impl StoreState {
    fn check_compaction(&self, revision: u64) -> Result<(), RevisionError> {
        if revision < self.compacted {
            return Err(RevisionError::Compacted(self.compacted));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(text: &str) -> Value {
        json!({ "metadata": { "name": "a" }, "text": text })
    }

    #[test]
    fn revisions_rise_across_tables() {
        let store = Store::default();
        let first = store.create("a", "x", object("1")).unwrap();
        let second = store.create("b", "x", object("1")).unwrap();
        assert!(second.revision > first.revision);
        assert_eq!(
            first.value()["metadata"]["resourceVersion"],
            first.revision.to_string()
        );
        assert_eq!(
            store.create("a", "x", object("2")).unwrap_err(),
            WriteConflict::Exists
        );
        let updated = store.update("a", "x", &first, object("2")).unwrap();
        assert_eq!(
            store.update("a", "x", &first, object("3")).unwrap_err(),
            WriteConflict::Changed
        );
        assert_eq!(
            store.delete("a", "x", &first).unwrap_err(),
            WriteConflict::Changed
        );
        assert_eq!(
            store.changed_since(second.revision),
            (vec!["a".to_owned()], updated.revision)
        );
        let deleted = store.delete("a", "x", &updated).unwrap();
        assert!(deleted.revision > updated.revision && store.get("a", "x").is_none());
    }

    #[test]
    fn list_can_read_a_past_revision() {
        let store = Store::default();
        let a = store.create("t", "n/a", object("1")).unwrap();
        let b = store.create("t", "n/b", object("1")).unwrap();
        let moment = store.revision();
        store.update("t", "n/a", &a, object("2")).unwrap();
        store.delete("t", "n/b", &b).unwrap();
        store.create("t", "n/c", object("1")).unwrap();
        let then = store.list("t", "n/", "", Some(moment)).unwrap();
        let texts: Vec<_> = then.objects.iter().map(|object| object.revision).collect();
        assert_eq!(texts, [a.revision, b.revision]);
        assert_eq!(
            store
                .list("t", "n/", "n/a\0", Some(moment))
                .unwrap()
                .objects
                .len(),
            1
        );
        for from in ["n", "n0", "n/c", "z"] {
            // Any key that a client may send.
            assert!(store.list("t", "n/", from, Some(moment)).unwrap().objects.len() <= 2);
        }
        store.create("t", "m/z", object("1")).unwrap();
        store.create("t", "n0/a", object("1")).unwrap();
        for at in [Some(moment), None] {
            let page = store.page("t", "n/", "", at, 1).unwrap();
            assert_eq!((page.objects.len(), page.remaining), (1, 1));
            let rest = store.page("t", "n/", "n/a\0", at, 5).unwrap();
            assert_eq!((rest.objects.len(), rest.remaining), (1, 0));
        }
        assert_eq!(store.list("t", "n/", "", None).unwrap().objects.len(), 2);
        assert_eq!(store.list("t", "", "", None).unwrap().objects.len(), 4);
        store.compact();
        assert!(matches!(
            store.list("t", "n/", "", Some(moment)),
            Err(RevisionError::Compacted(_))
        ));
        assert!(matches!(
            store.list("t", "", "", Some(1000)),
            Err(RevisionError::Future(_))
        ));
    }

    #[test]
    fn compacted_history_is_served_only_to_open_watches() {
        let store = Store::default();
        store.create("t", "a", object("1")).unwrap();
        let seen = store.revision();
        store.compact();
        let newest = store.revision();
        for table in ["t", "empty"] {
            assert_eq!(
                store.check_watchable(table, seen),
                Err(RevisionError::Compacted(newest))
            );
            assert!(store.list(table, "", "", Some(seen)).is_err());
            assert_eq!(store.check_watchable(table, newest), Ok(()));
            assert!(store.list(table, "", "", Some(newest)).is_ok());
        }
        store.create("t", "b", object("1")).unwrap();
        assert_eq!(store.changes("t", seen, 10).unwrap().0.len(), 1);
    }

    #[test]
    fn changes_are_ordered_and_history_is_bounded() {
        let store = Store::default();
        let first = store.create("t", "a", object("1")).unwrap();
        let (changes, until) = store.changes("t", 1, 10).unwrap();
        assert_eq!((changes.len(), until), (1, first.revision));
        assert_eq!(changes[0].kind, ChangeKind::Added);
        let mut last = first;
        for _ in 0..HISTORY_CAPACITY {
            last = store.update("t", "a", &last, object("2")).unwrap();
        }
        assert!(matches!(
            store.changes("t", 1, 10),
            Err(RevisionError::Compacted(_))
        ));
        let (changes, until) = store.changes("t", last.revision - 5, 2).unwrap();
        assert_eq!((changes.len(), until), (2, last.revision - 3));
    }

    #[test]
    fn unchanged_objects_of_large_tables_are_held_as_json() {
        let store = Store::default();
        let value = |number: u64| {
            json!({
                "kind": "K", "apiVersion": "g/v1", "metadata": { "name": "a", "resourceVersion": number.to_string() },
                "numbers": [number, -1, 0.1, 1e300, i64::MIN], "text": "\u{0}\"\\ü",
            })
        };
        let many = 3000;
        let created: Vec<_> = (0..many)
            .map(|number| {
                store
                    .create("t", &format!("n/{number:04}"), value(number))
                    .unwrap()
            })
            .collect();
        let stored = store.list("t", "n/", "", None).unwrap().objects;
        assert!(stored.iter().filter(|object| object.is_tree()).count() < stored.len() / 2);
        for (stored, created) in stored.iter().zip(&created) {
            assert_eq!(stored.json(), created.json());
            assert_eq!(stored.value(), created.value());
        }
        // A tree that was parsed for a reader is not retained.
        assert!(!store.get("t", "n/2000").unwrap().is_tree());
        let (changes, _) = store.changes("t", 1, HISTORY_CAPACITY).unwrap();
        assert_eq!(
            changes.iter().filter(|change| !change.object.is_tree()).count(),
            3000 - 128
        );
        assert_eq!(changes[0].object.value(), created[0].value());
        let updated = store.update("t", "n/2000", &stored[2000], value(1)).unwrap();
        assert!(store.get("t", "n/2000").unwrap().is_tree());
        store.delete("t", "n/2000", &updated).unwrap();
    }

    #[test]
    fn pages_report_remaining_count_despite_writes_in_between() {
        let store = Store::default();
        for number in 0..10 {
            store.create("t", &format!("n/{number}"), object("1")).unwrap();
            store.create("t", &format!("m/{number}"), object("1")).unwrap();
        }
        let remaining = |prefix: &str, from: &str| store.page("t", prefix, from, None, 3).unwrap().remaining;
        assert_eq!(
            [
                remaining("n/", ""),
                remaining("n/", "n/2\0"),
                remaining("n/", "n/5\0")
            ],
            [7, 4, 1]
        );
        // The same position of another list, and another position.
        assert_eq!(
            [
                remaining("n/", "n/5\0"),
                remaining("", "n/5\0"),
                remaining("n/", "n/4\0")
            ],
            [1, 1, 2]
        );
        assert_eq!([remaining("", "m/9\0"), remaining("", "n/2\0")], [7, 4]);
        store.create("t", "n/9a", object("1")).unwrap();
        assert_eq!([remaining("n/", "n/5\0"), remaining("n/", "n/8\0")], [2, 0]);
    }
}
