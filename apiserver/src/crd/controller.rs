//! Brings what is served up to what is defined, and takes objects away with their definition.

use super::{FINALIZER, approval, definition, has_condition, set_condition};
use crate::auth::User;
use crate::kinds::Kind;
use crate::meta;
use crate::registry::{Bodied, DeleteOptions, ListOptions, Registry, Target, WriteOptions};
use crate::store::Object;
use serde_json::{Value, json};
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
    // What is written below brings another round. What goes is served as such before what is left of it is counted.
    serve(registry, &listing.objects);
    let mut waits = false;
    for object in &listing.objects {
        let target = Target::new(kind, "", meta::name(object.value()));
        if meta::is_being_deleted(object.value()) {
            waits |= !clean(registry, &target, object.value());
        } else if !is_accepted(object.value()) || !approval::is_noted(object.value()) {
            let others: Vec<&Value> = listing.objects.iter().map(|object| object.value()).collect();
            let taken = Taken::by_others(registry, &others, object.value());
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
                approval::note(&mut definition);
                accept(&mut definition, &taken);
                Ok(definition.into())
            });
        }
    }
    waits
}

/// Serves every established definition.
fn serve(registry: &Registry, definitions: &[Arc<Object>]) {
    let established = definitions
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

/// Takes over the names that are free, and tells of those that are not.
fn accept(definition: &mut Value, taken: &Taken) {
    let wanted = definition["spec"]["names"].clone();
    let mut accepted = meta::entry_mut(definition, "status")
        .get("acceptedNames")
        .cloned()
        .unwrap_or_else(|| json!({}));
    let mut conflict = None;
    for (key, reason, names) in [
        ("plural", "PluralConflict", &taken.resources),
        ("singular", "SingularConflict", &taken.resources),
        ("shortNames", "ShortNamesConflict", &taken.resources),
        ("kind", "KindConflict", &taken.kinds),
        ("listKind", "ListKindConflict", &taken.kinds),
        ("categories", "", &vec![]),
    ] {
        let value = &wanted[key];
        let mut all = value
            .as_array()
            .into_iter()
            .flatten()
            .chain([value])
            .filter_map(Value::as_str);
        match all.find(|name| names.iter().any(|taken| taken == name)) {
            Some(name) => conflict = Some((reason, format!("{name:?} is already in use"))),
            None if value.is_null() => {}
            None => accepted[key] = value.clone(),
        }
    }
    meta::entry_mut(definition, "status").insert("acceptedNames".into(), accepted);
    if let Some((reason, why)) = conflict {
        set_condition(definition, "NamesAccepted", "False", reason, &why);
        let message = "not all names are accepted";
        if !has_condition(definition, "Established") {
            set_condition(definition, "Established", "False", "NotAccepted", message);
        }
        return;
    }
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

/// The names that others in the group have.
#[derive(Default)]
struct Taken {
    /// Plurals, singulars and short names.
    resources: Vec<String>,
    /// Kinds, and those of lists.
    kinds: Vec<String>,
}

impl Taken {
    /// Names are taken by who was accepted first; those of built-in kinds are taken from the start.
    fn by_others(registry: &Registry, all: &[&Value], definition: &Value) -> Self {
        let group = &definition["spec"]["group"];
        let mut taken = Self::default();
        for other in all {
            if meta::name(other) == meta::name(definition) || other["spec"]["group"] != *group {
                continue;
            }
            let names = &other["status"]["acceptedNames"];
            let text = |key: &str| {
                names[key]
                    .as_str()
                    .filter(|name| !name.is_empty())
                    .map(str::to_owned)
            };
            taken
                .resources
                .extend(["plural", "singular"].into_iter().filter_map(text));
            let short = names["shortNames"].as_array().into_iter().flatten();
            taken
                .resources
                .extend(short.filter_map(|name| name.as_str().map(str::to_owned)));
            taken
                .kinds
                .extend(["kind", "listKind"].into_iter().filter_map(text));
        }
        for kind in registry.catalog().iter() {
            if kind.definition.is_none() && *group == kind.group {
                taken.resources.push(kind.plural.clone());
                taken.kinds.push(kind.kind.clone());
            }
        }
        taken
    }
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
