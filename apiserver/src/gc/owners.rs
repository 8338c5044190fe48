//! The garbage collector: objects whose owners are gone go, and owners that wait for what they own wait no longer than that.

use crate::auth::User;
use crate::kinds::{Catalog, Kind};
use crate::meta;
use crate::registry::{Bodied, DeleteOptions, Registry, Target, WriteOptions};
use crate::store::ChangeKind;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";
const BATCH: usize = 1024;

/// Where an object lies: the table, the namespace, the name.
type Place = (String, String, String);

/// Who owns whom, kept up to date from the history of each table.
#[derive(Default)]
pub(super) struct Collector {
    /// What is served, and its kinds by their tables.
    catalog: Arc<Catalog>,
    kinds: Arc<HashMap<String, Arc<Kind>>>,
    /// The version up to which every table was followed.
    seen: u64,
    positions: HashMap<String, u64>,
    /// The objects that exist, by uid.
    places: HashMap<String, Place>,
    /// What each uid owns.
    owned: HashMap<String, HashSet<String>>,
    /// The owners that each uid names.
    owners: HashMap<String, Vec<String>>,
}

impl Collector {
    /// Does what there is to do; true when something was refused and must be tried again.
    pub(super) fn collect(&mut self, registry: &Registry) -> bool {
        self.learn(registry.catalog());
        let (catalog, kinds) = (self.catalog.clone(), self.kinds.clone());
        let mut dirty = BTreeSet::new();
        let (changed, until) = registry.store.changed_since(self.seen);
        for table in changed.iter().filter(|table| kinds.contains_key(*table)) {
            self.follow(registry, table, &mut dirty);
        }
        self.seen = until;
        let mut waits = false;
        for uid in dirty {
            let Some((table, namespace, name)) = self.places.get(&uid) else {
                continue;
            };
            let Some(kind) = kinds.get(table) else { continue };
            let target = Target::new(kind, namespace, name);
            let context = Context {
                registry,
                catalog: &catalog,
                kinds: &kinds,
            };
            waits |= self.attend(&context, &uid, &target).is_err();
        }
        waits
    }

    /// When something else is served, every table is looked at again: one that nobody served may have changed.
    fn learn(&mut self, catalog: Arc<Catalog>) {
        if Arc::ptr_eq(&catalog, &self.catalog) {
            return;
        }
        let kinds = catalog.stored().map(|kind| (kind.table(), kind.clone()));
        self.kinds = Arc::new(kinds.collect());
        self.catalog = catalog;
        self.seen = 0;
    }

    /// Takes in what changed in a table, and tells which objects are to be looked at.
    fn follow(&mut self, registry: &Registry, table: &str, dirty: &mut BTreeSet<String>) {
        loop {
            let position = self.positions.get(table).copied().unwrap_or(0);
            let Ok((changes, until)) = registry.store.changes(table, position, BATCH) else {
                self.relist(registry, table, dirty);
                return;
            };
            for change in &changes {
                let object = change.object.value();
                if change.kind == ChangeKind::Deleted {
                    self.forget(meta::uid(object), dirty);
                } else {
                    self.note(table, object, dirty);
                }
            }
            self.positions.insert(table.to_owned(), until);
            if changes.len() < BATCH {
                return;
            }
        }
    }

    /// The history is gone: what is there now is compared with what was known.
    fn relist(&mut self, registry: &Registry, table: &str, dirty: &mut BTreeSet<String>) {
        let Ok(page) = registry.store.list(table, "", "", None) else {
            return;
        };
        let mut present = HashSet::new();
        // One tree at a time.
        for object in page.objects {
            present.insert(meta::uid(object.value()).to_owned());
            self.note(table, object.value(), dirty);
        }
        let known = self.places.iter().filter(|(_, place)| place.0 == table);
        let gone: Vec<String> = known
            .map(|(uid, _)| uid.clone())
            .filter(|uid| !present.contains(uid))
            .collect();
        for uid in gone {
            self.forget(&uid, dirty);
        }
        self.positions.insert(table.to_owned(), page.revision);
    }

    fn note(&mut self, table: &str, object: &Value, dirty: &mut BTreeSet<String>) {
        let uid = meta::uid(object).to_owned();
        let place = (
            table.to_owned(),
            meta::namespace(object).to_owned(),
            meta::name(object).to_owned(),
        );
        self.places.insert(uid.clone(), place);
        let owners: Vec<String> = meta::owners(object).iter().map(owner_uid).collect();
        self.release(&uid, dirty);
        for owner in &owners {
            self.owned.entry(owner.clone()).or_default().insert(uid.clone());
        }
        if meta::is_being_deleted(object) || !owners.is_empty() {
            dirty.insert(uid.clone());
        }
        // An owner that waits may wait for this one.
        dirty.extend(owners.iter().cloned());
        if meta::has_finalizer(object, FOREGROUND) {
            dirty.extend(self.dependents(&uid));
        }
        if !owners.is_empty() {
            self.owners.insert(uid, owners);
        }
    }

    fn forget(&mut self, uid: &str, dirty: &mut BTreeSet<String>) {
        self.places.remove(uid);
        dirty.extend(self.dependents(uid));
        self.release(uid, dirty);
    }

    /// Forgets whom an object named as owners, and has those looked at.
    fn release(&mut self, uid: &str, dirty: &mut BTreeSet<String>) {
        for owner in self.owners.remove(uid).unwrap_or_default() {
            if let Some(owned) = self.owned.get_mut(&owner) {
                owned.remove(uid);
                if owned.is_empty() {
                    self.owned.remove(&owner);
                }
            }
            dirty.insert(owner);
        }
    }

    fn dependents(&self, uid: &str) -> Vec<String> {
        self.owned.get(uid).into_iter().flatten().cloned().collect()
    }

    /// Looks at one object.
    fn attend(&self, context: &Context<'_>, uid: &str, target: &Target) -> Result<(), ()> {
        let registry = context.registry;
        let Ok(object) = registry.get(target) else {
            return Ok(());
        };
        let object = object.value();
        if meta::uid(object) != uid {
            return Ok(());
        }
        if meta::is_being_deleted(object) {
            if meta::has_finalizer(object, ORPHAN) {
                return self.orphan(context, uid, target);
            }
            if meta::has_finalizer(object, FOREGROUND) {
                return self.wait_for_dependents(context, uid, target);
            }
            return Ok(());
        }
        self.check_owners(context, uid, target, object)
    }

    /// What it owns is its no longer; then it may go.
    fn orphan(&self, context: &Context<'_>, uid: &str, target: &Target) -> Result<(), ()> {
        for dependent in self.dependents(uid) {
            if let Some(dependent) = self.target(context, &dependent) {
                disown(context.registry, &dependent, &[uid])?;
            }
        }
        let outcome = context
            .registry
            .rewrite(target, |object| meta::remove_finalizer(object, ORPHAN));
        outcome.map(|_| ()).or_else(|error| gone(&error))
    }

    /// It goes when nothing that it owns holds it back.
    fn wait_for_dependents(&self, context: &Context<'_>, uid: &str, target: &Target) -> Result<(), ()> {
        let mut held = false;
        for dependent in self.dependents(uid) {
            let Some(place) = self.target(context, &dependent) else {
                continue;
            };
            let Ok(object) = context.registry.get(&place) else {
                continue;
            };
            let reference = meta::owners(object.value())
                .iter()
                .find(|owner| owner_uid(owner) == uid);
            held |= reference.is_some_and(|owner| owner["blockOwnerDeletion"] == true);
        }
        if held {
            return Ok(());
        }
        let outcome = context
            .registry
            .rewrite(target, |object| meta::remove_finalizer(object, FOREGROUND));
        outcome.map(|_| ()).or_else(|error| gone(&error))
    }

    /// An object all of whose owners are gone, or wait for it, goes.
    fn check_owners(
        &self,
        context: &Context<'_>,
        uid: &str,
        target: &Target,
        object: &Value,
    ) -> Result<(), ()> {
        let (mut solid, mut absent, mut waiting) = (0, vec![], vec![]);
        for owner in meta::owners(object) {
            match self.state(context, target, owner) {
                State::Solid => solid += 1,
                State::Absent => absent.push(owner_uid(owner)),
                State::Waiting => waiting.push(owner_uid(owner)),
            }
        }
        if absent.is_empty() && waiting.is_empty() {
            return Ok(());
        }
        if solid > 0 {
            let lost: Vec<&str> = absent.iter().chain(&waiting).map(String::as_str).collect();
            return disown(context.registry, target, &lost);
        }
        let propagation =
            (!waiting.is_empty() && self.owned.contains_key(uid)).then(|| "Foreground".to_owned());
        let options = DeleteOptions {
            uid: Some(uid.to_owned()),
            resource_version: Some(meta::resource_version(object).to_owned()),
            propagation,
            ..DeleteOptions::default()
        };
        context
            .registry
            .delete(target, &options)
            .map(|_| ())
            .or_else(|error| gone(&error))
    }

    fn state(&self, context: &Context<'_>, dependent: &Target, owner: &Value) -> State {
        let text = |key: &str| owner[key].as_str().unwrap_or_default();
        let Some(kind) = context.catalog.kind(text("apiVersion"), text("kind")) else {
            // Of a kind that is not served nobody can say that it is gone.
            return State::Solid;
        };
        let Some(place) = self.target(context, text("uid")) else {
            return State::Absent;
        };
        if place.kind.table() != kind.table()
            || place.name != text("name")
            || kind.namespaced && place.namespace != dependent.namespace
        {
            return State::Absent;
        }
        match context.registry.get(&place) {
            Ok(object)
                if meta::is_being_deleted(object.value())
                    && meta::has_finalizer(object.value(), FOREGROUND) =>
            {
                State::Waiting
            }
            Ok(object) if meta::uid(object.value()) == text("uid") => State::Solid,
            _ => State::Absent,
        }
    }

    fn target(&self, context: &Context<'_>, uid: &str) -> Option<Target> {
        let (table, namespace, name) = self.places.get(uid)?;
        let kind = context.kinds.get(table)?;
        Some(Target::new(kind, namespace, name))
    }
}

struct Context<'a> {
    registry: &'a Registry,
    catalog: &'a Catalog,
    kinds: &'a HashMap<String, Arc<Kind>>,
}

/// What an owner is to what it owns.
enum State {
    /// There.
    Solid,
    /// Gone, or never there.
    Absent,
    /// On its way out, once what it owns is gone.
    Waiting,
}

fn owner_uid(owner: &Value) -> String {
    owner["uid"].as_str().unwrap_or_default().to_owned()
}

fn disown(registry: &Registry, target: &Target, lost: &[&str]) -> Result<(), ()> {
    // A change like a client's: who owned the references owns them no longer.
    let options = WriteOptions {
        field_manager: "kube-controller-manager".to_owned(),
        ..WriteOptions::default()
    };
    let user = User::system();
    let outcome = registry.change(target, "", false, Bodied::new(&user, &options), |old| {
        let mut object = old.cloned().unwrap_or_default();
        let metadata = meta::metadata_mut(&mut object);
        if let Some(Value::Array(owners)) = metadata.get_mut("ownerReferences") {
            owners.retain(|owner| !lost.contains(&owner["uid"].as_str().unwrap_or_default()));
            if owners.is_empty() {
                metadata.remove("ownerReferences");
            }
        }
        Ok(object.into())
    });
    outcome.map(|_| ()).or_else(|error| gone(&error))
}

/// What is gone needs nothing; what changed comes again by its change.
fn gone(error: &crate::status::ApiError) -> Result<(), ()> {
    if matches!(error.code, 404 | 409) {
        Ok(())
    } else {
        Err(())
    }
}
