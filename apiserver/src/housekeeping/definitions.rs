//! The controller of CustomResourceDefinitions: accepts names, updates the served kinds, deletes the custom resources of deleted
//! definitions.
//!
//! It processes the definitions that changed, so its work does not grow with the number of definitions.

use super::api_services::ApiServiceController;
use super::definition_names::AcceptedNames;
use super::next_change;
use crate::crd::{CLEANUP_FINALIZER, api_approval};
use crate::kinds::{DefinitionKinds, Kind, served_kinds};
use crate::meta::{self, has_condition, set_condition};
use crate::registry::{Registry, Target};
use crate::request::{DeleteOptions, ListOptions};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// How soon a deleted definition is processed again while finalizers hold its objects; each time twice as late, up to the longest wait.
const FINALIZER_RETRY_INTERVAL: Duration = Duration::from_millis(100);
const MAX_RETRY_INTERVAL: Duration = Duration::from_secs(2);

pub(super) async fn run(registry: Arc<Registry>, delay: Duration) {
    let resource = |group, plural| registry.resource(group, plural);
    let (Ok(kind), Ok(api_services)) = (
        resource("apiextensions.k8s.io", "customresourcedefinitions"),
        resource("apiregistration.k8s.io", "apiservices"),
    ) else {
        return;
    };
    let tables = [&kind, &api_services].map(|kind| kind.table());
    let mut changes = tables.map(|table| registry.store.subscribe_table(&table));
    let mut controller = Controller {
        api_services: ApiServiceController::new(registry.clone(), api_services),
        registry,
        kind,
        delay,
        position: 0,
        names: AcceptedNames::default(),
        served: HashMap::new(),
        conflicts: BTreeMap::new(),
        terminating: BTreeMap::new(),
    };
    loop {
        changes.iter_mut().for_each(watch::Receiver::mark_unchanged);
        controller.reconcile();
        controller.api_services.restore_changed();
        let next = next_change(&mut changes);
        if let Some(due) = controller.terminating.values().map(|retry| retry.due).min() {
            let _ = timeout_at(due, next).await;
        } else if next.await.is_err() {
            return;
        }
    }
}

/// What the served kinds of a definition depend on. Definitions that are not established serve none.
#[derive(Debug, PartialEq)]
struct ServedState {
    group: String,
    uid: String,
    generation: Value,
    names: Value,
    terminating: bool,
}

impl ServedState {
    fn of(definition: &Value) -> Option<Self> {
        has_condition(definition, "Established").then(|| Self {
            group: group(definition),
            uid: meta::uid(definition).to_owned(),
            generation: definition["metadata"]["generation"].clone(),
            names: definition["status"]["acceptedNames"].clone(),
            terminating: has_condition(definition, "Terminating"),
        })
    }
}

struct Controller {
    registry: Arc<Registry>,
    api_services: ApiServiceController,
    kind: Arc<Kind>,
    /// How long a deleted definition is served as terminating before its objects are deleted.
    delay: Duration,
    /// The revision up to which changes were read.
    position: u64,
    names: AcceptedNames,
    /// The definitions with served kinds.
    served: HashMap<String, ServedState>,
    /// The definitions whose names are taken, with their groups.
    conflicts: BTreeMap<String, String>,
    /// The definitions that wait for the deletion of their objects, and when they are processed next.
    terminating: BTreeMap<String, Retry>,
}

/// When a definition is processed next, and how long it waits if objects are left.
#[derive(Clone, Copy)]
struct Retry {
    due: Instant,
    interval: Duration,
}

impl Controller {
    /// Processes the definitions that changed, and those that wait for them. Kinds are served before the definition's status reports it:
    /// a client that sees an established definition can use it.
    fn reconcile(&mut self) {
        let mut pending = self.changed_definitions();
        let (mut kinds, mut accepted) = (vec![], vec![]);
        let mut at = 0;
        while let Some(name) = pending.get(at).cloned() {
            at += 1;
            let object = self.registry.get(&self.target(&name)).ok();
            let mut definition = object.as_ref().map(|object| object.value().clone());
            self.conflicts.remove(&name);
            let retry = self.terminating.remove(&name);
            if let Some(definition) = &mut definition {
                if meta::is_being_deleted(definition) {
                    let first = || Retry {
                        due: Instant::now() + self.delay,
                        interval: FINALIZER_RETRY_INTERVAL,
                    };
                    self.terminating.insert(name.clone(), retry.unwrap_or_else(first));
                } else if !is_accepted(definition) || !api_approval::is_condition_current(definition) {
                    self.accept(definition);
                    accepted.push(name.clone());
                }
                if !has_condition(definition, "NamesAccepted") {
                    self.conflicts.insert(name.clone(), group(definition));
                }
            }
            kinds.extend(self.update_served(&name, definition.as_ref()));
            let group = definition.as_ref().map(group);
            let names = definition
                .as_ref()
                .map(|definition| &definition["status"]["acceptedNames"]);
            if let Some(group) = self.names.record(&name, group.as_deref().zip(names)) {
                let waiting = self
                    .conflicts
                    .iter()
                    .filter(|(other, of)| **of == group && **other != name);
                pending.extend(waiting.map(|(other, _)| other.clone()));
            }
        }
        if !kinds.is_empty() {
            let groups = kinds.iter().map(|kinds| kinds.group.clone()).collect();
            let before = self.registry.catalog();
            self.registry.replace_catalog(before.with_definitions(kinds));
            self.api_services.reconcile_groups(&before, &groups);
        }
        for name in accepted {
            self.write_status(&name);
        }
        // Terminating definitions must be served as such before their remaining objects are counted.
        let now = Instant::now();
        for (name, Retry { due, interval }) in self.terminating.clone() {
            if due > now {
                continue;
            }
            if self.delete_custom_resources(&self.target(&name)) {
                self.terminating.remove(&name);
            } else {
                let retry = Retry {
                    due: now + interval,
                    interval: (interval * 2).min(MAX_RETRY_INTERVAL),
                };
                self.terminating.insert(name, retry);
            }
        }
    }

    /// Returns the names of the definitions that changed since the last call, in the order of their last changes.
    fn changed_definitions(&mut self) -> Vec<String> {
        let store = &self.registry.store;
        let table = self.kind.table();
        let Ok((changes, until)) = store.changes(&table, self.position, usize::MAX) else {
            return self.all_definitions();
        };
        self.position = until;
        let mut seen = BTreeSet::new();
        let newest = changes
            .iter()
            .rev()
            .map(|change| meta::name(change.object.value()));
        let mut names: Vec<String> = newest
            .filter(|name| seen.insert(*name))
            .map(str::to_owned)
            .collect();
        names.reverse();
        names
    }

    /// After a compaction of the history: returns the names of all definitions, and of those that were served.
    fn all_definitions(&mut self) -> Vec<String> {
        let everything = ListOptions::default();
        let Ok(listing) = self.registry.list(&Target::new(&self.kind, "", ""), &everything) else {
            return vec![];
        };
        self.position = listing.revision;
        let present = listing
            .objects
            .iter()
            .map(|object| meta::name(object.value()).to_owned());
        let mut names: BTreeSet<String> = present.collect();
        names.extend(self.served.keys().cloned());
        names.extend(self.conflicts.keys().cloned());
        names.into_iter().collect()
    }

    fn target(&self, name: &str) -> Target {
        Target::new(&self.kind, "", name)
    }

    fn accept(&self, definition: &mut Value) {
        api_approval::set_approval_condition(definition);
        self.names.accept(&self.registry.catalog(), definition);
    }

    /// Returns the served kinds of a definition if they changed.
    fn update_served(&mut self, name: &str, definition: Option<&Value>) -> Option<DefinitionKinds> {
        let before = self.served.remove(name);
        let now = definition.and_then(ServedState::of);
        let is_same = before == now;
        let group = now.as_ref().or(before.as_ref()).map(|state| state.group.clone());
        if let Some(now) = now {
            self.served.insert(name.to_owned(), now);
        }
        if is_same {
            return None;
        }
        let definition = definition.filter(|_| self.served.contains_key(name));
        let kinds = definition.map(served_kinds).unwrap_or_default();
        Some(DefinitionKinds {
            group: group.unwrap_or_default(),
            name: name.to_owned(),
            kinds: kinds.into_iter().map(Arc::new).collect(),
        })
    }

    /// Writes the accepted names and the conditions. If the definition is changed or deleted at the same time, it is processed again.
    fn write_status(&self, name: &str) {
        let accept = |definition: &mut Value| {
            self.accept(definition);
            Ok(())
        };
        let _ = self
            .registry
            .update_as_manager(&self.target(name), "status", "kube-apiserver", accept);
    }

    /// Deletes the custom resources of a definition, then its finalizer; true if nothing remains.
    fn delete_custom_resources(&self, target: &Target) -> bool {
        let registry = &self.registry;
        let Ok(object) = registry.get(target) else {
            return true;
        };
        let definition = object.value();
        if !meta::has_finalizer(definition, CLEANUP_FINALIZER) {
            return true;
        }
        // A definition that was never established has no objects: the table of its names may be that of a built-in kind.
        let was_established = has_condition(definition, "Established");
        let kinds = was_established.then(|| served_kinds(definition));
        let kind = kinds.into_iter().flatten().next();
        let remaining = kind.map_or(0, |kind| {
            let objects = Target::new(&Arc::new(kind), "", "");
            let options = DeleteOptions::default();
            let _ = registry.delete_collection(&objects, &ListOptions::default(), &options);
            registry.store.count(&objects.kind.table())
        });
        let written = registry.update_as_server(target, |definition| {
            let (status, reason, message) = if !was_established {
                meta::remove_finalizer(definition, CLEANUP_FINALIZER);
                ("False", "NeverEstablished", "resource was never established")
            } else if remaining == 0 {
                meta::remove_finalizer(definition, CLEANUP_FINALIZER);
                ("False", "InstanceDeletionCompleted", "removed all instances")
            } else {
                let message = "CustomResource deletion is in progress";
                ("True", "InstanceDeletionInProgress", message)
            };
            set_condition(definition, "Terminating", status, reason, message);
        });
        written.is_ok() && remaining == 0
    }
}

fn group(definition: &Value) -> String {
    meta::text(&definition["spec"], "group").to_owned()
}

fn is_accepted(definition: &Value) -> bool {
    let (names, accepted) = (
        &definition["spec"]["names"],
        &definition["status"]["acceptedNames"],
    );
    has_condition(definition, "Established") && names == accepted
}
