//! Observer of a reconcile: records its writes, and decides which of them changed something and which the key waits for.

use std::sync::{Arc, atomic::Ordering};

use super::{
    ConsistencyState, ConsistencyStore, InformerSlot, find_informer,
    follow_up::{ChangedObject, WriteBaseline, is_change},
    key_record::PendingWrite,
};
use crate::{
    ApiResource, NamespacedName,
    client::{CachedObject, WriteKind, WriteObserver, WriteRecord},
    workqueue::Priority,
};

/// Observes the writes of one key's reconcile.
struct ReconcileObserver {
    store: Arc<ConsistencyStore>,
    key: NamespacedName,
}

impl WriteObserver for ReconcileObserver {
    fn cached(&self, kind: &ApiResource, name: &NamespacedName) -> Vec<CachedObject> {
        self.store.cached(kind, name)
    }

    fn wrote(&self, write: WriteRecord) {
        self.store.record_write(&self.key, write);
    }
}

impl ConsistencyStore {
    /// The observer of the writes of the key's reconcile.
    pub(in crate::controller) fn observer(
        self: &Arc<Self>,
        key: &NamespacedName,
    ) -> Option<Arc<dyn WriteObserver>> {
        (!self.is_off()).then(|| {
            Arc::new(ReconcileObserver {
                store: self.clone(),
                key: key.clone(),
            }) as Arc<dyn WriteObserver>
        })
    }

    fn cached(&self, kind: &ApiResource, name: &NamespacedName) -> Vec<CachedObject> {
        of_kind(&self.slots.current(), kind)
            .filter_map(|slot| slot.informer.cached(name, slot.id))
            .collect()
    }

    /// Records a write of the key's reconcile.
    fn record_write(&self, key: &NamespacedName, write: WriteRecord) {
        let slots = self.slots.current();
        let of_kind: Vec<_> = of_kind(&slots, &write.kind).collect();
        let uid: Box<str> = match (&*write.uid, write.effect) {
            ("", WriteKind::Deleted | WriteKind::Removed) => {
                let cached = write.cached.first().map(|cached| cached.uid.clone());
                let now = || {
                    of_kind
                        .iter()
                        .find_map(|slot| slot.informer.cached(&write.name, slot.id))
                };
                cached
                    .or_else(|| now().map(|cached| cached.uid))
                    .unwrap_or_default()
            }
            (uid, _) => uid.into(),
        };
        let json = write.object.as_deref();
        let covering: Vec<usize> = of_kind
            .iter()
            .filter(|slot| match write.effect {
                WriteKind::Written => slot.informer.covers(&write.name, &uid, json),
                WriteKind::Deleted => slot.informer.holds_alive(&write.name, &uid),
                WriteKind::Removed => slot.informer.holds(&write.name, &uid),
            })
            .map(|slot| slot.id)
            .collect();
        let is_change = self.is_change(&write, &uid, &covering);
        if !is_change && write.effect == WriteKind::Written {
            // The cache showed this version when the request was sent: there is nothing to wait for, and the event is that of another write.
            return;
        }
        let changed = is_change.then(|| ChangedObject::of(&write));
        let mut pending = PendingWrite::new(write, uid, covering);
        let unordered = pending.version().is_some_and(|version| {
            let mut informers = pending
                .undelivered
                .iter()
                .filter_map(|&id| find_informer(&slots, id));
            informers.any(|informer| informer.has_reached(&pending.name, version).is_none())
        });
        if unordered && !self.warned_of_unordered_versions.swap(true, Ordering::Relaxed) {
            let (kind, name, version) = (&*pending.kind, &pending.name, pending.version());
            tracing::warn!(
                controller = &*self.controller, kind, %name, version,
                "resource versions are not decimal numbers: keys do not wait until the cache shows their writes"
            );
        }
        let mut state = self.state.lock();
        // An informer that was removed since then will not show the write. Later removals find the write in the wait list.
        let slots = self.slots.current();
        pending
            .undelivered
            .retain(|&id| find_informer(&slots, id).is_some());
        let is_awaited = !pending.undelivered.is_empty();
        pending.is_given_up = self.has_follow_ups() && (unordered || self.write_wait.is_zero());
        // The event of a write that is not waited for enqueues the key, which is the next call.
        let has_follow_up = self.has_follow_ups() && !(is_awaited && pending.is_given_up);
        let changed = changed.filter(|_| has_follow_up);
        if !is_awaited && changed.is_none() {
            return;
        }
        let ConsistencyState { keys, wait_lists, .. } = &mut *state;
        let record = keys.entry(key.clone()).or_default();
        if is_awaited {
            for &id in &pending.undelivered {
                let wait_list = wait_lists.entry(id).or_default();
                match pending.version() {
                    Some(version) => wait_list.add_version(key, &pending.name, version),
                    None => wait_list.add_deletion(key),
                }
            }
            record.writes.push(pending);
            self.count_waits(wait_lists);
        }
        let Some(changed) = changed else { return };
        record.follow_up.record_change(changed);
        if record.is_running {
            return;
        }
        let follow_up = record.follow_up.finish_late_write();
        let scheduled = self.schedule(&mut state, key, follow_up);
        drop(state);
        if self.report_follow_up(key, &scheduled) {
            self.queue.add_with_priority(key.clone(), Priority::LOW);
        }
    }

    /// Whether a write changed something, compared with the cache at the time when it was sent, or with the last answer.
    fn is_change(&self, write: &WriteRecord, uid: &str, covering: &[usize]) -> bool {
        let cached_by = |index: usize| {
            let mut cached = write.cached.iter();
            cached.find(|cached| cached.informer_index == index)
        };
        let cached: Vec<Option<&CachedObject>> = match write.effect {
            WriteKind::Written => covering.iter().map(|&index| cached_by(index)).collect(),
            WriteKind::Deleted | WriteKind::Removed => {
                let same = write.cached.iter().filter(|cached| *cached.uid == *uid);
                same.map(Some).collect()
            }
        };
        let answered = (uid, &*write.version);
        let baseline = if cached.is_empty() {
            if !self.has_follow_ups() {
                return true;
            }
            let mut state = self.state.lock();
            let is_same = state
                .last_answers
                .replace(&write.kind, &write.name, uid, &write.version);
            WriteBaseline::LastAnswer { is_same }
        } else {
            WriteBaseline::Cached(&cached)
        };
        is_change(write.effect, answered, baseline)
    }
}

/// The slots of the informers of a kind, in any of its versions.
fn of_kind<'a>(
    slots: &'a [Arc<InformerSlot>],
    kind: &'a ApiResource,
) -> impl Iterator<Item = &'a Arc<InformerSlot>> {
    slots.iter().filter(|slot| {
        let info = slot.informer.info();
        info.group == kind.group && info.plural == kind.plural
    })
}
