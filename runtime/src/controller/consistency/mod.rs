//! Consistency store: what the reconciles of a controller wrote, and whether the cache shows it.
//!
//! It does three things. A key is parked while the cache does not show its writes, so that no reconcile reads a cache that lacks its own
//! writes ([`start_reconcile`](ConsistencyStore::start_reconcile)). Own events do not enqueue the key
//! ([`enqueues`](ConsistencyStore::enqueues)). A reconcile that changed something is followed by one extra call
//! ([`finish_reconcile`](ConsistencyStore::finish_reconcile)).
//!
//! `informer_slots` has the informers, `observer` records the writes, `key_record` is the record of one key, `wait_list` has the keys that wait for one informer, `follow_up` is
//! the policy of extra calls, `delayed_follow_ups` their timer, `last_answers` replaces the cache for objects that no informer covers.

mod delayed_follow_ups;
mod follow_up;
mod informer_slots;
mod key_record;
mod last_answers;
mod observer;
mod own_events;
mod wait_list;

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use hashbrown::{HashMap, HashSet};
use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

pub(super) use self::informer_slots::InformerSlot;
pub use self::own_events::OwnEvents;
use self::{
    delayed_follow_ups::DelayedFollowUps,
    follow_up::FollowUp,
    informer_slots::{InformerSlots, find_informer},
    key_record::KeyRecord,
    last_answers::LastAnswers,
    wait_list::WaitList,
};
use super::{ControllerMetrics, Outcome};
use crate::{
    ApiResource, NamespacedName,
    cache::{Change, InformerHandle, Metadata},
    workqueue::{Priority, WorkQueue},
};

/// After so many timed-out waits in a row, a key is reconciled with an old cache.
const MAX_TIMED_OUT_WAITS: u32 = 3;

/// Called with the kind of an object for which a key begins to wait.
pub(super) type WriteWaitObserver = Box<dyn Fn(&ApiResource) + Send + Sync>;

/// Shared by the workers, the enqueue handlers and the informers' batch hooks of one controller.
pub(super) struct ConsistencyStore {
    controller: Box<str>,
    queue: Arc<WorkQueue>,
    metrics: Arc<dyn ControllerMetrics>,
    write_wait_observer: OnceLock<WriteWaitObserver>,
    /// How long a key waits for the cache; zero: it does not wait.
    write_wait: Duration,
    own_events: OwnEvents,
    slots: InformerSlots,
    state: Mutex<ConsistencyState>,
    /// How many waits `state` holds: a batch hook returns early if there are none.
    waits: AtomicUsize,
    warned_of_unordered_versions: AtomicBool,
    /// Wakes the timer of delayed follow-ups: one is due earlier than it sleeps.
    earlier_follow_up: Notify,
}

#[derive(Default)]
struct ConsistencyState {
    keys: HashMap<NamespacedName, KeyRecord>,
    /// By the id of the informer's slot. An informer without an entry has no waiting keys.
    wait_lists: HashMap<usize, WaitList>,
    last_answers: LastAnswers,
    delayed: DelayedFollowUps,
    /// When the last warning about extra calls was logged.
    warned_of_follow_ups: Option<Instant>,
}

/// What a worker does with a key that it took from the queue.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Readiness {
    /// Reconcile it.
    Ready,
    /// Nothing: the cache does not show its writes, and the key is parked.
    Parked,
    /// Put it back with backoff: the cache did not show its writes in time.
    TimedOut,
}

impl ConsistencyStore {
    pub(super) fn new(
        controller: &str,
        queue: Arc<WorkQueue>,
        metrics: Arc<dyn ControllerMetrics>,
        (write_wait, own_events): (Duration, OwnEvents),
        informers: &[InformerHandle],
    ) -> Arc<Self> {
        let store = Arc::new(Self {
            controller: controller.into(),
            queue,
            metrics,
            write_wait_observer: OnceLock::new(),
            write_wait,
            own_events,
            slots: InformerSlots::default(),
            state: Mutex::default(),
            waits: AtomicUsize::new(0),
            warned_of_unordered_versions: AtomicBool::new(false),
            earlier_follow_up: Notify::new(),
        });
        for informer in informers {
            store.add_informer(informer);
        }
        store
    }

    /// Sets what is called when a key begins to wait. Only the first call counts.
    pub(super) fn observe_write_waits(&self, observer: WriteWaitObserver) {
        let _ = self.write_wait_observer.set(observer);
    }

    fn is_off(&self) -> bool {
        self.write_wait.is_zero() && self.own_events == OwnEvents::Enqueue
    }

    fn has_follow_ups(&self) -> bool {
        self.own_events == OwnEvents::ReconcileOnce
    }

    /// A worker took the key from the queue: it reconciles the key if the cache shows the key's writes.
    pub(super) fn start_reconcile(&self, key: &NamespacedName) -> Readiness {
        if self.is_off() {
            return Readiness::Ready;
        }
        let mut state = self.state.lock();
        let ConsistencyState { keys, delayed, .. } = &mut *state;
        let record = keys.entry(key.clone()).or_default();
        let parked_until = record.parked_until.take();
        if !self.is_waiting(record) {
            record.timed_out_waits = 0;
            start(record, key, delayed);
            return Readiness::Ready;
        }
        if parked_until.is_none_or(|deadline| deadline > Instant::now()) {
            let deadline = parked_until.unwrap_or_else(|| Instant::now() + self.write_wait);
            record.parked_until = Some(deadline);
            // While the lock is held: otherwise the key could be unparked before it is parked.
            let is_parked = self.queue.park(key, deadline);
            let is_first = is_parked && parked_until.is_none();
            let observed = self.write_wait_observer.get().filter(|_| is_first);
            let observed = observed.and_then(|observe| Some((observe, self.unshown_kind(record)?)));
            drop(state);
            if is_first {
                self.metrics.write_wait_started();
            }
            if let Some((observe, kind)) = observed {
                observe(&kind);
            }
            return Readiness::Parked;
        }
        record.timed_out_waits += 1;
        let (timed_out_waits, missing) = (record.timed_out_waits, self.unshown_writes(record));
        let is_given_up = timed_out_waits >= MAX_TIMED_OUT_WAITS;
        if is_given_up {
            record.timed_out_waits = 0;
            record.give_up();
            start(record, key, delayed);
        }
        drop(state);
        self.metrics.write_wait_timed_out();
        let (controller, waited) = (&*self.controller, self.write_wait);
        if is_given_up {
            tracing::warn!(
                controller, %key, timed_out_waits, ?waited, missing,
                "the cache does not show the key's writes: reconciling with an old cache"
            );
            return Readiness::Ready;
        }
        tracing::warn!(
            controller, %key, timed_out_waits, ?waited, missing,
            "the cache does not show the key's writes: waiting again with backoff"
        );
        Readiness::TimedOut
    }

    /// The reconcile has ended, and the worker still holds the key. Returns the priority of the next call, if there is one now.
    pub(super) fn finish_reconcile(
        &self,
        key: &NamespacedName,
        outcome: Option<Outcome>,
    ) -> Option<Priority> {
        if self.is_off() {
            return None;
        }
        let mut state = self.state.lock();
        let record = state.keys.get_mut(key)?;
        let changes = record.classify(self.has_follow_ups());
        let follow_up = match outcome {
            Some(outcome) if self.has_follow_ups() => record.follow_up.finish(outcome, changes.is_enqueued),
            _ => FollowUp::None,
        };
        let scheduled = self.schedule(&mut state, key, follow_up);
        if state.keys.get(key).is_some_and(KeyRecord::is_empty) {
            state.keys.remove(key);
        }
        drop(state);
        let is_immediate = self.report_follow_up(key, &scheduled);
        for _ in 0..changes.own {
            self.metrics.own_event_ignored();
        }
        match (changes.is_enqueued, is_immediate) {
            (true, _) => Some(Priority::NORMAL),
            (false, true) => Some(Priority::LOW),
            (false, false) => None,
        }
    }

    /// Whether a change of the informer with this slot enqueues the key now.
    pub(super) fn enqueues(&self, key: &NamespacedName, change: &Change<'_>, slot: &InformerSlot) -> bool {
        if self.own_events == OwnEvents::Enqueue {
            return true;
        }
        let Some(new) = possible_own_event(change) else {
            if self.has_follow_ups()
                && let Some(uid) = changed_uid(change)
                && let Some(record) = self.state.lock().keys.get_mut(key)
            {
                record.record_enqueued(uid);
            }
            return true;
        };
        let mut state = self.state.lock();
        let Some(record) = state.keys.get_mut(key) else {
            return true;
        };
        let waits = !self.write_wait.is_zero() || !self.has_follow_ups();
        let enqueues = !slot.is_valid() || !waits || record.enqueues(new, self.has_follow_ups());
        let is_ignored = !enqueues && !record.is_running;
        if enqueues {
            record.record_enqueued(new.uid());
        }
        drop(state);
        if is_ignored {
            self.metrics.own_event_ignored();
        }
        enqueues
    }

    fn is_waiting(&self, record: &KeyRecord) -> bool {
        !self.write_wait.is_zero() && !record.writes.is_empty() && record.is_waiting(&self.slots.current())
    }

    fn unshown_kind(&self, record: &KeyRecord) -> Option<ApiResource> {
        let slots = self.slots.current();
        let write = record.unshown(&slots).next()?;
        let mut informers = write.undelivered.iter();
        let informer = informers.find_map(|&id| find_informer(&slots, id))?;
        Some(informer.info().clone())
    }

    /// Ends the wait of a parked key if the cache shows its writes. Returns whether the key must be unparked.
    fn end_wait(&self, record: &mut KeyRecord) -> bool {
        let ends = record.parked_until.is_some() && !self.is_waiting(record);
        if ends {
            record.parked_until = None;
            record.timed_out_waits = 0;
        }
        ends
    }

    fn unshown_writes(&self, record: &KeyRecord) -> String {
        let slots = self.slots.current();
        let names = record.unshown(&slots);
        let names: Vec<_> = names
            .map(|write| format!("{} {}", write.kind, write.name))
            .collect();
        names.join(", ")
    }

    /// A batch of the informer is in its store, and its sinks have received it.
    fn batch_delivered(&self, slot: &InformerSlot) {
        let (id, informer) = (slot.id, &slot.informer);
        let is_rewound = slot.accept_rewinds();
        if self.waits.load(Ordering::Acquire) == 0 {
            return;
        }
        let (mut unparked, mut missing) = (Vec::new(), Vec::new());
        {
            let mut state = self.state.lock();
            let ConsistencyState { keys, wait_lists, .. } = &mut *state;
            let Some(wait_list) = wait_lists.get_mut(&id) else {
                return;
            };
            let reached: HashSet<NamespacedName> = if is_rewound {
                wait_list.take_all()
            } else {
                wait_list.take_reached(informer)
            };
            for key in reached {
                let Some(record) = keys.get_mut(&key) else {
                    continue;
                };
                if is_rewound {
                    record.forget_undelivered(id);
                } else if record.mark_delivered(id, informer) {
                    missing.push(key.clone());
                }
                let mut deletions = record.writes.iter().filter(|write| write.version().is_none());
                if deletions.any(|write| write.undelivered.contains(&id)) {
                    wait_list.add_deletion(&key);
                }
                if self.end_wait(record) {
                    unparked.push(key.clone());
                }
                if record.is_empty() {
                    keys.remove(&key);
                }
            }
            self.count_waits(wait_lists);
        }
        for key in unparked {
            self.queue.unpark(&key);
        }
        for key in missing {
            self.queue.add(key);
        }
    }

    fn count_waits(&self, wait_lists: &HashMap<usize, WaitList>) {
        let count = wait_lists.values().map(WaitList::len).sum();
        self.waits.store(count, Ordering::Release);
    }
}

/// A reconcile of the key starts now.
fn start(record: &mut KeyRecord, key: &NamespacedName, delayed: &mut DelayedFollowUps) {
    record.is_running = true;
    if let Some(due) = record.follow_up.start() {
        delayed.remove(due, key);
    }
}

/// The object as it became, if the change can be an own event: one step of a watch without a gap, and no deletion.
fn possible_own_event<'a>(change: &Change<'a>) -> Option<&'a Metadata> {
    if !change.is_from_watch() {
        return None;
    }
    match *change {
        Change::Added { new, .. } | Change::Updated { new, .. } => Some(new),
        Change::Deleted { .. } => None,
    }
}

/// The uid of a changed object; none for the initial list and resyncs, which are not changes.
fn changed_uid<'a>(change: &Change<'a>) -> Option<&'a str> {
    match *change {
        Change::Added {
            is_in_initial_list: true,
            ..
        } => None,
        Change::Updated { old, new } if old.resource_version() == new.resource_version() => None,
        Change::Added { new, .. } | Change::Updated { new, .. } => Some(new.uid()),
        Change::Deleted { old, .. } => Some(old.uid()),
    }
}
