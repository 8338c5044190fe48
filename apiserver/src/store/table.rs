//! The objects of one resource, and what happened to them lately.

use super::Object;
use super::object::Type;
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;
use tokio::sync::watch;

/// How many changes a table remembers.
pub const HISTORY: usize = 4096;
/// How many changes have trees of their objects; and so many objects a table has when those that did not change lately are kept as JSON.
const TREES: usize = 128;
const MANY: usize = 1024;
/// How many changes an expired history keeps for those who read on.
const LEFT: usize = TREES;

/// Something that happened.
#[derive(Debug)]
pub struct Change {
    /// What.
    pub kind: ChangeKind,
    /// When.
    pub revision: u64,
    /// The object's key.
    pub key: Arc<str>,
    /// The object after it; for a removal, as it was, with the version of the removal.
    pub object: Arc<Object>,
    /// The object before it.
    pub before: Option<Arc<Object>>,
}

/// What can happen to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// It is another.
    Modified,
    /// It is gone.
    Deleted,
}

/// What a table has no use for any more: trees, which take long to drop.
pub(super) type Waste = [Option<Arc<Change>>; 2];

#[derive(Debug)]
pub(super) struct Table {
    /// Sorted as the real storage sorts them: by namespace, a slash, and name.
    objects: BTreeMap<Arc<str>, Arc<Object>>,
    /// Of the object that became JSON last.
    ty: Option<Arc<Type>>,
    history: VecDeque<Arc<Change>>,
    /// The version after which the history is whole.
    whole_after: u64,
    pub(super) changed: watch::Sender<u64>,
    last_page: Mutex<LastPage>,
}

/// How many objects there were behind a page: the next one need not count them all again.
#[derive(Debug, Default)]
struct LastPage {
    /// The version of the newest change.
    newest: u64,
    prefix: String,
    /// The last key.
    last: Arc<str>,
    remaining: usize,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            objects: BTreeMap::new(),
            ty: None,
            history: VecDeque::new(),
            whole_after: 0,
            changed: watch::Sender::new(0),
            last_page: Mutex::default(),
        }
    }
}

impl Table {
    pub(super) fn get(&self, key: &str) -> Option<Arc<Object>> {
        self.objects.get(key).map(Object::lend)
    }

    /// The version of an object.
    pub(super) fn revision(&self, key: &str) -> Option<u64> {
        self.objects.get(key).map(|object| object.revision)
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    /// All objects.
    pub(super) fn all(&self) -> impl Iterator<Item = Arc<Object>> {
        self.objects.values().map(Object::lend)
    }

    /// Puts or removes; None when there was nothing to remove. What it gives beside the object is to be dropped when nobody waits for it.
    pub(super) fn write(
        &mut self,
        key: &str,
        new: Option<Value>,
        revision: u64,
    ) -> Option<(Arc<Object>, Waste)> {
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
        let oldest = self.history.len() == HISTORY;
        let forgotten = oldest.then(|| self.history.pop_front()).flatten();
        if let Some(forgotten) = &forgotten {
            self.whole_after = forgotten.revision;
        }
        self.history.push_back(Arc::new(Change {
            kind,
            revision,
            key,
            object: object.clone(),
            before,
        }));
        let saved = self.save();
        self.changed.send_replace(revision);
        Some((object, [forgotten, saved]))
    }

    /// Keeps a change of some time ago as JSON alone, and its object, too, where there are many.
    fn save(&mut self) -> Option<Arc<Change>> {
        let change = self.history.len().checked_sub(TREES + 1);
        let change = change.and_then(|at| self.history.get_mut(at))?;
        let mut as_json = |object: &Object| Arc::new(object.as_json(&mut self.ty));
        if self.objects.len() > MANY
            && let Some(present) = self.objects.get_mut(&change.key)
            && Arc::ptr_eq(present, &change.object)
        {
            *present = as_json(present);
        }
        let saved = Change {
            kind: change.kind,
            revision: change.revision,
            key: change.key.clone(),
            object: as_json(&change.object),
            before: change.before.as_deref().map(as_json),
        };
        Some(std::mem::replace(change, Arc::new(saved)))
    }

    /// As it was at a version, of which there may be no change since: the first of them, and how many there are behind.
    pub(super) fn page(
        &self,
        prefix: &str,
        after: &str,
        at: u64,
        most: usize,
    ) -> Result<(Vec<Arc<Object>>, usize), u64> {
        if at < self.whole_after {
            return Err(self.whole_after);
        }
        let changed = |change: &&Arc<Change>| {
            change.key.starts_with(prefix) && (after.is_empty() || &*change.key > after)
        };
        let since = self
            .history
            .iter()
            .rev()
            .take_while(|change| change.revision > at);
        let mut since = since.filter(changed).peekable();
        if since.peek().is_none() {
            return Ok(self.present_page(prefix, after, most));
        }
        // What happened since is undone, newest first.
        let entries = self.entries(prefix, after);
        let mut then: BTreeMap<&str, &Arc<Object>> = entries.map(|(key, object)| (&**key, object)).collect();
        for change in since {
            match &change.before {
                Some(before) => then.insert(&change.key, before),
                None => then.remove(&*change.key),
            };
        }
        let mut objects = then.into_values().map(Object::lend);
        Ok((objects.by_ref().take(most).collect(), objects.count()))
    }

    fn present_page(&self, prefix: &str, after: &str, most: usize) -> (Vec<Arc<Object>>, usize) {
        let mut entries = self.entries(prefix, after);
        let (mut objects, mut last) = (vec![], None);
        for (key, object) in entries.by_ref().take(most) {
            objects.push(object.lend());
            last = Some(key);
        }
        let newest = self.newest();
        let mut page = self.last_page.lock();
        let follows =
            page.newest == newest && page.prefix == prefix && !after.is_empty() && *page.last == *after;
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

    /// Keys are compared at the ends of the range only: those of many objects lie all over the memory.
    fn entries<'a>(
        &'a self,
        prefix: &str,
        after: &str,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a Arc<Object>)> + use<'a> {
        let start = if after > prefix {
            Bound::Excluded(after)
        } else {
            Bound::Included(prefix)
        };
        // A prefix is a namespace and a slash: the character after that ends the range.
        let end = prefix.strip_suffix('/').map(|namespace| format!("{namespace}0"));
        let range = match end.as_deref() {
            None => (start, Bound::Unbounded),
            // A client may send any key; a range that ends before it begins would panic.
            Some(end) if after >= end => (Bound::Included(end), Bound::Excluded(end)),
            Some(end) => (start, Bound::Excluded(end)),
        };
        self.objects.range::<str, _>(range)
    }

    /// The version of the newest change.
    pub(super) fn newest(&self) -> u64 {
        *self.changed.borrow()
    }

    pub(super) fn changes(&self, after: u64, most: usize) -> Result<Vec<Arc<Change>>, u64> {
        if after < self.whole_after {
            return Err(self.whole_after);
        }
        let first = self.history.partition_point(|change| change.revision <= after);
        Ok(self.history.range(first..).take(most).cloned().collect())
    }

    /// Keeps what open watches may still have to read, and no more.
    pub(super) fn compact(&mut self) {
        let old = self.history.len().saturating_sub(LEFT);
        if let Some(forgotten) = self.history.drain(..old).next_back() {
            self.whole_after = forgotten.revision;
        }
        self.history.shrink_to_fit();
    }
}
