//! The APIServices of custom resources: one for each group and version that definitions make served.

use crate::auth::User;
use crate::kinds::{Catalog, Kind};
use crate::meta;
use crate::registry::{Registry, Target, WriteContext};
use crate::request::{DeleteOptions, WriteOptions};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The label of APIServices that this controller creates, restores and deletes, with its value.
const LABEL: &str = "kube-aggregator.kubernetes.io/automanaged";
const MANAGED: &str = "true";

/// Keeps the APIServices as the catalog has the kinds. Those without the label are left alone.
pub(super) struct ApiServiceController {
    registry: Arc<Registry>,
    kind: Arc<Kind>,
    /// The revision up to which changes were read.
    position: u64,
}

impl ApiServiceController {
    pub(super) fn new(registry: Arc<Registry>, kind: Arc<Kind>) -> Self {
        Self {
            registry,
            kind,
            position: 0,
        }
    }

    /// Restores the APIServices that were changed or deleted since the last call.
    pub(super) fn restore_changed(&mut self) {
        let store = &self.registry.store;
        let table = self.kind.table();
        let catalog = self.registry.catalog();
        let mut versions = BTreeSet::new();
        let objects = if let Ok((changes, until)) = store.changes(&table, self.position, usize::MAX) {
            self.position = until;
            changes.iter().map(|change| change.object.clone()).collect()
        } else {
            // The history was compacted, and may have had deletions.
            self.position = store.newest_change(&table);
            for group in catalog.group_names() {
                versions.extend(custom_versions(&catalog, group));
            }
            store.objects(&table, "")
        };
        let names = objects.iter().map(|object| meta::name(object.value()));
        versions.extend(
            names
                .filter_map(|name| name.split_once('.'))
                .map(|(version, group)| (group.to_owned(), version.to_owned())),
        );
        self.reconcile(&catalog, versions);
    }

    /// Creates and deletes the APIServices of groups whose kinds changed.
    pub(super) fn reconcile_groups(&self, before: &Catalog, groups: &BTreeSet<String>) {
        let now = self.registry.catalog();
        let versions = groups
            .iter()
            .flat_map(|group| custom_versions(before, group).chain(custom_versions(&now, group)));
        self.reconcile(&now, versions.collect());
    }

    fn reconcile(&self, catalog: &Catalog, versions: BTreeSet<(String, String)>) {
        let (user, options) = (User::system(), WriteOptions::of_manager("kube-apiserver"));
        let context = WriteContext::new(&user, &options);
        for (group, version) in versions {
            let is_served = custom_versions(catalog, &group).any(|(_, served)| served == version);
            let name = format!("{version}.{group}");
            let target = Target::new(&self.kind, "", &name);
            let found = self.registry.get(&target).ok();
            let is_managed = found
                .as_ref()
                .is_some_and(|object| object.value()["metadata"]["labels"][LABEL] == MANAGED);
            let spec = json!({ "group": group, "version": version, "groupPriorityMinimum": 1000, "versionPriority": 100 });
            // The next change of the object repeats a write that fails.
            match found {
                None if is_served => {
                    let object = json!({
                        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
                        "metadata": { "name": name, "labels": { LABEL: MANAGED } }, "spec": spec,
                    });
                    let collection = Target::new(&self.kind, "", "");
                    let _ = self.registry.create(&collection, object, context);
                }
                Some(object) if is_served && is_managed && object.value()["spec"] != spec => {
                    let restore = |object: &mut Value| {
                        object["spec"] = spec.clone();
                        Ok(())
                    };
                    let _ = self
                        .registry
                        .update_as_manager(&target, "", "kube-apiserver", restore);
                }
                Some(_) if !is_served && is_managed => {
                    let _ = self.registry.delete(&target, &DeleteOptions::default());
                }
                _ => {}
            }
        }
    }
}

/// Returns a group with each version that definitions make served, once per kind.
fn custom_versions(catalog: &Catalog, group: &str) -> impl Iterator<Item = (String, String)> {
    let kinds = catalog.group(group).iter();
    kinds
        .filter(|kind| kind.definition.is_some())
        .map(|kind| (kind.group.clone(), kind.version.clone()))
}
