//! client-go's DeltaFIFO: the changes of each object, collected. Not the default queue: see [`QueueKind`](super::QueueKind).

use std::{collections::VecDeque, sync::Arc};

use hashbrown::{HashMap, HashSet};

use super::{Delta, Fifo, Namespace};
use crate::{
    NamespacedName,
    cache::{object::StoredObject, store::Store},
};

/// Collects the deltas of each key, and hands out those of one key at a time, in the order in which keys were queued.
///
/// Of two successive deletions of a key, only the one that knows the final state is kept. A replacement is split into the objects of the
/// list, then a tombstone for every queued or known object of the namespace that the list lacks. A resync is split into the known objects
/// without a queued delta: otherwise it would restore objects that are about to be replaced.
#[derive(Debug)]
pub(super) struct DeltaFifo {
    /// The known objects: those that the consumer has processed.
    store: Arc<Store>,
    queue: VecDeque<QueueEntry>,
    /// The queued deltas of each key; never an empty list.
    deltas: HashMap<NamespacedName, Vec<Delta>>,
    in_process: Option<InProcess>,
    /// Namespaces without a processed list.
    unsynced: HashSet<Namespace>,
}

#[derive(Debug)]
enum QueueEntry {
    Key(NamespacedName),
    /// The end of this namespace's list of this version: all its keys are queued before.
    EndOfList(Namespace, Box<str>),
    /// Every key that changed up to this version is queued before.
    Bookmark(Namespace, Box<str>),
}

/// The batch that was popped and may not be in the store yet.
#[derive(Debug, Default)]
struct InProcess {
    /// The key, and its object after the deltas were applied.
    key: Option<(NamespacedName, Option<Arc<StoredObject>>)>,
    lists: Vec<Namespace>,
}

impl DeltaFifo {
    pub(super) fn new(namespaces: impl IntoIterator<Item = Namespace>, store: Arc<Store>) -> Self {
        Self {
            store,
            queue: VecDeque::new(),
            deltas: HashMap::new(),
            in_process: None,
            unsynced: namespaces.into_iter().collect(),
        }
    }

    fn enqueue(&mut self, name: &NamespacedName, delta: Delta) {
        if let Some(deltas) = self.deltas.get_mut(name) {
            append(deltas, delta);
        } else {
            self.queue.push_back(QueueEntry::Key(name.clone()));
            self.deltas.insert(name.clone(), vec![delta]);
        }
    }

    fn replace(&mut self, namespace: &Namespace, version: Box<str>, objects: Vec<Arc<StoredObject>>) {
        let listed: HashSet<NamespacedName> = objects.iter().map(|object| object.name().clone()).collect();
        for object in objects {
            let name = object.name().clone();
            self.enqueue(&name, Delta::Upserted(object));
        }
        let is_unlisted = |name: &NamespacedName| {
            (namespace.is_none() || namespace.as_deref() == name.namespace()) && !listed.contains(name)
        };
        let queued = self.deltas.values().filter_map(|deltas| deltas.last()?.object());
        let mut deleted: Vec<Arc<StoredObject>> = queued
            .filter(|object| is_unlisted(object.name()))
            .cloned()
            .collect();
        deleted.extend(self.known(|name| is_unlisted(name) && !self.deltas.contains_key(name)));
        for object in deleted {
            let name = object.name().clone();
            self.enqueue(&name, Delta::DeletedFinalStateUnknown(object));
        }
        self.queue
            .push_back(QueueEntry::EndOfList(namespace.clone(), version));
    }

    fn resync(&mut self) {
        for object in self.known(|name| !self.deltas.contains_key(name)) {
            let name = object.name().clone();
            self.enqueue(&name, Delta::Sync(object));
        }
    }

    /// The objects of the store after the batch in process was applied.
    fn known(&self, pass: impl Fn(&NamespacedName) -> bool) -> Vec<Arc<StoredObject>> {
        let (key, newest) = self.key_in_process().unzip();
        let stored = self.store.all();
        let stored = stored
            .iter()
            .filter(|object| Some(object.name()) != key && pass(object.name()));
        let mut known: Vec<_> = stored.cloned().collect();
        known.extend(newest.flatten().filter(|object| pass(object.name())).cloned());
        known
    }

    fn is_known(&self, name: &NamespacedName) -> bool {
        match self.key_in_process() {
            Some((key, newest)) if key == name => newest.is_some(),
            _ => self.store.get(name).is_some(),
        }
    }

    fn key_in_process(&self) -> Option<(&NamespacedName, Option<&Arc<StoredObject>>)> {
        let (key, newest) = self.in_process.as_ref()?.key.as_ref()?;
        Some((key, newest.as_ref()))
    }
}

impl Fifo for DeltaFifo {
    fn push(&mut self, delta: Delta) {
        match delta {
            Delta::Replaced {
                namespace,
                version,
                objects,
            } => self.replace(&namespace, version, objects),
            Delta::Listed { namespace, version } => {
                self.queue.push_back(QueueEntry::EndOfList(namespace, version));
            }
            Delta::Bookmark { namespace, version } => {
                self.queue.push_back(QueueEntry::Bookmark(namespace, version));
            }
            Delta::SyncAll => self.resync(),
            Delta::Upserted(ref object) | Delta::Sync(ref object) => {
                let name = object.name().clone();
                self.enqueue(&name, delta);
            }
            Delta::Deleted(ref object) | Delta::DeletedFinalStateUnknown(ref object) => {
                let name = object.name().clone();
                // A key that is neither queued nor known was deleted by a relist.
                if self.deltas.contains_key(&name) || self.is_known(&name) {
                    self.enqueue(&name, delta);
                }
            }
        }
    }

    fn pop(&mut self) -> Option<Vec<Delta>> {
        let mut popped = InProcess::default();
        let mut deltas = Vec::new();
        let mut entry = self.queue.pop_front()?;
        if let QueueEntry::Key(name) = &entry {
            deltas = self.deltas.remove(name).unwrap_or_default();
            let newest = deltas.last().and_then(|delta| match delta {
                Delta::Upserted(object) | Delta::Sync(object) => Some(object.clone()),
                _ => None,
            });
            popped.key = Some((name.clone(), newest));
        }
        // And the marks after it.
        loop {
            match entry {
                QueueEntry::Key(_) => {}
                QueueEntry::EndOfList(namespace, version) => {
                    popped.lists.push(namespace.clone());
                    deltas.push(Delta::Listed { namespace, version });
                }
                QueueEntry::Bookmark(namespace, version) => {
                    deltas.push(Delta::Bookmark { namespace, version });
                }
            }
            match self
                .queue
                .pop_front_if(|entry| !matches!(entry, QueueEntry::Key(_)))
            {
                Some(next) => entry = next,
                None => break,
            }
        }
        self.in_process = Some(popped);
        Some(deltas)
    }

    fn processed(&mut self) {
        for namespace in self.in_process.take().unwrap_or_default().lists {
            self.unsynced.remove(&namespace);
        }
    }

    fn has_synced(&self) -> bool {
        self.unsynced.is_empty()
    }

    fn len(&self) -> usize {
        self.queue.len()
    }
}

/// Appends a delta. Of two successive deletions, keeps the one that knows the final state, else the older one.
fn append(deltas: &mut Vec<Delta>, delta: Delta) {
    match (deltas.last_mut(), &delta) {
        (Some(Delta::Deleted(_)), Delta::Deleted(_) | Delta::DeletedFinalStateUnknown(_)) => {}
        (
            Some(last @ Delta::DeletedFinalStateUnknown(_)),
            Delta::Deleted(_) | Delta::DeletedFinalStateUnknown(_),
        ) => *last = delta,
        _ => deltas.push(delta),
    }
}
