//! What a handler was told, checked against what it must be told.

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

use crate::world::Content;

/// How long a handler that takes its time does so, after 32 objects. Two threads call all handlers: eighteen with longer naps would never
/// catch up with what is written, and leave more behind the longer a run is.
const NAP: Duration = Duration::from_millis(10);

/// What went wrong; the first hundred are kept.
#[derive(Debug, Default)]
pub struct Faults {
    texts: Mutex<Vec<String>>,
    count: AtomicU64,
}

impl Faults {
    pub fn add(&self, text: String) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let mut texts = self.texts.lock().expect("nobody panicked");
        if texts.len() < 100 {
            texts.push(text);
        }
    }

    /// # Panics
    ///
    /// When there are any.
    pub fn assert_none(&self) {
        let texts = self.texts.lock().expect("nobody panicked");
        let count = self.count.load(Ordering::Relaxed);
        assert_eq!(count, 0, "faults, the first of them:\n{}", texts.join("\n"));
    }
}

/// Uid and version of each object.
pub type Contents = BTreeMap<NamespacedName, (String, String)>;

/// What a handler does besides listening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    Plain,
    /// Takes its time now and then.
    Slow,
    /// Reads each object.
    Decoding,
    /// Is told of what did not change, too.
    Resynced,
    /// Takes its time, and is told of the newest only: of a deletion where what it knew, and what took its place, went by meanwhile.
    Merged,
    /// Is told of [some](is_of_filter) objects only.
    Filtered,
}

/// What handlers of the manner `Filtered` are told of: what the label `bucket` says changes with nearly each update.
pub fn is_of_filter(bucket: Option<&str>) -> bool {
    bucket.is_some_and(|bucket| bucket < "5")
}

/// The lives of all objects, as one handler or sink is told of them.
pub struct Ledger<K> {
    pub label: String,
    pub manner: Manner,
    /// Objects that leave the selection (or what the filter lets pass) and come back are told as deleted and added with the same uid.
    selected: bool,
    /// Lists of the informer before the first relist.
    first_lists: u64,
    informer: SharedInformer<K>,
    lister: Lister<K>,
    faults: Arc<Faults>,
    lives: Mutex<HashMap<NamespacedName, Life>>,
    /// Of the initial lists, which are one for all namespaces or one for each: those after which an addition was told.
    past_initial_lists: Mutex<HashSet<Option<String>>>,
    pub told: Told,
}

#[derive(Clone, Debug)]
struct Life {
    uid: String,
    version: String,
    alive: bool,
}

/// Figures of what was told.
#[derive(Debug, Default)]
pub struct Told {
    pub added: AtomicU64,
    pub updated: AtomicU64,
    pub deleted: AtomicU64,
    pub resynced: AtomicU64,
    /// Of the deletions: found by a relist.
    pub missed_deletions: AtomicU64,
    /// Of the updates: deletion and recreation, found by a relist.
    pub other_uids: AtomicU64,
}

impl Told {
    pub fn total(&self) -> u64 {
        [&self.added, &self.updated, &self.deleted]
            .map(|counter| counter.load(Ordering::Relaxed))
            .iter()
            .sum()
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Resource versions are numbers.
pub fn number(version: &str) -> u64 {
    version.parse().unwrap_or_default()
}

impl<K: View> Ledger<K> {
    pub fn new(
        label: String,
        manner: Manner,
        informer: &SharedInformer<K>,
        faults: &Arc<Faults>,
    ) -> Arc<Self> {
        let options = informer.options();
        Arc::new(Self {
            label,
            manner,
            selected: options.label_selector.is_some() || manner == Manner::Filtered,
            first_lists: options
                .namespaces
                .as_ref()
                .map_or(1, |namespaces| namespaces.len() as u64),
            lister: informer.lister(),
            informer: informer.clone(),
            faults: faults.clone(),
            lives: Mutex::default(),
            past_initial_lists: Mutex::default(),
            told: Told::default(),
        })
    }

    fn fault(&self, name: &NamespacedName, text: &str) {
        self.faults.add(format!("{}: {name}: {text}", self.label));
    }

    /// What a sink is told.
    pub fn change(&self, change: &Change<'_>) {
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
        count(&self.told.added);
        let list = new.name().namespace().filter(|_| self.first_lists > 1);
        let mut past_lists = self.past_initial_lists.lock().expect("nobody panicked");
        if !is_in_initial_list {
            // What a change lets through a filter is added, too, and may have been in the list as what it was before.
            if self.manner != Manner::Filtered {
                past_lists.insert(list.map(str::to_owned));
            }
        } else if past_lists.contains(&list.map(str::to_owned)) {
            self.fault(new.name(), "of the initial list, but that is over");
        }
        drop(past_lists);
        let before = self.follow(new, true);
        if let Some(before) = before {
            if before.alive {
                self.fault(new.name(), &format!("added, but it was there: {before:?}"));
            }
            if before.uid == new.uid() && !self.selected {
                self.fault(new.name(), "added, but it was deleted with that uid");
            }
            if number(&before.version) >= number(new.resource_version()) {
                self.fault(
                    new.name(),
                    &format!("added as {new:?}, but it was deleted as {before:?}"),
                );
            }
        }
        self.is_in_store(new);
    }

    fn updated(&self, old: &Metadata, new: &Metadata) {
        if self.manner == Manner::Resynced && old.resource_version() == new.resource_version() {
            return self.resynced(new);
        }
        count(&self.told.updated);
        if old.name() != new.name() {
            self.fault(new.name(), &format!("updated from {}", old.name()));
        }
        match self.follow(new, true) {
            Some(before) if before.alive => {
                if (&*before.uid, &*before.version) != (old.uid(), old.resource_version()) {
                    self.fault(
                        new.name(),
                        &format!("updated from {old:?}, but told before was {before:?}"),
                    );
                }
            }
            before => self.fault(new.name(), &format!("updated, but it was not there: {before:?}")),
        }
        if number(old.resource_version()) >= number(new.resource_version()) {
            self.fault(new.name(), &format!("updated from {old:?} back to {new:?}"));
        }
        if old.uid() != new.uid() {
            count(&self.told.other_uids);
            if self.informer.stats().lists <= self.first_lists {
                self.fault(new.name(), "updated to another uid, though there was no gap");
            }
        }
        self.is_in_store(new);
    }

    /// What was told before is told again.
    fn resynced(&self, new: &Metadata) {
        count(&self.told.resynced);
        let before = self.follow(new, true);
        let is_same = |before: &Life| {
            before.alive && (&*before.uid, &*before.version) == (new.uid(), new.resource_version())
        };
        if !before.as_ref().is_some_and(is_same) {
            self.fault(
                new.name(),
                &format!("resynced as {new:?}, but told before was {before:?}"),
            );
        }
    }

    fn deleted(&self, old: &Metadata, final_state_known: bool) {
        count(&self.told.deleted);
        let version = number(old.resource_version());
        match self.follow(old, false) {
            Some(before) if before.alive => {
                let before_version = number(&before.version);
                let fits = if matches!(self.manner, Manner::Merged | Manner::Filtered) {
                    version >= before_version
                } else if final_state_known {
                    version > before_version
                } else {
                    version == before_version
                };
                let is_same = before.uid == old.uid() || self.manner == Manner::Merged;
                if !is_same || !fits {
                    self.fault(
                        old.name(),
                        &format!(
                            "deleted as {old:?} (known: {final_state_known}), but told before was {before:?}"
                        ),
                    );
                }
            }
            before => self.fault(old.name(), &format!("deleted, but it was not there: {before:?}")),
        }
        if !final_state_known {
            count(&self.told.missed_deletions);
            if self.informer.stats().lists <= self.first_lists {
                self.fault(old.name(), "its deletion was missed, though there was no gap");
            }
        }
        if let Some(cached) = self.lister.object(old.name())
            && number(cached.metadata().resource_version()) <= version
        {
            self.fault(old.name(), "told as deleted, but the lister has it");
        }
    }

    /// Takes down the state, and says what it was before.
    fn follow(&self, now: &Metadata, alive: bool) -> Option<Life> {
        let life = Life {
            uid: now.uid().to_owned(),
            version: now.resource_version().to_owned(),
            alive,
        };
        let mut lives = self.lives.lock().expect("nobody panicked");
        lives.insert(now.name().clone(), life)
    }

    /// What is told is in the store, or something newer.
    fn is_in_store(&self, told: &Metadata) {
        if let Some(cached) = self.lister.object(told.name())
            && number(cached.metadata().resource_version()) < number(told.resource_version())
        {
            self.fault(told.name(), "told, but the lister has an older state");
        }
    }

    /// What is there, as far as it was told.
    pub fn contents(&self) -> Contents {
        let lives = self.lives.lock().expect("nobody panicked");
        lives
            .iter()
            .filter(|(_, life)| life.alive)
            .map(|(name, life)| (name.clone(), (life.uid.clone(), life.version.clone())))
            .collect()
    }
}

/// A [`Ledger`] as a handler.
pub struct Handler<K>(pub Arc<Ledger<K>>);

impl<K: View + Content> Handler<K> {
    fn look_at(&self, object: &Object<K>) {
        match self.0.manner {
            Manner::Plain | Manner::Resynced | Manner::Filtered => {}
            Manner::Slow | Manner::Merged => {
                if self.0.told.total().is_multiple_of(32) {
                    std::thread::sleep(NAP);
                }
            }
            Manner::Decoding => {
                let decoded = object.decode().map_err(|error| error.to_string());
                if let Err(problem) = decoded.and_then(|decoded| decoded.check()) {
                    self.0.fault(object.name(), &problem);
                }
            }
        }
    }
}

impl<K: View + Content> EventHandler<K> for Handler<K> {
    fn on_add(&self, object: &Object<K>, is_in_initial_list: bool) {
        self.0.added(object.metadata(), is_in_initial_list);
        self.look_at(object);
    }

    fn on_update(&self, old: &Object<K>, new: &Object<K>) {
        self.0.updated(old.metadata(), new.metadata());
        self.look_at(old);
        self.look_at(new);
    }

    fn on_delete(&self, deleted: &Deleted<K>) {
        self.0
            .deleted(deleted.object.metadata(), deleted.final_state_known);
        self.look_at(&deleted.object);
    }
}
