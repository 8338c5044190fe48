//! The groups of extension servers, as their APIServices name them. Their resources are not known here.

use crate::crd::version_priority;
use crate::kinds::Catalog;
use crate::registry::{API_SERVICES, Registry};
use crate::strategy;
use memchr::memmem;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A group with its versions.
type Group = (String, Vec<String>);

/// The groups that only extension servers have, and where they stand among all.
#[derive(Default)]
pub(super) struct Extensions {
    groups: Vec<Group>,
    /// The places of all groups: the priority, and the first of the APIServices with it. Empty if there are no extension servers.
    places: BTreeMap<String, (Reverse<i64>, String)>,
}

impl Extensions {
    pub(super) fn load(registry: &Registry, catalog: &Catalog) -> Self {
        let objects = registry.store.objects(API_SERVICES, "");
        // Most have none, and are not decoded.
        let mut maybe_extensions = objects
            .iter()
            .filter(|object| memmem::find(object.json(), br#""service":{"#).is_some());
        if maybe_extensions.all(|object| !strategy::has_service(object.value())) {
            return Self::default();
        }
        let mut places: BTreeMap<String, (Reverse<i64>, String)> = BTreeMap::new();
        let mut versions: BTreeMap<&str, Vec<(i64, &str)>> = BTreeMap::new();
        for object in &objects {
            let spec = &object.value()["spec"];
            let [group, version] = ["group", "version"].map(|field| spec[field].as_str().unwrap_or_default());
            let number = |field: &str| spec[field].as_i64().unwrap_or_default();
            let place = (
                Reverse(number("groupPriorityMinimum")),
                format!("{version}.{group}"),
            );
            places
                .entry(group.to_owned())
                .and_modify(|first| *first = place.clone().min(first.clone()))
                .or_insert(place);
            if strategy::has_service(object.value()) && catalog.group(group).is_empty() {
                versions
                    .entry(group)
                    .or_default()
                    .push((number("versionPriority"), version));
            }
        }
        let groups = versions.into_iter().map(|(group, mut versions)| {
            versions.sort_by_key(|(priority, version)| Reverse((*priority, version_priority(version))));
            let versions = versions.into_iter().map(|(_, version)| version.to_owned());
            (group.to_owned(), versions.collect())
        });
        Self {
            groups: groups.collect(),
            places,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    pub(super) fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Sorts groups as in aggregated discovery: by priority, then by name.
    pub(super) fn sort_by_name<G>(&self, groups: &mut [G], name: impl Fn(&G) -> &str) {
        if !self.is_empty() {
            groups.sort_by_cached_key(|group| (self.priority(name(group)), name(group).to_owned()));
        }
    }

    /// Sorts groups as in unaggregated discovery: by priority, then by the names of their APIServices.
    pub(super) fn sort_by_api_service<G>(&self, groups: &mut [G], name: impl Fn(&G) -> &str) {
        if !self.is_empty() {
            groups.sort_by_cached_key(|group| self.places.get(name(group)).cloned());
        }
    }

    fn priority(&self, group: &str) -> Option<Reverse<i64>> {
        self.places.get(group).map(|(priority, _)| *priority)
    }
}
