//! The objects of one resource, and what happened to them lately.

use super::Object;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;
use tokio::sync::watch;

/// How many changes a table remembers.
pub const HISTORY: usize = 4096;

/// Something that happened.
#[derive(Debug)]
pub struct Change {
    /// What.
    pub kind: ChangeKind,
    /// When.
    pub revision: u64,
    /// The object's key.
    pub key: String,
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

#[derive(Debug)]
pub(super) struct Table {
    /// Sorted as the real storage sorts them: by namespace, a slash, and name.
    pub(super) objects: BTreeMap<String, Arc<Object>>,
    history: VecDeque<Arc<Change>>,
    /// The version after which the history is whole.
    compacted: u64,
    pub(super) changed: watch::Sender<u64>,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            objects: BTreeMap::new(),
            history: VecDeque::new(),
            compacted: 0,
            changed: watch::Sender::new(0),
        }
    }
}

impl Table {
    /// Puts or removes; None when there was nothing to remove.
    pub(super) fn write(&mut self, key: &str, new: Option<Value>, revision: u64) -> Option<Arc<Object>> {
        let before = self.objects.get(key).cloned();
        let (kind, object) = match (new, &before) {
            (Some(value), before) => {
                let object = Arc::new(Object::new(value, revision));
                self.objects.insert(key.to_owned(), object.clone());
                let kind = if before.is_some() {
                    ChangeKind::Modified
                } else {
                    ChangeKind::Added
                };
                (kind, object)
            }
            (None, Some(before)) => {
                let object = Arc::new(Object::new(before.value().clone(), revision));
                self.objects.remove(key);
                (ChangeKind::Deleted, object)
            }
            (None, None) => return None,
        };
        if self.history.len() == HISTORY
            && let Some(oldest) = self.history.pop_front()
        {
            self.compacted = oldest.revision;
        }
        self.history.push_back(Arc::new(Change {
            kind,
            revision,
            key: key.to_owned(),
            object: object.clone(),
            before,
        }));
        self.changed.send_replace(revision);
        Some(object)
    }

    pub(super) fn range<'a>(
        &'a self,
        prefix: &'a str,
        after: &str,
    ) -> impl Iterator<Item = &'a Arc<Object>> + use<'a> {
        self.entries(prefix, after).map(|(_, object)| object)
    }

    fn entries<'a>(
        &'a self,
        prefix: &'a str,
        after: &str,
    ) -> impl Iterator<Item = (&'a String, &'a Arc<Object>)> + use<'a> {
        let start = if after.is_empty() {
            Bound::Included(prefix.to_owned())
        } else {
            Bound::Excluded(after.to_owned())
        };
        self.objects
            .range((start, Bound::Unbounded))
            .take_while(move |(key, _)| key.starts_with(prefix))
    }

    /// As it was: what happened since is undone, newest first.
    pub(super) fn range_at(&self, prefix: &str, after: &str, at: u64) -> Result<Vec<Arc<Object>>, u64> {
        if at < self.compacted {
            return Err(self.compacted);
        }
        let mut objects: BTreeMap<&str, Arc<Object>> = self
            .entries(prefix, after)
            .map(|(key, object)| (key.as_str(), object.clone()))
            .collect();
        for change in self
            .history
            .iter()
            .rev()
            .take_while(|change| change.revision > at)
        {
            let key = change.key.as_str();
            if !key.starts_with(prefix) || !after.is_empty() && key <= after {
                continue;
            }
            match &change.before {
                Some(before) => objects.insert(key, before.clone()),
                None => objects.remove(key),
            };
        }
        Ok(objects.into_values().collect())
    }

    pub(super) fn changes(&self, after: u64, most: usize) -> Result<Vec<Arc<Change>>, u64> {
        if after < self.compacted {
            return Err(self.compacted);
        }
        let first = self.history.partition_point(|change| change.revision <= after);
        Ok(self.history.range(first..).take(most).cloned().collect())
    }

    pub(super) fn compact(&mut self, revision: u64) {
        self.history.clear();
        self.compacted = revision;
    }
}
