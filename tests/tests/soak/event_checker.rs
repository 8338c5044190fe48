//! Checks that an event handler or a sink receives a correct, gap-free sequence of events for every object.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use kubewright::{
    NamespacedName, View,
    cache::{Change, Deleted, EventHandler, Lister, Metadata, Object, SharedInformer},
};

use crate::workload::TestData;

/// How long a slow handler sleeps, once per 32 events. Two threads call all handlers: eighteen slow handlers with longer delays would
/// never catch up with the writers, and their backlog would grow with the length of the run.
const SLOW_HANDLER_DELAY: Duration = Duration::from_millis(10);

/// The violations found so far. The texts of the first hundred are kept.
#[derive(Debug, Default)]
pub struct Violations {
    texts: Mutex<Vec<String>>,
    count: AtomicU64,
}

impl Violations {
    pub fn add(&self, text: String) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let mut texts = self.texts.lock().expect("the lock is not poisoned");
        if texts.len() < 100 {
            texts.push(text);
        }
    }

    /// # Panics
    ///
    /// If there are any violations.
    pub fn assert_none(&self) {
        let texts = self.texts.lock().expect("the lock is not poisoned");
        let count = self.count.load(Ordering::Relaxed);
        assert_eq!(count, 0, "violations, the first of them:\n{}", texts.join("\n"));
    }
}

/// Uid and resource version of each object.
pub type ObjectVersions = BTreeMap<NamespacedName, (String, String)>;

/// How a handler behaves, and which events it receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandlerMode {
    Plain,
    /// Sleeps now and then.
    Slow,
    /// Decodes each object and checks its integrity.
    Decoding,
    /// Receives periodic resyncs of unchanged objects.
    Resynced,
    /// Sleeps, and receives coalesced events: only the newest change of each object. It receives one deletion if its known object and a
    /// successor were both deleted in between.
    Coalesced,
    /// Receives events of objects that [`passes_filter`] accepts.
    Filtered,
}

/// The predicate of handlers in mode `Filtered`. The label `bucket` changes with nearly every update.
pub fn passes_filter(bucket: Option<&str>) -> bool {
    bucket.is_some_and(|bucket| bucket < "5")
}

/// Follows the events of one handler or sink and records a violation for each event that contradicts the previous ones.
pub struct EventChecker<K> {
    pub label: String,
    pub mode: HandlerMode,
    /// Whether a selector or filter applies: objects that stop matching and match again arrive as deleted and added with the same uid.
    is_selective: bool,
    /// The number of initial lists: one, or one per namespace. More lists than that mean a relist.
    initial_lists: u64,
    informer: SharedInformer<K>,
    lister: Lister<K>,
    violations: Arc<Violations>,
    states: Mutex<HashMap<NamespacedName, ObjectState>>,
    /// Initial lists (by namespace, or None for all namespaces) that are over, because an addition outside of them has arrived.
    finished_initial_lists: Mutex<HashSet<Option<String>>>,
    pub counts: EventCounts,
}

#[derive(Clone, Debug)]
struct ObjectState {
    uid: String,
    version: String,
    alive: bool,
}

/// Counts of received events.
#[derive(Debug, Default)]
pub struct EventCounts {
    pub added: AtomicU64,
    pub updated: AtomicU64,
    pub deleted: AtomicU64,
    pub resynced: AtomicU64,
    /// Deletions that a relist discovered.
    pub missed_deletions: AtomicU64,
    /// Updates to another uid: a relist discovered that the object was deleted and recreated.
    pub changed_uids: AtomicU64,
}

impl EventCounts {
    pub fn total(&self) -> u64 {
        [&self.added, &self.updated, &self.deleted]
            .map(|counter| counter.load(Ordering::Relaxed))
            .iter()
            .sum()
    }
}

fn increment(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Parses a resource version, to compare it as a number.
pub fn parse_version(version: &str) -> u64 {
    version.parse().unwrap_or_default()
}

impl<K: View> EventChecker<K> {
    pub fn new(
        label: String,
        mode: HandlerMode,
        informer: &SharedInformer<K>,
        violations: &Arc<Violations>,
    ) -> Arc<Self> {
        let options = informer.options();
        Arc::new(Self {
            label,
            mode,
            is_selective: options.label_selector.is_some() || mode == HandlerMode::Filtered,
            initial_lists: options
                .namespaces
                .as_ref()
                .map_or(1, |namespaces| namespaces.len() as u64),
            lister: informer.lister(),
            informer: informer.clone(),
            violations: violations.clone(),
            states: Mutex::default(),
            finished_initial_lists: Mutex::default(),
            counts: EventCounts::default(),
        })
    }

    fn violation(&self, name: &NamespacedName, text: &str) {
        self.violations.add(format!("{}: {name}: {text}", self.label));
    }

    /// Checks an event that a sink received.
    pub fn check_change(&self, change: &Change<'_>) {
        match *change {
            Change::Added {
                new,
                is_in_initial_list,
            } => self.added(new, is_in_initial_list),
            Change::Updated { old, new } => self.updated(old, new),
            Change::Deleted {
                old,
                final_state_known,
            } => self.deleted(old, final_state_known),
        }
    }

    fn added(&self, new: &Metadata, is_in_initial_list: bool) {
        increment(&self.counts.added);
        let list = new.name().namespace().filter(|_| self.initial_lists > 1);
        let mut finished_lists = self
            .finished_initial_lists
            .lock()
            .expect("the lock is not poisoned");
        if !is_in_initial_list {
            // An update that makes an object pass the filter arrives as added; its previous version may be part of the initial list.
            if self.mode != HandlerMode::Filtered {
                finished_lists.insert(list.map(str::to_owned));
            }
        } else if finished_lists.contains(&list.map(str::to_owned)) {
            self.violation(
                new.name(),
                "added as part of the initial list, but that list is over",
            );
        }
        drop(finished_lists);
        let before = self.record(new, true);
        if let Some(before) = before {
            if before.alive {
                self.violation(new.name(), &format!("added, but it existed: {before:?}"));
            }
            if before.uid == new.uid() && !self.is_selective {
                self.violation(new.name(), "added, but an object with that uid was deleted");
            }
            if parse_version(&before.version) >= parse_version(new.resource_version()) {
                self.violation(
                    new.name(),
                    &format!("added as {new:?}, but it was deleted as {before:?}"),
                );
            }
        }
        self.check_store(new);
    }

    fn updated(&self, old: &Metadata, new: &Metadata) {
        if self.mode == HandlerMode::Resynced && old.resource_version() == new.resource_version() {
            return self.resynced(new);
        }
        increment(&self.counts.updated);
        if old.name() != new.name() {
            self.violation(new.name(), &format!("updated from {}", old.name()));
        }
        match self.record(new, true) {
            Some(before) if before.alive => {
                if (&*before.uid, &*before.version) != (old.uid(), old.resource_version()) {
                    self.violation(
                        new.name(),
                        &format!("updated from {old:?}, but the previous event was {before:?}"),
                    );
                }
            }
            before => self.violation(new.name(), &format!("updated, but it did not exist: {before:?}")),
        }
        if parse_version(old.resource_version()) >= parse_version(new.resource_version()) {
            self.violation(new.name(), &format!("updated from {old:?} back to {new:?}"));
        }
        if old.uid() != new.uid() {
            increment(&self.counts.changed_uids);
            if self.informer.stats().lists <= self.initial_lists {
                self.violation(new.name(), "updated to another uid, but there was no relist");
            }
        }
        self.check_store(new);
    }

    /// Checks a resync: it repeats the previous event's object.
    fn resynced(&self, new: &Metadata) {
        increment(&self.counts.resynced);
        let before = self.record(new, true);
        let is_same_object = |before: &ObjectState| {
            before.alive && (&*before.uid, &*before.version) == (new.uid(), new.resource_version())
        };
        if !before.as_ref().is_some_and(is_same_object) {
            self.violation(
                new.name(),
                &format!("resynced as {new:?}, but the previous event was {before:?}"),
            );
        }
    }

    fn deleted(&self, old: &Metadata, final_state_known: bool) {
        increment(&self.counts.deleted);
        let version = parse_version(old.resource_version());
        match self.record(old, false) {
            Some(before) if before.alive => {
                let before_version = parse_version(&before.version);
                let is_version_valid = if matches!(self.mode, HandlerMode::Coalesced | HandlerMode::Filtered)
                {
                    version >= before_version
                } else if final_state_known {
                    version > before_version
                } else {
                    version == before_version
                };
                let is_same_object = before.uid == old.uid() || self.mode == HandlerMode::Coalesced;
                if !is_same_object || !is_version_valid {
                    self.violation(
                        old.name(),
                        &format!(
                            "deleted as {old:?} (final state known: {final_state_known}), but the previous event was {before:?}"
                        ),
                    );
                }
            }
            before => self.violation(old.name(), &format!("deleted, but it did not exist: {before:?}")),
        }
        if !final_state_known {
            increment(&self.counts.missed_deletions);
            if self.informer.stats().lists <= self.initial_lists {
                self.violation(old.name(), "the final state is unknown, but there was no relist");
            }
        }
        if let Some(cached) = self.lister.object(old.name())
            && parse_version(cached.metadata().resource_version()) <= version
        {
            self.violation(old.name(), "deleted, but the lister returns it");
        }
    }

    /// Records the object's new state and returns the previous one.
    fn record(&self, now: &Metadata, alive: bool) -> Option<ObjectState> {
        let state = ObjectState {
            uid: now.uid().to_owned(),
            version: now.resource_version().to_owned(),
            alive,
        };
        let mut states = self.states.lock().expect("the lock is not poisoned");
        states.insert(now.name().clone(), state)
    }

    /// Checks that the store contains the received version or a newer one.
    fn check_store(&self, received: &Metadata) {
        if let Some(cached) = self.lister.object(received.name())
            && parse_version(cached.metadata().resource_version())
                < parse_version(received.resource_version())
        {
            self.violation(
                received.name(),
                "received, but the lister returns an older version",
            );
        }
    }

    /// Returns the objects that exist according to the events.
    pub fn existing(&self) -> ObjectVersions {
        let states = self.states.lock().expect("the lock is not poisoned");
        states
            .iter()
            .filter(|(_, state)| state.alive)
            .map(|(name, state)| (name.clone(), (state.uid.clone(), state.version.clone())))
            .collect()
    }
}

/// An event handler that passes its events to an [`EventChecker`].
pub struct CheckingHandler<K>(pub Arc<EventChecker<K>>);

impl<K: View + TestData> CheckingHandler<K> {
    fn visit(&self, object: &Object<K>) {
        match self.0.mode {
            HandlerMode::Plain | HandlerMode::Resynced | HandlerMode::Filtered => {}
            HandlerMode::Slow | HandlerMode::Coalesced => {
                if self.0.counts.total().is_multiple_of(32) {
                    std::thread::sleep(SLOW_HANDLER_DELAY);
                }
            }
            HandlerMode::Decoding => {
                let decoded = object.decode().map_err(|error| error.to_string());
                if let Err(error) = decoded.and_then(|decoded| decoded.check()) {
                    self.0.violation(object.name(), &error);
                }
            }
        }
    }
}

impl<K: View + TestData> EventHandler<K> for CheckingHandler<K> {
    fn on_add(&self, object: &Object<K>, is_in_initial_list: bool) {
        self.0.added(object.metadata(), is_in_initial_list);
        self.visit(object);
    }

    fn on_update(&self, old: &Object<K>, new: &Object<K>) {
        self.0.updated(old.metadata(), new.metadata());
        self.visit(old);
        self.visit(new);
    }

    fn on_delete(&self, deleted: &Deleted<K>) {
        self.0
            .deleted(deleted.object.metadata(), deleted.final_state_known);
        self.visit(&deleted.object);
    }
}
