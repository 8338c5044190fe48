//! The controller of CustomResourceDefinitions: accepts names, updates the served kinds, deletes the custom resources of deleted
//! definitions.

use super::{CLEANUP_FINALIZER, api_approval, api_services, definition, has_condition, set_condition};
use crate::auth::User;
use crate::kinds::Kind;
use crate::meta;
use crate::registry::{DeleteOptions, ListOptions, Registry, Target, WriteContext, WriteOptions};
use crate::store::Object;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// How soon a deleted definition is processed again while finalizers hold its objects.
const FINALIZER_RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Runs the controller until the future is dropped.
pub(crate) async fn run(registry: Arc<Registry>) {
    let Ok(kind) = registry.resource("apiextensions.k8s.io", "customresourcedefinitions") else {
        return;
    };
    let mut changes = registry.store.subscribe_table(&kind.table());
    loop {
        changes.mark_unchanged();
        let needs_retry = reconcile(&registry, &kind);
        let next = changes.changed();
        if needs_retry {
            let _ = tokio::time::timeout(FINALIZER_RETRY_INTERVAL, next).await;
        } else if next.await.is_err() {
            return;
        }
    }
}

/// Processes all definitions; true if one must be processed again without a change.
fn reconcile(registry: &Registry, kind: &Arc<Kind>) -> bool {
    let Ok(listing) = registry.list(&Target::new(kind, "", ""), &ListOptions::default()) else {
        return false;
    };
    // The writes below cause another round. Terminating definitions must be served as such before their remaining objects are counted.
    update_catalog(registry, &listing.objects);
    api_services::sync(registry);
    let mut needs_retry = false;
    for object in &listing.objects {
        let target = Target::new(kind, "", meta::name(object.value()));
        if meta::is_being_deleted(object.value()) {
            needs_retry |= !delete_custom_resources(registry, &target, object.value());
        } else if !is_accepted(object.value()) || !api_approval::is_condition_current(object.value()) {
            let others: Vec<&Value> = listing.objects.iter().map(|object| object.value()).collect();
            let taken = TakenNames::of_group(registry, &others, object.value());
            // If the definition is deleted at the same time, its change causes another round.
            let (user, options) = (
                User::system(),
                WriteOptions {
                    field_manager: "kube-apiserver".to_owned(),
                    ..WriteOptions::default()
                },
            );
            let context = WriteContext::new(&user, &options);
            let _ = registry.guaranteed_update(&target, "status", false, context, |old| {
                let mut definition = old.cloned().unwrap_or_default();
                api_approval::set_approval_condition(&mut definition);
                accept_names(&mut definition, &taken);
                Ok(definition.into())
            });
        }
    }
    needs_retry
}

/// Updates the catalog with the kinds of all established definitions.
fn update_catalog(registry: &Registry, definitions: &[Arc<Object>]) {
    let established = definitions
        .iter()
        .filter(|object| has_condition(object.value(), "Established"));
    let kinds = established.flat_map(|object| definition::served_kinds(object.value()));
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

/// Accepts the names that are free, and reports conflicts in the conditions.
fn accept_names(definition: &mut Value, taken: &TakenNames) {
    let requested = definition["spec"]["names"].clone();
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
        let value = &requested[key];
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

/// The names that are used by other definitions of the group.
#[derive(Default)]
struct TakenNames {
    /// Plural, singular and short names.
    resources: Vec<String>,
    /// Kinds and list kinds.
    kinds: Vec<String>,
}

impl TakenNames {
    /// Collects the accepted names of other definitions, and the names of built-in kinds.
    fn of_group(registry: &Registry, all: &[&Value], definition: &Value) -> Self {
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

/// Deletes the custom resources of a definition, then its finalizer; true if nothing remains.
fn delete_custom_resources(registry: &Registry, target: &Target, definition: &Value) -> bool {
    if !meta::has_finalizer(definition, CLEANUP_FINALIZER) {
        return true;
    }
    let remaining: usize = definition::served_kinds(definition)
        .into_iter()
        .take(1)
        .map(|kind| {
            let objects = Target::new(&Arc::new(kind), "", "");
            let options = DeleteOptions::default();
            let _ = registry.delete_collection(&objects, &ListOptions::default(), &options);
            registry.store.count(&objects.kind.table())
        })
        .sum();
    let written = registry.update_as_server(target, |definition| {
        if remaining == 0 {
            let message = "removed all instances";
            set_condition(
                definition,
                "Terminating",
                "False",
                "InstanceDeletionCompleted",
                message,
            );
            meta::remove_finalizer(definition, CLEANUP_FINALIZER);
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
    written.is_ok() && remaining == 0
}
