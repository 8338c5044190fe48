//! The garbage collector: deletes objects after their owners, and finalizes owners that wait for their dependents.

use super::reconcile_on_changes;
use crate::kinds::{Catalog, Kind};
use crate::meta;
use crate::registry::{FOREGROUND_FINALIZER, ORPHAN_FINALIZER, Registry, Target};
use crate::request::DeleteOptions;
use crate::status::ApiError;
use crate::storage::ChangeKind;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

const CHANGES_PER_READ: usize = 1024;
/// How soon a failed write is retried.
const WRITE_RETRY_INTERVAL: Duration = Duration::from_millis(200);

pub(super) async fn run(registry: &Registry, delay: Duration) {
    let mut collector = GarbageCollector::default();
    let changes = [registry.store.subscribe()];
    reconcile_on_changes(changes, delay, WRITE_RETRY_INTERVAL, || {
        collector.collect(registry)
    })
    .await;
}

/// Table, namespace and name of an object.
type ObjectLocation = (String, String, String);

/// The graph of owners and dependents, updated from the history of each table.
#[derive(Default)]
struct GarbageCollector {
    /// The served kinds, and the same by table.
    catalog: Arc<Catalog>,
    kinds: HashMap<String, Arc<Kind>>,
    /// The revision up to which all tables were read.
    revision: u64,
    positions: HashMap<String, u64>,
    /// The tables of kinds that are served anew: they may have changed before.
    unread: BTreeSet<String>,
    /// The existing objects, by uid.
    locations: HashMap<String, ObjectLocation>,
    /// The dependents of each uid.
    dependents: HashMap<String, HashSet<String>>,
    /// The owners of each uid.
    owners: HashMap<String, Vec<String>>,
    /// Objects with an owner of a kind that is not served: processed again when the served kinds change.
    unresolved: BTreeSet<String>,
}

impl GarbageCollector {
    /// Processes the changes since the last call; true if a write failed and must be retried.
    fn collect(&mut self, registry: &Registry) -> bool {
        let mut dirty = BTreeSet::new();
        self.update_kinds(registry.catalog(), &mut dirty);
        let (changed, until) = registry.store.changed_since(self.revision);
        let changed: BTreeSet<String> = changed
            .into_iter()
            .chain(std::mem::take(&mut self.unread))
            .collect();
        for table in changed {
            if self.kinds.contains_key(&table) {
                self.read_changes(registry, &table, &mut dirty);
            }
        }
        self.revision = until;
        let mut needs_retry = false;
        for uid in dirty {
            let Some(target) = self.target(&uid) else { continue };
            match self.process(registry, &uid, &target) {
                Ok(()) => {}
                Err(ProcessError::WriteFailed) => needs_retry = true,
                Err(ProcessError::OwnerKindNotServed) => {
                    self.unresolved.insert(uid);
                }
            }
        }
        needs_retry
    }

    /// Updates the served kinds.
    fn update_kinds(&mut self, catalog: Arc<Catalog>, dirty: &mut BTreeSet<String>) {
        if Arc::ptr_eq(&catalog, &self.catalog) {
            return;
        }
        let kinds = &mut self.kinds;
        for (before, now) in catalog.changed_groups(&self.catalog) {
            let mut served = HashSet::new();
            for kind in now.iter().filter(|kind| kind.is_stored()) {
                let table = kind.table();
                if served.contains(&table) || kind.definition.is_none() && kinds.contains_key(&table) {
                    continue;
                }
                served.insert(table.clone());
                if kinds.insert(table.clone(), kind.clone()).is_none() {
                    self.unread.insert(table);
                }
            }
            let removed = before.iter().filter(|kind| kind.definition.is_some());
            for table in removed.map(|kind| kind.table()) {
                if !served.contains(&table) {
                    kinds.remove(&table);
                }
            }
        }
        self.catalog = catalog;
        dirty.append(&mut self.unresolved);
    }

    /// Reads the changes of a table into the graph and marks the affected objects as dirty.
    fn read_changes(&mut self, registry: &Registry, table: &str, dirty: &mut BTreeSet<String>) {
        loop {
            let position = self.positions.get(table).copied().unwrap_or(0);
            let Ok((changes, until)) = registry.store.changes(table, position, CHANGES_PER_READ) else {
                self.relist(registry, table, dirty);
                return;
            };
            for change in &changes {
                let object = change.object.value();
                if change.kind == ChangeKind::Deleted {
                    self.remove_object(meta::uid(object), dirty);
                } else {
                    self.upsert_object(table, object, dirty);
                }
            }
            self.positions.insert(table.to_owned(), until);
            if changes.len() < CHANGES_PER_READ {
                return;
            }
        }
    }

    /// After a compaction of the history: compares the existing objects with the graph.
    fn relist(&mut self, registry: &Registry, table: &str, dirty: &mut BTreeSet<String>) {
        let Ok(page) = registry.store.list(table, "", "", None) else {
            return;
        };
        let mut present = HashSet::new();
        // Decode one object at a time.
        for object in page.objects {
            present.insert(meta::uid(object.value()).to_owned());
            self.upsert_object(table, object.value(), dirty);
        }
        let known = self.locations.iter().filter(|(_, location)| location.0 == table);
        let deleted_uids: Vec<String> = known
            .map(|(uid, _)| uid.clone())
            .filter(|uid| !present.contains(uid))
            .collect();
        for uid in deleted_uids {
            self.remove_object(&uid, dirty);
        }
        self.positions.insert(table.to_owned(), page.revision);
    }

    fn upsert_object(&mut self, table: &str, object: &Value, dirty: &mut BTreeSet<String>) {
        let uid = meta::uid(object).to_owned();
        let location = (
            table.to_owned(),
            meta::namespace(object).to_owned(),
            meta::name(object).to_owned(),
        );
        self.locations.insert(uid.clone(), location);
        let owners: Vec<String> = meta::owners(object).iter().map(owner_uid).collect();
        self.remove_owner_edges(&uid, dirty);
        for owner in &owners {
            self.dependents
                .entry(owner.clone())
                .or_default()
                .insert(uid.clone());
        }
        if meta::is_being_deleted(object) || !owners.is_empty() {
            dirty.insert(uid.clone());
        }
        // An owner may wait for this dependent.
        dirty.extend(owners.iter().cloned());
        if meta::has_finalizer(object, FOREGROUND_FINALIZER) {
            dirty.extend(self.dependents(&uid));
        }
        if !owners.is_empty() {
            self.owners.insert(uid, owners);
        }
    }

    fn remove_object(&mut self, uid: &str, dirty: &mut BTreeSet<String>) {
        self.locations.remove(uid);
        dirty.extend(self.dependents(uid));
        self.remove_owner_edges(uid, dirty);
    }

    /// Removes the edges from an object to its owners and marks the owners as dirty.
    fn remove_owner_edges(&mut self, uid: &str, dirty: &mut BTreeSet<String>) {
        for owner in self.owners.remove(uid).unwrap_or_default() {
            if let Some(dependents) = self.dependents.get_mut(&owner) {
                dependents.remove(uid);
                if dependents.is_empty() {
                    self.dependents.remove(&owner);
                }
            }
            dirty.insert(owner);
        }
    }

    fn dependents(&self, uid: &str) -> Vec<String> {
        self.dependents.get(uid).into_iter().flatten().cloned().collect()
    }

    /// Processes one object.
    fn process(&self, registry: &Registry, uid: &str, target: &Target) -> Result<(), ProcessError> {
        let Ok(object) = registry.get(target) else {
            return Ok(());
        };
        let object = object.value();
        if meta::uid(object) != uid {
            return Ok(());
        }
        if meta::is_being_deleted(object) {
            if meta::has_finalizer(object, ORPHAN_FINALIZER) {
                return Ok(self.orphan_dependents(registry, uid, target)?);
            }
            if meta::has_finalizer(object, FOREGROUND_FINALIZER) {
                return Ok(self.wait_for_dependents(registry, uid, target)?);
            }
            return Ok(());
        }
        self.check_owner_references(registry, uid, target, object)
    }

    /// Removes the owner reference from all dependents, then the finalizer.
    fn orphan_dependents(&self, registry: &Registry, uid: &str, target: &Target) -> Result<(), ()> {
        for dependent in self.dependents(uid) {
            if let Some(dependent) = self.target(&dependent) {
                remove_owner_references(registry, &dependent, &[uid])?;
            }
        }
        remove_finalizer(registry, target, ORPHAN_FINALIZER)
    }

    /// Removes the finalizer if no dependent blocks the owner's deletion.
    fn wait_for_dependents(&self, registry: &Registry, uid: &str, target: &Target) -> Result<(), ()> {
        let mut held = false;
        for dependent in self.dependents(uid) {
            let Some(location) = self.target(&dependent) else {
                continue;
            };
            let Ok(object) = registry.get(&location) else {
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
        remove_finalizer(registry, target, FOREGROUND_FINALIZER)
    }

    /// Deletes an object if it has no solid owner: each is gone, or waits for the deletion of its dependents. If a solid owner remains, only
    /// removes the references to the others. The propagation policy is explicit, so that the default of the kind does not apply: a Job would
    /// orphan its pods.
    fn check_owner_references(
        &self,
        registry: &Registry,
        uid: &str,
        target: &Target,
        object: &Value,
    ) -> Result<(), ProcessError> {
        let (mut solid, mut dangling, mut waiting) = (0, vec![], vec![]);
        for owner in meta::owners(object) {
            match self.owner_state(registry, target, owner) {
                OwnerState::Solid => solid += 1,
                OwnerState::Dangling => dangling.push(owner_uid(owner)),
                OwnerState::WaitingForDependents => waiting.push(owner_uid(owner)),
                OwnerState::KindNotServed => return Err(ProcessError::OwnerKindNotServed),
                OwnerState::Invalid => return Ok(()),
            }
        }
        if dangling.is_empty() && waiting.is_empty() {
            return Ok(());
        }
        if solid > 0 {
            let removed: Vec<&str> = dangling.iter().chain(&waiting).map(String::as_str).collect();
            return Ok(remove_owner_references(registry, target, &removed)?);
        }
        let in_foreground = !waiting.is_empty() && self.dependents.contains_key(uid);
        if in_foreground && self.has_dependent_in_foreground_deletion(registry, uid) {
            // A cycle of owners would wait for itself.
            unblock_owner_references(registry, target)?;
        }
        let propagation = if in_foreground {
            "Foreground"
        } else if meta::has_finalizer(object, ORPHAN_FINALIZER) {
            "Orphan"
        } else if meta::has_finalizer(object, FOREGROUND_FINALIZER) {
            "Foreground"
        } else {
            "Background"
        };
        let options = DeleteOptions {
            uid: Some(uid.to_owned()),
            resource_version: Some(meta::resource_version(object).to_owned()),
            propagation: Some(propagation.to_owned()),
            ..DeleteOptions::default()
        };
        Ok(ignore_gone_or_changed(registry.delete(target, &options))?)
    }

    /// True if a dependent is being deleted in the foreground.
    fn has_dependent_in_foreground_deletion(&self, registry: &Registry, uid: &str) -> bool {
        let dependents = self.dependents(uid).into_iter();
        dependents
            .filter_map(|dependent| self.target(&dependent))
            .filter_map(|dependent| registry.get(&dependent).ok())
            .any(|dependent| is_in_foreground_deletion(dependent.value()))
    }

    fn owner_state(&self, registry: &Registry, dependent: &Target, owner: &Value) -> OwnerState {
        let text = |key: &str| meta::text(owner, key);
        let Some(kind) = self.catalog.kind(text("apiVersion"), text("kind")) else {
            return OwnerState::KindNotServed;
        };
        if kind.namespaced && dependent.namespace.is_empty() {
            return OwnerState::Invalid;
        }
        let Some(location) = self.target(text("uid")) else {
            return OwnerState::Dangling;
        };
        if location.kind.table() != kind.table()
            || location.name != text("name")
            || kind.namespaced && location.namespace != dependent.namespace
        {
            return OwnerState::Dangling;
        }
        match registry.get(&location) {
            Ok(object) if meta::uid(object.value()) != text("uid") => OwnerState::Dangling,
            Ok(object) if is_in_foreground_deletion(object.value()) => OwnerState::WaitingForDependents,
            Ok(_) => OwnerState::Solid,
            Err(_) => OwnerState::Dangling,
        }
    }

    fn target(&self, uid: &str) -> Option<Target> {
        let (table, namespace, name) = self.locations.get(uid)?;
        let kind = self.kinds.get(table)?;
        Some(Target::new(kind, namespace, name))
    }
}

/// The state of an owner, in the terms of kube-controller-manager's garbage collector.
enum OwnerState {
    /// It exists.
    Solid,
    /// It does not exist.
    Dangling,
    /// It is being deleted in the foreground and waits for its dependents.
    WaitingForDependents,
    /// Whether it exists is unknown, because its kind is not served.
    KindNotServed,
    /// The dependent is cluster-scoped and the owner is not, which is not supported: the dependent is left alone.
    Invalid,
}

/// Why an object could not be processed.
enum ProcessError {
    /// A write failed and must be retried.
    WriteFailed,
    /// The kind of an owner is not served: the object is processed again when the served kinds change.
    OwnerKindNotServed,
}

impl From<()> for ProcessError {
    fn from((): ()) -> Self {
        Self::WriteFailed
    }
}

fn is_in_foreground_deletion(object: &Value) -> bool {
    meta::is_being_deleted(object) && meta::has_finalizer(object, FOREGROUND_FINALIZER)
}

fn owner_uid(owner: &Value) -> String {
    meta::text(owner, "uid").to_owned()
}

fn remove_finalizer(registry: &Registry, target: &Target, finalizer: &str) -> Result<(), ()> {
    let updated = registry.update_as_server(target, |object| meta::remove_finalizer(object, finalizer));
    ignore_gone_or_changed(updated)
}

fn remove_owner_references(registry: &Registry, target: &Target, removed: &[&str]) -> Result<(), ()> {
    update_owner_references(registry, target, |owners| {
        owners.retain(|owner| !removed.contains(&meta::text(owner, "uid")));
    })
}

/// Makes the owner references of an object non-blocking.
fn unblock_owner_references(registry: &Registry, target: &Target) -> Result<(), ()> {
    update_owner_references(registry, target, |owners| {
        for owner in owners
            .iter_mut()
            .filter(|owner| owner["blockOwnerDeletion"] == true)
        {
            owner["blockOwnerDeletion"] = false.into();
        }
    })
}

/// Updates owner references like a client, so that managedFields follow.
fn update_owner_references(
    registry: &Registry,
    target: &Target,
    change: impl Fn(&mut Vec<Value>),
) -> Result<(), ()> {
    let target = &in_stored_version(registry, target);
    let updated = registry.update_as_manager(target, "", "kube-controller-manager", |object| {
        let metadata = meta::metadata_mut(object);
        if let Some(Value::Array(owners)) = metadata.get_mut("ownerReferences") {
            change(owners);
            if owners.is_empty() {
                metadata.remove("ownerReferences");
            }
        }
        Ok(())
    });
    ignore_gone_or_changed(updated)
}

/// Returns the target in the version in which it is stored, so that the write waits for no conversion webhook.
fn in_stored_version(registry: &Registry, target: &Target) -> Target {
    let kind = &target.kind;
    let stored = kind.definition.as_ref().and_then(|definition| {
        let catalog = registry.catalog();
        catalog
            .resource(&kind.group, &definition.stored_version, &kind.plural)
            .cloned()
    });
    Target::new(stored.as_ref().unwrap_or(kind), &target.namespace, &target.name)
}

/// Ignores 404 and 409: the object is gone, or its change will be processed.
fn ignore_gone_or_changed<T>(outcome: Result<T, ApiError>) -> Result<(), ()> {
    outcome.map(drop).or_else(|error| match error.code {
        404 | 409 => Ok(()),
        _ => Err(()),
    })
}
