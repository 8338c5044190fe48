//! Brings what is served up to what is defined, and takes objects away with their definition.

use super::{FINALIZER, definition, has_condition, set_condition};
use crate::auth::User;
use crate::kinds::Kind;
use crate::meta;
use crate::registry::{Bodied, DeleteOptions, ListOptions, Registry, Target, WriteOptions};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// How soon a definition whose objects are held by finalizers is looked at again.
const PATIENCE: Duration = Duration::from_millis(100);

/// Runs until it is dropped.
pub(crate) async fn run(registry: Arc<Registry>) {
    let Ok(kind) = registry.resource("apiextensions.k8s.io", "customresourcedefinitions") else {
        return;
    };
    let mut changes = registry.store.subscribe_table(&kind.table());
    loop {
        changes.mark_unchanged();
        let waits = reconcile(&registry, &kind);
        let next = changes.changed();
        if waits {
            let _ = tokio::time::timeout(PATIENCE, next).await;
        } else if next.await.is_err() {
            return;
        }
    }
}

/// True when something must be looked at again though nothing changes.
fn reconcile(registry: &Registry, kind: &Arc<Kind>) -> bool {
    let Ok(listing) = registry.list(&Target::new(kind, "", ""), &ListOptions::default()) else {
        return false;
    };
    let mut waits = false;
    for object in &listing.objects {
        let target = Target::new(kind, "", meta::name(object.value()));
        if meta::is_deleted(object.value()) {
            waits |= !clean(registry, &target, object.value());
        } else if !is_accepted(object.value()) {
            let others: Vec<&Value> = listing.objects.iter().map(|object| object.value()).collect();
            let conflict = conflict(registry, &others, object.value());
            // It went meanwhile: there is a change to come.
            let (user, options) = (
                User::system(),
                WriteOptions {
                    field_manager: "kube-apiserver".to_owned(),
                    ..WriteOptions::default()
                },
            );
            let by = Bodied::new(&user, &options);
            let _ = registry.change(&target, "status", false, by, |old| {
                let mut definition = old.cloned().unwrap_or_default();
                accept(&mut definition, conflict.as_deref());
                Ok(definition)
            });
        }
    }
    serve(registry, kind);
    waits
}

/// Serves every established definition that does not go.
fn serve(registry: &Registry, kind: &Arc<Kind>) {
    let Ok(listing) = registry.list(&Target::new(kind, "", ""), &ListOptions::default()) else {
        return;
    };
    let established = listing
        .objects
        .iter()
        .filter(|object| has_condition(object.value(), "Established"));
    let kinds = established.flat_map(|object| definition::kinds(object.value()));
    let catalog = registry.catalog().with_custom(kinds);
    registry.replace_catalog(catalog);
}

fn is_accepted(definition: &Value) -> bool {
    let (names, accepted) = (
        &definition["spec"]["names"],
        &definition["status"]["acceptedNames"],
    );
    has_condition(definition, "Established") && names == accepted
}

fn accept(definition: &mut Value, conflict: Option<&str>) {
    if let Some(why) = conflict {
        set_condition(definition, "NamesAccepted", "False", "KindConflict", why);
        let message = "not all names are accepted";
        if !has_condition(definition, "Established") {
            set_condition(definition, "Established", "False", "NotAccepted", message);
        }
        return;
    }
    let names = definition["spec"]["names"].clone();
    meta::entry_mut(definition, "status").insert("acceptedNames".into(), names);
    set_condition(
        definition,
        "NamesAccepted",
        "True",
        "NoConflicts",
        "no conflicts found",
    );
    let message = "the initial names have been accepted";
    set_condition(definition, "Established", "True", "InitialNamesAccepted", message);
}

/// Names are taken by who was accepted first.
fn conflict(registry: &Registry, all: &[&Value], definition: &Value) -> Option<String> {
    let (group, names) = (&definition["spec"]["group"], &definition["spec"]["names"]);
    let catalog = registry.catalog();
    for other in all {
        let rival = &other["status"]["acceptedNames"];
        let same = meta::name(other) == meta::name(definition);
        if same || other["spec"]["group"] != *group {
            continue;
        }
        for text in [&names["kind"], &names["listKind"]] {
            if !text.is_null() && (rival["kind"] == *text || rival["listKind"] == *text) {
                return Some(format!("{text} is already in use"));
            }
        }
    }
    let plural = names["plural"].as_str().unwrap_or_default();
    let taken = catalog.any_version(group.as_str().unwrap_or_default(), plural);
    taken
        .filter(|kind| kind.definition.is_none())
        .map(|kind| format!("{:?} is already in use", kind.plural))
}

/// Deletes what the definition made; true when all is gone and so is the definition.
fn clean(registry: &Registry, target: &Target, definition: &Value) -> bool {
    if !meta::has_finalizer(definition, FINALIZER) {
        return true;
    }
    let left: usize = definition::kinds(definition)
        .into_iter()
        .take(1)
        .map(|kind| {
            let objects = Target::new(&Arc::new(kind), "", "");
            let options = DeleteOptions::default();
            let _ = registry.delete_collection(&objects, &ListOptions::default(), &options);
            registry.store.count(&objects.kind.table())
        })
        .sum();
    let rewritten = registry.rewrite(target, |definition| {
        if left == 0 {
            let message = "removed all instances";
            set_condition(
                definition,
                "Terminating",
                "False",
                "InstanceDeletionCompleted",
                message,
            );
            meta::remove_finalizer(definition, FINALIZER);
        } else {
            let message = "CustomResource deletion is in progress";
            set_condition(
                definition,
                "Terminating",
                "True",
                "InstanceDeletionInProgress",
                message,
            );
        }
    });
    rewritten.is_ok() && left == 0
}
