//! Informer slots: the informers that reconcile may read. They can be added and removed while the controller runs.

use std::sync::{
    Arc, OnceLock, Weak,
    atomic::{AtomicU64, Ordering},
};

use parking_lot::RwLock;

use super::ConsistencyStore;
use crate::cache::{InformerHandle, InformerObserver, ObserverId};

/// One informer in the consistency store.
pub(in crate::controller) struct InformerSlot {
    /// Unique within the store, never reused: a write that was recorded for a removed informer does not match a later one.
    pub(super) id: usize,
    pub(super) informer: InformerHandle,
    /// The informer's number of rewinds for which the records are valid.
    rewinds: AtomicU64,
    observer: OnceLock<ObserverId>,
}

impl InformerSlot {
    /// Whether the records are valid: after a rewind the server assigns versions a second time.
    pub(super) fn is_valid(&self) -> bool {
        self.rewinds.load(Ordering::Acquire) == self.informer.rewinds()
    }

    /// Accepts the informer's present number of rewinds. Returns whether it changed.
    pub(super) fn accept_rewinds(&self) -> bool {
        let rewinds = self.informer.rewinds();
        self.rewinds.swap(rewinds, Ordering::AcqRel) != rewinds
    }
}

/// The slots of one store, sorted by id. Copied when it changes, so that readers hold no lock.
pub(super) type SlotList = Arc<[Arc<InformerSlot>]>;

/// Returns the informer with this id; none if it was removed.
pub(super) fn find_informer(slots: &[Arc<InformerSlot>], id: usize) -> Option<&InformerHandle> {
    let index = slots.binary_search_by_key(&id, |slot| slot.id).ok()?;
    slots.get(index).map(|slot| &slot.informer)
}

/// The slots, and how many users each has: sources, and one for the informers that the controller was registered with.
#[derive(Default)]
pub(super) struct InformerSlots(RwLock<CountedSlots>);

#[derive(Default)]
struct CountedSlots {
    next_id: usize,
    slots: SlotList,
    users: Vec<usize>,
}

impl CountedSlots {
    fn remove(&mut self, id: usize) -> bool {
        let Ok(index) = self.slots.binary_search_by_key(&id, |slot| slot.id) else {
            return false;
        };
        self.users.remove(index);
        self.slots = self.slots.iter().filter(|slot| slot.id != id).cloned().collect();
        true
    }
}

impl InformerSlots {
    /// The slots as they are now.
    pub(super) fn current(&self) -> SlotList {
        self.0.read().slots.clone()
    }

    /// The slot of an informer.
    pub(super) fn of(&self, informer: &InformerHandle) -> Option<Arc<InformerSlot>> {
        let slots = self.current();
        slots.iter().find(|slot| slot.informer.is_same(informer)).cloned()
    }

    /// Adds a user of an informer, which gets a slot if it has none. Returns the new slot.
    fn add_user(&self, informer: &InformerHandle) -> Option<Arc<InformerSlot>> {
        let mut counted = self.0.write();
        let known = counted
            .slots
            .iter()
            .position(|slot| slot.informer.is_same(informer));
        if let Some(index) = known {
            counted.users[index] += 1;
            return None;
        }
        let slot = Arc::new(InformerSlot {
            id: counted.next_id,
            rewinds: informer.rewinds().into(),
            informer: informer.clone(),
            observer: OnceLock::new(),
        });
        counted.next_id += 1;
        counted.slots = counted.slots.iter().cloned().chain([slot.clone()]).collect();
        counted.users.push(1);
        Some(slot)
    }

    /// Removes a user. Returns the slot if it was the last one: the slot is removed.
    fn remove_user(&self, informer: &InformerHandle) -> Option<Arc<InformerSlot>> {
        let mut counted = self.0.write();
        let index = counted
            .slots
            .iter()
            .position(|slot| slot.informer.is_same(informer))?;
        counted.users[index] -= 1;
        if counted.users[index] > 0 {
            return None;
        }
        let slot = counted.slots[index].clone();
        counted.remove(slot.id);
        Some(slot)
    }
}

/// Reports an informer's batches and its removal to the store.
struct SlotObserver {
    store: Weak<ConsistencyStore>,
    slot: Weak<InformerSlot>,
}

impl InformerObserver for SlotObserver {
    fn batch_delivered(&self) {
        if let (Some(store), Some(slot)) = (self.store.upgrade(), self.slot.upgrade()) {
            store.batch_delivered(&slot);
        }
    }

    fn removed(&self) {
        if let (Some(store), Some(slot)) = (self.store.upgrade(), self.slot.upgrade())
            && store.slots.0.write().remove(slot.id)
        {
            store.forget_informer(slot.id);
        }
    }
}

impl ConsistencyStore {
    /// Adds a user of an informer. Returns false if the informer was removed from its factory, or that was shut down.
    ///
    /// Writes wait for the informer once its cache has synced.
    pub(in crate::controller) fn add_informer(self: &Arc<Self>, informer: &InformerHandle) -> bool {
        let Some(slot) = self.slots.add_user(informer) else {
            return true;
        };
        let observer = SlotObserver {
            store: Arc::downgrade(self),
            slot: Arc::downgrade(&slot),
        };
        let Some(id) = informer.observe(observer) else {
            self.slots.0.write().remove(slot.id);
            return false;
        };
        // The slot is new: nothing else sets it.
        let _ = slot.observer.set(id);
        true
    }

    /// Removes a user of an informer. After the last one, no key waits for the informer.
    pub(in crate::controller) fn remove_informer(&self, informer: &InformerHandle) {
        let Some(slot) = self.slots.remove_user(informer) else {
            return;
        };
        if let Some(id) = slot.observer.get() {
            informer.stop_observing(*id);
        }
        self.forget_informer(slot.id);
    }

    /// The slot of an informer; none if reconcile may not read it.
    pub(in crate::controller) fn slot_of(&self, informer: &InformerHandle) -> Option<Arc<InformerSlot>> {
        self.slots.of(informer)
    }

    /// The number of informers that reconcile may read.
    #[cfg(test)]
    pub(in crate::controller) fn informer_count(&self) -> usize {
        self.slots.current().len()
    }

    /// Ends the wait of all keys for an informer whose slot was removed.
    fn forget_informer(&self, id: usize) {
        let (mut unparked, mut enqueued) = (Vec::new(), Vec::new());
        {
            let mut state = self.state.lock();
            let waiting = state.wait_lists.remove(&id).map(|mut list| list.take_all());
            for key in waiting.into_iter().flatten() {
                let Some(record) = state.keys.get_mut(&key) else {
                    continue;
                };
                if record.forget_informer(id) && self.has_follow_ups() {
                    enqueued.push(key.clone());
                }
                if self.end_wait(record) {
                    unparked.push(key.clone());
                }
                if record.is_empty() {
                    state.keys.remove(&key);
                }
            }
            self.count_waits(&state.wait_lists);
        }
        for key in unparked {
            self.queue.unpark(&key);
        }
        for key in enqueued {
            self.queue.add(key);
        }
    }
}
