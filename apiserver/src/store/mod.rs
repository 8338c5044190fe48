//! The objects, in memory: one rising resource version, a table a resource, a bounded history a table.
//!
//! Read object (what is kept), table (objects and history), then this file. Nothing here knows of kinds or requests.

mod object;
mod table;

pub use object::Object;
pub use table::{Change, ChangeKind, HISTORY};

use parking_lot::RwLock;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use table::Table;
use tokio::sync::watch;

/// Why a write did not happen.
#[derive(Debug, PartialEq, Eq)]
pub enum Lost {
    /// There is an object of that key.
    Exists,
    /// The object changed since it was read, or went.
    Changed,
}

/// A version that cannot be served.
#[derive(Debug, PartialEq, Eq)]
pub enum Unserved {
    /// It is beyond the newest, which this is.
    Future(u64),
    /// The history begins later, after this.
    Compacted(u64),
}

/// What a list found.
#[derive(Debug)]
pub struct Page {
    /// In the order of their keys.
    pub objects: Vec<Arc<Object>>,
    /// How many there are behind these.
    pub remaining: usize,
    /// Of which moment this is true.
    pub revision: u64,
}

/// The objects. All methods are short and may be called from any thread.
#[derive(Debug)]
pub struct Store {
    inner: RwLock<Inner>,
    /// The newest revision, for those who wait for one.
    newest: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Inner {
    revision: u64,
    /// No older version is served any more.
    compacted: u64,
    tables: HashMap<String, Table>,
}

impl Default for Store {
    fn default() -> Self {
        Self {
            inner: RwLock::new(Inner {
                // Version 0 means "any" and version 1 is that of the empty storage.
                revision: 1,
                compacted: 0,
                tables: HashMap::new(),
            }),
            newest: watch::Sender::new(1),
        }
    }
}

impl Store {
    /// The key of an object: its name, after its namespace. Without a name, what the keys in the namespace begin with.
    pub fn key(namespace: &str, name: &str) -> String {
        if namespace.is_empty() {
            name.to_owned()
        } else {
            format!("{namespace}/{name}")
        }
    }

    /// The newest version.
    pub fn revision(&self) -> u64 {
        self.inner.read().revision
    }

    /// An object as it is now.
    pub fn get(&self, table: &str, key: &str) -> Option<Arc<Object>> {
        self.inner.read().tables.get(table)?.get(key)
    }

    /// The objects in a namespace, whose keys begin with the prefix `namespace/`, or with an empty prefix in all, after a key, as they are now or were at a version.
    pub fn list(&self, table: &str, prefix: &str, after: &str, at: Option<u64>) -> Result<Page, Unserved> {
        self.page(table, prefix, after, at, usize::MAX)
    }

    /// The first of them, at most so many.
    pub fn page(
        &self,
        table: &str,
        prefix: &str,
        after: &str,
        at: Option<u64>,
        most: usize,
    ) -> Result<Page, Unserved> {
        let inner = self.inner.read();
        let revision = at.unwrap_or(inner.revision);
        if revision > inner.revision {
            return Err(Unserved::Future(inner.revision));
        }
        inner.serves(revision)?;
        let (objects, remaining) = match inner.tables.get(table) {
            None => (vec![], 0),
            Some(table) => table
                .page(prefix, after, revision, most)
                .map_err(Unserved::Compacted)?,
        };
        Ok(Page {
            objects,
            remaining,
            revision,
        })
    }

    /// How many objects a table has.
    pub fn count(&self, table: &str) -> usize {
        self.inner.read().tables.get(table).map_or(0, Table::len)
    }

    /// Every object of every table, with the table's name.
    pub fn all(&self) -> Vec<(String, Arc<Object>)> {
        let inner = self.inner.read();
        let tables = inner.tables.iter();
        tables
            .flat_map(|(name, table)| table.all().map(|object| (name.clone(), object)))
            .collect()
    }

    /// Keeps a new object.
    pub fn create(&self, table: &str, key: &str, object: Value) -> Result<Arc<Object>, Lost> {
        self.write(table, key, None, Some(object))
    }

    /// Replaces an object, if it is still this one.
    pub fn update(&self, table: &str, key: &str, old: &Object, object: Value) -> Result<Arc<Object>, Lost> {
        self.write(table, key, Some(old.revision), Some(object))
    }

    /// Removes an object, if it is still this one. What it was is given back with the version of the removal.
    pub fn delete(&self, table: &str, key: &str, old: &Object) -> Result<Arc<Object>, Lost> {
        self.write(table, key, Some(old.revision), None)
    }

    fn write(
        &self,
        table: &str,
        key: &str,
        old: Option<u64>,
        new: Option<Value>,
    ) -> Result<Arc<Object>, Lost> {
        let mut inner = self.inner.write();
        let revision = inner.revision + 1;
        if !inner.tables.contains_key(table) {
            inner.tables.insert(table.to_owned(), Table::default());
        }
        let Some(table) = inner.tables.get_mut(table) else {
            return Err(Lost::Changed);
        };
        match (old, table.revision(key)) {
            (None, Some(_)) => return Err(Lost::Exists),
            (Some(_), present) if present != old => return Err(Lost::Changed),
            _ => {}
        }
        let (object, waste) = table.write(key, new, revision).ok_or(Lost::Changed)?;
        inner.revision = revision;
        drop(inner);
        self.newest.send_replace(revision);
        drop(waste);
        Ok(object)
    }

    /// Tells of every new version.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }

    /// Tells of every change of one table.
    pub fn subscribe_table(&self, table: &str) -> watch::Receiver<u64> {
        let mut inner = self.inner.write();
        inner
            .tables
            .entry(table.to_owned())
            .or_default()
            .changed
            .subscribe()
    }

    /// The tables in which something changed after a version, and the version up to which they are all.
    pub fn changed_since(&self, after: u64) -> (Vec<String>, u64) {
        let inner = self.inner.read();
        let changed = inner.tables.iter().filter(|(_, table)| table.newest() > after);
        (changed.map(|(name, _)| name.clone()).collect(), inner.revision)
    }

    /// Whether the changes of a table after a version are known to who asks for the first time.
    pub fn can_follow(&self, table: &str, after: u64) -> Result<(), Unserved> {
        self.inner.read().serves(after)?;
        self.changes(table, after, 1).map(drop)
    }

    /// The changes of a table after a version, oldest first, at most so many, and the version up to which they are all.
    /// Who reads on, as open watches do, asks for no more than this.
    pub fn changes(&self, table: &str, after: u64, most: usize) -> Result<(Vec<Arc<Change>>, u64), Unserved> {
        let inner = self.inner.read();
        let Some(table) = inner.tables.get(table) else {
            return Ok((vec![], inner.revision));
        };
        let changes = table.changes(after, most).map_err(Unserved::Compacted)?;
        let until = match changes.last() {
            Some(last) if changes.len() == most => last.revision,
            _ => inner.revision,
        };
        Ok((changes, until))
    }

    /// Expires the history: whoever asks for an older version is told that it is gone. It is itself a change, as with etcd's, so that no
    /// version which anybody has seen is the newest. Who reads on is told so only when they are a hundred changes behind.
    pub fn compact(&self) {
        let mut inner = self.inner.write();
        inner.revision += 1;
        inner.compacted = inner.revision;
        let revision = inner.revision;
        inner.tables.values_mut().for_each(Table::compact);
        drop(inner);
        self.newest.send_replace(revision);
    }

    /// Waits until a version is there; false when that took too long.
    pub async fn reach(&self, revision: u64, patience: Duration) -> bool {
        let mut newest = self.subscribe();
        let reached = newest.wait_for(|newest| *newest >= revision);
        tokio::time::timeout(patience, reached).await.is_ok()
    }
}

impl Inner {
    fn serves(&self, revision: u64) -> Result<(), Unserved> {
        if revision < self.compacted {
            return Err(Unserved::Compacted(self.compacted));
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
    fn versions_rise_over_all_tables() {
        let store = Store::default();
        let first = store.create("a", "x", object("1")).unwrap();
        let second = store.create("b", "x", object("1")).unwrap();
        assert!(second.revision > first.revision);
        assert_eq!(
            first.value()["metadata"]["resourceVersion"],
            first.revision.to_string()
        );
        assert_eq!(store.create("a", "x", object("2")).unwrap_err(), Lost::Exists);
        let updated = store.update("a", "x", &first, object("2")).unwrap();
        assert_eq!(
            store.update("a", "x", &first, object("3")).unwrap_err(),
            Lost::Changed
        );
        assert_eq!(store.delete("a", "x", &first).unwrap_err(), Lost::Changed);
        assert_eq!(
            store.changed_since(second.revision),
            (vec!["a".to_owned()], updated.revision)
        );
        let gone = store.delete("a", "x", &updated).unwrap();
        assert!(gone.revision > updated.revision && store.get("a", "x").is_none());
    }

    #[test]
    fn a_list_can_be_of_an_earlier_moment() {
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
            store.list("t", "n/", "n/a", Some(moment)).unwrap().objects.len(),
            1
        );
        for after in ["n", "n0", "n/c", "z"] {
            // Whatever key a client sends.
            assert!(store.list("t", "n/", after, Some(moment)).unwrap().objects.len() <= 2);
        }
        store.create("t", "m/z", object("1")).unwrap();
        store.create("t", "n0/a", object("1")).unwrap();
        for at in [Some(moment), None] {
            let page = store.page("t", "n/", "", at, 1).unwrap();
            assert_eq!((page.objects.len(), page.remaining), (1, 1));
            let rest = store.page("t", "n/", "n/a", at, 5).unwrap();
            assert_eq!((rest.objects.len(), rest.remaining), (1, 0));
        }
        assert_eq!(store.list("t", "n/", "", None).unwrap().objects.len(), 2);
        assert_eq!(store.list("t", "", "", None).unwrap().objects.len(), 4);
        store.compact();
        assert!(matches!(
            store.list("t", "n/", "", Some(moment)),
            Err(Unserved::Compacted(_))
        ));
        assert!(matches!(
            store.list("t", "", "", Some(1000)),
            Err(Unserved::Future(_))
        ));
    }

    #[test]
    fn an_expired_history_is_for_those_who_read_on_alone() {
        let store = Store::default();
        store.create("t", "a", object("1")).unwrap();
        let seen = store.revision();
        store.compact();
        let newest = store.revision();
        for table in ["t", "empty"] {
            assert_eq!(store.can_follow(table, seen), Err(Unserved::Compacted(newest)));
            assert!(store.list(table, "", "", Some(seen)).is_err());
            assert_eq!(store.can_follow(table, newest), Ok(()));
            assert!(store.list(table, "", "", Some(newest)).is_ok());
        }
        store.create("t", "b", object("1")).unwrap();
        assert_eq!(store.changes("t", seen, 10).unwrap().0.len(), 1);
    }

    #[test]
    fn changes_come_in_order_and_the_history_is_bounded() {
        let store = Store::default();
        let first = store.create("t", "a", object("1")).unwrap();
        let (changes, until) = store.changes("t", 1, 10).unwrap();
        assert_eq!((changes.len(), until), (1, first.revision));
        assert_eq!(changes[0].kind, ChangeKind::Added);
        let mut last = first;
        for _ in 0..HISTORY {
            last = store.update("t", "a", &last, object("2")).unwrap();
        }
        assert!(matches!(store.changes("t", 1, 10), Err(Unserved::Compacted(_))));
        let (changes, until) = store.changes("t", last.revision - 5, 2).unwrap();
        assert_eq!((changes.len(), until), (2, last.revision - 3));
    }

    #[test]
    fn of_many_objects_those_that_rest_are_kept_as_json_and_read_the_same() {
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
        let kept = store.list("t", "n/", "", None).unwrap().objects;
        assert!(kept.iter().filter(|object| object.is_tree()).count() < kept.len() / 2);
        for (kept, created) in kept.iter().zip(&created) {
            assert_eq!(kept.json(), created.json());
            assert_eq!(kept.value(), created.value());
        }
        // What was read is not kept so.
        assert!(!store.get("t", "n/2000").unwrap().is_tree());
        let (changes, _) = store.changes("t", 1, HISTORY).unwrap();
        assert_eq!(
            changes.iter().filter(|change| !change.object.is_tree()).count(),
            3000 - 128
        );
        assert_eq!(changes[0].object.value(), created[0].value());
        let updated = store.update("t", "n/2000", &kept[2000], value(1)).unwrap();
        assert!(store.get("t", "n/2000").unwrap().is_tree());
        store.delete("t", "n/2000", &updated).unwrap();
    }

    #[test]
    fn pages_say_how_many_follow_whatever_happens_between_them() {
        let store = Store::default();
        for number in 0..10 {
            store.create("t", &format!("n/{number}"), object("1")).unwrap();
            store.create("t", &format!("m/{number}"), object("1")).unwrap();
        }
        let remaining =
            |prefix: &str, after: &str| store.page("t", prefix, after, None, 3).unwrap().remaining;
        assert_eq!(
            [
                remaining("n/", ""),
                remaining("n/", "n/2"),
                remaining("n/", "n/5")
            ],
            [7, 4, 1]
        );
        // The same place in another list, and another place.
        assert_eq!(
            [
                remaining("n/", "n/5"),
                remaining("", "n/5"),
                remaining("n/", "n/4")
            ],
            [1, 1, 2]
        );
        assert_eq!([remaining("", "m/9"), remaining("", "n/2")], [7, 4]);
        store.create("t", "n/9a", object("1")).unwrap();
        assert_eq!([remaining("n/", "n/5"), remaining("n/", "n/8")], [2, 0]);
    }
}
