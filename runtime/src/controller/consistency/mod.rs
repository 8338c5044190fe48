//! What the reconciles of a controller wrote, and what the cache has seen of it.
//!
//! Two things come of it. A key whose writes the cache does not show yet is parked, so that no reconcile reads what it has changed
//! itself ([`begin`](ConsistencyStore::begin), [`end`](ConsistencyStore::end)). And the events of its own writes do not wake it
//! ([`wakes`](ConsistencyStore::wakes)). `record` is what is known of one key, `awaited` who waits for what.

mod record;
mod wait_list;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use hashbrown::{HashMap, HashSet};
use parking_lot::Mutex;
use tokio::time::Instant;

use self::{
    record::{PendingWrite, Record},
    wait_list::WaitList,
};
use super::ControllerMetrics;
use crate::{
    NamespacedName,
    cache::{Change, InformerHandle, Metadata},
    client::{WriteKind, WriteObserver, WriteRecord},
    workqueue::WorkQueue,
};

/// As often in a row a key may wait in vain before it is reconciled on an old cache.
const MOST_OVERDUE: u32 = 3;

/// What becomes of the events of a key's own writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OwnEvents {
    /// They do not wake the key that made them.
    #[default]
    Ignore,
    /// They wake it, as those of others do.
    Enqueue,
}

/// Shared by the workers, the sinks and the informers' hooks of one controller.
pub(super) struct ConsistencyStore {
    controller: Box<str>,
    queue: Arc<WorkQueue>,
    metrics: Arc<dyn ControllerMetrics>,
    /// How long a key waits; zero: not at all.
    bound: Duration,
    own_events: OwnEvents,
    informers: Vec<InformerHandle>,
    /// Of each informer: the rewinds after which everything was noted that is known of it.
    rewinds: Vec<AtomicU64>,
    state: Mutex<State>,
    /// How many waits `state` holds: most batches find none.
    awaited: AtomicUsize,
    warned: AtomicBool,
}

#[derive(Default)]
struct State {
    keys: HashMap<NamespacedName, Record>,
    /// Of each informer.
    awaited: Vec<WaitList>,
}

/// What a worker does with a key that it has got.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Readiness {
    Run,
    /// The cache does not show what it wrote: it is parked, and nobody's any more.
    Parked,
    /// The same, after it waited in vain: it is to be put back with a delay.
    Overdue,
}

impl ConsistencyStore {
    pub(super) fn new(
        controller: &str,
        queue: Arc<WorkQueue>,
        metrics: Arc<dyn ControllerMetrics>,
        (bound, own_events): (Duration, OwnEvents),
        informers: Vec<InformerHandle>,
    ) -> Arc<Self> {
        let rewinds = informers
            .iter()
            .map(|informer| AtomicU64::new(informer.rewinds()));
        let state = State {
            awaited: informers.iter().map(|_| WaitList::default()).collect(),
            ..State::default()
        };
        let writes = Arc::new(Self {
            controller: controller.into(),
            queue,
            metrics,
            bound,
            own_events,
            rewinds: rewinds.collect(),
            informers,
            state: Mutex::new(state),
            awaited: AtomicUsize::new(0),
            warned: AtomicBool::new(false),
        });
        if !writes.is_off() {
            for (place, informer) in writes.informers.iter().enumerate() {
                let told = Arc::downgrade(&writes);
                informer.after_each_batch(move || {
                    if let Some(writes) = told.upgrade() {
                        writes.was_told(place);
                    }
                });
            }
        }
        writes
    }

    fn is_off(&self) -> bool {
        self.bound.is_zero() && self.own_events == OwnEvents::Enqueue
    }

    /// Who is told of what a reconcile of the key writes.
    pub(super) fn author(self: &Arc<Self>, key: &NamespacedName) -> Option<Arc<dyn WriteObserver>> {
        (!self.is_off()).then(|| {
            Arc::new(Observer {
                writes: self.clone(),
                key: key.clone(),
            }) as Arc<dyn WriteObserver>
        })
    }

    /// A worker has got the key.
    pub(super) fn begin(&self, key: &NamespacedName) -> Readiness {
        if self.is_off() {
            return Readiness::Run;
        }
        let mut state = self.state.lock();
        let record = state.keys.entry(key.clone()).or_default();
        let until = record.until.take();
        if !self.waits(record) {
            record.overdue = 0;
            record.is_running = true;
            return Readiness::Run;
        }
        if until.is_none_or(|until| until > Instant::now()) {
            let deadline = until.unwrap_or_else(|| Instant::now() + self.bound);
            record.until = Some(deadline);
            // Within the lock, or it could be unparked before.
            let is_parked = self.queue.park(key, deadline);
            drop(state);
            if is_parked && until.is_none() {
                self.metrics.waits();
            }
            return Readiness::Parked;
        }
        record.overdue += 1;
        let (overdue, unseen) = (record.overdue, self.unseen(record));
        let is_last = overdue >= MOST_OVERDUE;
        if is_last {
            record.overdue = 0;
            record.give_up();
            record.is_running = true;
        }
        drop(state);
        self.metrics.wait_overdue();
        let (controller, waited) = (&*self.controller, self.bound);
        if is_last {
            tracing::warn!(
                controller, %key, overdue, ?waited, unseen,
                "the cache does not show what the key wrote: reconciling with an old cache"
            );
            return Readiness::Run;
        }
        tracing::warn!(controller, %key, overdue, ?waited, unseen, "the cache does not show what the key wrote: waiting on");
        Readiness::Overdue
    }

    /// The reconcile has ended, while the worker still holds the key. Says whether a change came meanwhile that was not its own.
    pub(super) fn end(&self, key: &NamespacedName) -> bool {
        if self.is_off() {
            return false;
        }
        let mut state = self.state.lock();
        let Some(record) = state.keys.get_mut(key) else {
            return false;
        };
        let (own, foreign) = record.classify();
        if record.is_empty() {
            state.keys.remove(key);
        }
        drop(state);
        for _ in 0..own {
            self.metrics.own_event();
        }
        foreign > 0
    }

    /// Whether a change, of which the informer at `place` tells, wakes the key now.
    pub(super) fn wakes(&self, key: &NamespacedName, change: &Change<'_>, place: usize) -> bool {
        let Some(new) = self.step(change) else { return true };
        let mut state = self.state.lock();
        let Some(record) = state.keys.get_mut(key) else {
            return true;
        };
        // A version may have come a second time: the server forgot the first.
        let is_known = self.rewinds[place].load(Ordering::Acquire) == self.informers[place].rewinds();
        let wakes = !is_known || record.wakes(new);
        let is_own = !wakes && !record.is_running;
        drop(state);
        if is_own {
            self.metrics.own_event();
        }
        wakes
    }

    /// The object as it became, if the change could be an own one.
    fn step<'a>(&self, change: &Change<'a>) -> Option<&'a Metadata> {
        if self.own_events == OwnEvents::Enqueue || !change.is_from_watch() {
            return None;
        }
        match *change {
            Change::Added { new, .. } | Change::Updated { new, .. } => Some(new),
            Change::Deleted { .. } => None,
        }
    }

    /// The position of an informer.
    pub(super) fn place(&self, informer: &InformerHandle) -> usize {
        let place = self.informers.iter().position(|known| known.is_same(informer));
        place.unwrap_or_default()
    }

    fn waits(&self, record: &Record) -> bool {
        !self.bound.is_zero() && record.is_waiting(&self.informers)
    }

    fn unseen(&self, record: &Record) -> String {
        let names = record.unseen(&self.informers);
        let names: Vec<_> = names
            .map(|write| format!("{} {}", write.kind, write.name))
            .collect();
        names.join(", ")
    }

    fn wrote(&self, key: &NamespacedName, write: WriteRecord) {
        let informers = self.informers.iter().enumerate();
        let same_kind = |informer: &InformerHandle| {
            let info = informer.info();
            info.group == write.kind.group && info.plural == write.kind.plural
        };
        let of_kind: Vec<_> = informers.filter(|(_, informer)| same_kind(informer)).collect();
        let known = || of_kind.iter().find_map(|(_, informer)| informer.uid(&write.name));
        let uid: Box<str> = match (&*write.uid, write.effect) {
            ("", WriteKind::Deleted | WriteKind::Removed) => known().unwrap_or_default().into(),
            (uid, _) => uid.into(),
        };
        let is_awaited = |informer: &InformerHandle| match write.effect {
            WriteKind::Written => informer.covers(&write.name, &uid, write.object.as_deref()),
            WriteKind::Deleted => informer.holds_alive(&write.name, &uid),
            WriteKind::Removed => informer.holds(&write.name, &uid),
        };
        let untold: Vec<usize> = of_kind
            .iter()
            .filter(|(_, informer)| is_awaited(informer))
            .map(|(place, _)| *place)
            .collect();
        if untold.is_empty() {
            return;
        }
        let noted = PendingWrite::new(write, uid, untold);
        if let (Some(version), Some(&place)) = (noted.version(), noted.untold.first())
            && self.informers[place].has_reached(&noted.name, version).is_none()
            && !self.warned.swap(true, Ordering::Relaxed)
        {
            let (kind, name) = (&*noted.kind, &noted.name);
            tracing::warn!(controller = &*self.controller, kind, %name, version, "resource versions are no decimal numbers: keys do not wait until the cache shows what they wrote");
        }
        let mut state = self.state.lock();
        let State { keys, awaited } = &mut *state;
        for &place in &noted.untold {
            match noted.version() {
                Some(version) => awaited[place].version(key, &noted.name, version),
                None => awaited[place].deletion(key),
            }
        }
        keys.entry(key.clone()).or_default().writes.push(noted);
        self.recount(awaited);
    }

    /// The informer told everybody of what is in its store.
    fn was_told(&self, place: usize) {
        let informer = &self.informers[place];
        let rewinds = informer.rewinds();
        let is_setback = self.rewinds[place].swap(rewinds, Ordering::AcqRel) != rewinds;
        if self.awaited.load(Ordering::Acquire) == 0 {
            return;
        }
        let (mut unparked, mut missing) = (Vec::new(), Vec::new());
        {
            let mut state = self.state.lock();
            let State { keys, awaited } = &mut *state;
            let told: HashSet<NamespacedName> = if is_setback {
                awaited[place].take_all()
            } else {
                awaited[place].take_reached(informer)
            };
            for key in told {
                let Some(record) = keys.get_mut(&key) else {
                    continue;
                };
                if is_setback {
                    record.forget(place);
                } else if record.was_told(place, informer) {
                    missing.push(key.clone());
                }
                let deletions = record.writes.iter().filter(|write| write.version().is_none());
                if deletions.into_iter().any(|write| write.untold.contains(&place)) {
                    awaited[place].deletion(&key);
                }
                if record.until.is_some() && !self.waits(record) {
                    record.until = None;
                    record.overdue = 0;
                    unparked.push(key.clone());
                }
                if record.is_empty() {
                    keys.remove(&key);
                }
            }
            self.recount(awaited);
        }
        for key in unparked {
            self.queue.unpark(&key);
        }
        for key in missing {
            self.queue.add(key);
        }
    }

    fn recount(&self, awaited: &[WaitList]) {
        let count = awaited.iter().map(WaitList::len).sum();
        self.awaited.store(count, Ordering::Release);
    }
}

/// Notes what the reconcile of one key writes.
struct Observer {
    writes: Arc<ConsistencyStore>,
    key: NamespacedName,
}

impl WriteObserver for Observer {
    fn wrote(&self, write: WriteRecord) {
        self.writes.wrote(&self.key, write);
    }
}
