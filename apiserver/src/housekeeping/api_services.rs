//! The APIServices of custom resources: one for each group and version that definitions make served.

use crate::auth::User;
use crate::meta;
use crate::registry::{Registry, Target, WriteContext};
use crate::request::{DeleteOptions, ListOptions, WriteOptions};
use serde_json::json;
use std::collections::BTreeSet;

/// The label of APIServices that this controller creates and deletes, with its value.
const LABEL: &str = "kube-aggregator.kubernetes.io/automanaged";
const MANAGED: &str = "true";

/// Creates missing APIServices, and deletes those whose group and version are no longer served.
pub(super) fn sync(registry: &Registry) {
    let Ok(kind) = registry.resource("apiregistration.k8s.io", "apiservices") else {
        return;
    };
    let catalog = registry.catalog();
    let custom = catalog.iter().filter(|kind| kind.definition.is_some());
    let mut missing: BTreeSet<(&str, &str)> = custom
        .map(|kind| (kind.version.as_str(), kind.group.as_str()))
        .collect();
    let Ok(listing) = registry.list(&Target::new(&kind, "", ""), &ListOptions::default()) else {
        return;
    };
    for object in &listing.objects {
        let object = object.value();
        let name = meta::name(object);
        let is_served = name.split_once('.').is_some_and(|named| missing.remove(&named));
        if !is_served && object["metadata"]["labels"][LABEL] == MANAGED {
            let _ = registry.delete(&Target::new(&kind, "", name), &DeleteOptions::default());
        }
    }
    let (user, options) = (User::system(), WriteOptions::of_manager("kube-apiserver"));
    for (version, group) in missing {
        let object = json!({
            "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
            "metadata": { "name": format!("{version}.{group}"), "labels": { LABEL: MANAGED } },
            "spec": { "group": group, "version": version, "groupPriorityMinimum": 1000, "versionPriority": 100 },
        });
        let context = WriteContext::new(&user, &options);
        let _ = registry.create(&Target::new(&kind, "", ""), object, context);
    }
}
