//! The namespace controller: deletes the content of terminating namespaces, then the namespaces.

use super::reconcile_on_changes;
use crate::kinds::Kind;
use crate::meta::{self, set_condition};
use crate::registry::{Registry, Target};
use crate::request::{DeleteOptions, ListOptions};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How soon a namespace is processed again while finalizers hold its objects.
const FINALIZER_RETRY_INTERVAL: Duration = Duration::from_millis(200);

pub(super) async fn run(registry: &Registry, delay: Duration) {
    let changes = [registry.store.subscribe()];
    reconcile_on_changes(changes, delay, FINALIZER_RETRY_INTERVAL, || {
        finalize_terminating(registry)
    })
    .await;
}

/// Processes all terminating namespaces; true if one must be processed again.
fn finalize_terminating(registry: &Registry) -> bool {
    let Ok(namespaces) = registry.resource("", "namespaces") else {
        return false;
    };
    let Ok(listing) = registry.list(&Target::new(&namespaces, "", ""), &ListOptions::default()) else {
        return false;
    };
    let mut needs_retry = false;
    for namespace in listing
        .objects
        .iter()
        .filter(|object| meta::is_being_deleted(object.value()))
    {
        let name = meta::name(namespace.value());
        let remaining = delete_content(registry, name);
        let target = Target::new(&namespaces, "", name);
        let written = registry.update_as_server(&target, |namespace| {
            if remaining.objects.is_empty() {
                remove_kubernetes_finalizer(namespace);
            } else {
                remaining.set_conditions(namespace);
            }
        });
        needs_retry |= !remaining.objects.is_empty() || written.is_err();
    }
    needs_retry
}

/// The content of a namespace that could not be deleted at once.
#[derive(Default)]
struct RemainingContent {
    objects: BTreeMap<String, usize>,
    finalizers: BTreeMap<String, usize>,
}

fn delete_content(registry: &Registry, namespace: &str) -> RemainingContent {
    let catalog = registry.catalog();
    let mut kinds: Vec<Arc<Kind>> = catalog.stored().filter(|kind| kind.namespaced).cloned().collect();
    // As upstream: what pods use stays until they are gone.
    let is_pods = |kind: &Kind| kind.plural == "pods" && kind.group.is_empty();
    kinds.sort_by_key(|kind| !is_pods(kind));
    let mut remaining = RemainingContent::default();
    let options = DeleteOptions {
        propagation: Some("Background".to_owned()),
        ..DeleteOptions::default()
    };
    for kind in kinds {
        let target = Target::new(&kind, namespace, "");
        let everything = ListOptions::default();
        let found = |registry: &Registry| registry.list(&target, &everything).map(|listing| listing.objects);
        if found(registry).is_ok_and(|objects| objects.is_empty()) {
            continue;
        }
        // What cannot be deleted is counted below and retried in the next round.
        let _ = registry.delete_collection(&target, &everything, &options);
        for object in found(registry).unwrap_or_default() {
            // For the core group, too, the name contains the dot.
            let resource = format!("{}.{}", kind.plural, kind.group);
            *remaining.objects.entry(resource).or_default() += 1;
            for finalizer in meta::finalizers(object.value()) {
                *remaining.finalizers.entry(finalizer.to_owned()).or_default() += 1;
            }
        }
        if is_pods(&kind) && !remaining.objects.is_empty() {
            break;
        }
    }
    remaining
}

fn remove_kubernetes_finalizer(namespace: &mut Value) {
    if let Some(Value::Array(finalizers)) = meta::entry_mut(namespace, "spec").get_mut("finalizers") {
        finalizers.retain(|finalizer| finalizer != "kubernetes");
    }
}

impl RemainingContent {
    fn set_conditions(&self, namespace: &mut Value) {
        let list = |counts: &BTreeMap<String, usize>, words: &str| {
            let texts: Vec<String> = counts
                .iter()
                .map(|(name, count)| format!("{name} {words} {count} resource instances"))
                .collect();
            texts.join(", ")
        };
        let objects = format!("Some resources are remaining: {}", list(&self.objects, "has"));
        let (finalizers_status, finalizers_reason, finalizers_message) = if self.finalizers.is_empty() {
            let message = "All content-preserving finalizers finished".to_owned();
            ("False", "ContentHasNoFinalizers", message)
        } else {
            let finalizers = list(&self.finalizers, "in");
            let message = format!("Some content in the namespace has finalizers remaining: {finalizers}");
            ("True", "SomeFinalizersRemain", message)
        };
        for (kind, status, reason, message) in [
            (
                "NamespaceDeletionDiscoveryFailure",
                "False",
                "ResourcesDiscovered",
                "All resources successfully discovered",
            ),
            (
                "NamespaceDeletionGroupVersionParsingFailure",
                "False",
                "ParsedGroupVersions",
                "All legacy kube types successfully parsed",
            ),
            (
                "NamespaceDeletionContentFailure",
                "False",
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization",
            ),
            (
                "NamespaceContentRemaining",
                "True",
                "SomeResourcesRemain",
                objects.as_str(),
            ),
            (
                "NamespaceFinalizersRemaining",
                finalizers_status,
                finalizers_reason,
                finalizers_message.as_str(),
            ),
        ] {
            set_condition(namespace, kind, status, reason, message);
        }
    }
}
