//! A namespace that goes takes everything in it along, then itself.

use crate::crd::set_condition;
use crate::kinds::Kind;
use crate::meta;
use crate::registry::{DeleteOptions, ListOptions, Registry, Target};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// True when a namespace is held by something in it.
pub(super) fn clean(registry: &Registry) -> bool {
    let Ok(namespaces) = registry.resource("", "namespaces") else {
        return false;
    };
    let Ok(listing) = registry.list(&Target::new(&namespaces, "", ""), &ListOptions::default()) else {
        return false;
    };
    let mut waits = false;
    for namespace in listing
        .objects
        .iter()
        .filter(|object| meta::is_being_deleted(object.value()))
    {
        let name = meta::name(namespace.value());
        let left = empty(registry, name);
        let target = Target::new(&namespaces, "", name);
        let finalized = registry.rewrite(&target, |namespace| {
            if left.objects.is_empty() {
                finalize(namespace);
            } else {
                left.report(namespace);
            }
        });
        waits |= !left.objects.is_empty() || finalized.is_err();
    }
    waits
}

/// What could not be deleted at once.
#[derive(Default)]
struct Left {
    objects: BTreeMap<String, usize>,
    finalizers: BTreeMap<String, usize>,
}

fn empty(registry: &Registry, namespace: &str) -> Left {
    let catalog = registry.catalog();
    let kinds: Vec<Arc<Kind>> = catalog.stored().filter(|kind| kind.namespaced).cloned().collect();
    let mut left = Left::default();
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
        // Whatever is refused is still there at the next look.
        let _ = registry.delete_collection(&target, &everything, &options);
        for object in found(registry).unwrap_or_default() {
            // The core group, too, has its dot here.
            let resource = format!("{}.{}", kind.plural, kind.group);
            *left.objects.entry(resource).or_default() += 1;
            for finalizer in meta::finalizers(object.value()) {
                *left.finalizers.entry(finalizer.to_owned()).or_default() += 1;
            }
        }
    }
    left
}

fn finalize(namespace: &mut Value) {
    if let Some(Value::Array(finalizers)) = meta::entry_mut(namespace, "spec").get_mut("finalizers") {
        finalizers.retain(|finalizer| finalizer != "kubernetes");
    }
}

impl Left {
    fn report(&self, namespace: &mut Value) {
        let mut say = |kind: &str, status: &str, reason: &str, message: &str| {
            set_condition(namespace, kind, status, reason, message);
        };
        let message = "All resources successfully discovered";
        say(
            "NamespaceDeletionDiscoveryFailure",
            "False",
            "ResourcesDiscovered",
            message,
        );
        let message = "All legacy kube types successfully parsed";
        say(
            "NamespaceDeletionGroupVersionParsingFailure",
            "False",
            "ParsedGroupVersions",
            message,
        );
        let message = "All content successfully deleted, may be waiting on finalization";
        say(
            "NamespaceDeletionContentFailure",
            "False",
            "ContentDeleted",
            message,
        );
        let list = |counts: &BTreeMap<String, usize>, words: &str| {
            let texts: Vec<String> = counts
                .iter()
                .map(|(name, count)| format!("{name} {words} {count} resource instances"))
                .collect();
            texts.join(", ")
        };
        let message = format!("Some resources are remaining: {}", list(&self.objects, "has"));
        say(
            "NamespaceContentRemaining",
            "True",
            "SomeResourcesRemain",
            &message,
        );
        if self.finalizers.is_empty() {
            let message = "All content-preserving finalizers finished";
            say(
                "NamespaceFinalizersRemaining",
                "False",
                "ContentHasNoFinalizers",
                message,
            );
        } else {
            let message = format!(
                "Some content in the namespace has finalizers remaining: {}",
                list(&self.finalizers, "in")
            );
            say(
                "NamespaceFinalizersRemaining",
                "True",
                "SomeFinalizersRemain",
                &message,
            );
        }
    }
}
