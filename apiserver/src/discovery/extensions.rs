//! The groups and versions of extension servers, as their APIServices name them. Their resources are not known here.

use crate::crd::version_priority;
use crate::registry::{API_SERVICES, Registry};
use crate::strategy;
use memchr::memmem;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A group with its versions.
type Group = (String, Vec<String>);

/// The versions that extension servers have, and where groups and versions stand among all.
#[derive(Default)]
pub(super) struct Extensions {
    /// The APIServices by group and version. Empty if there are no extension servers.
    versions: BTreeMap<String, BTreeMap<String, Version>>,
    /// The places of all groups: the priority, and the first of the APIServices with it.
    places: BTreeMap<String, (Reverse<i64>, String)>,
}

/// What an APIService says of its version.
struct Version {
    priority: i64,
    has_extension_server: bool,
}

impl Extensions {
    pub(super) fn load(registry: &Registry) -> Self {
        let objects = registry.store.objects(API_SERVICES, "");
        // Most have none, and are not decoded.
        let mut maybe_extensions = objects
            .iter()
            .filter(|object| memmem::find(object.json(), br#""service":{"#).is_some());
        if maybe_extensions.all(|object| !strategy::has_service(object.value())) {
            return Self::default();
        }
        let mut loaded = Self::default();
        for object in &objects {
            let spec = &object.value()["spec"];
            let [group, version] = ["group", "version"].map(|field| spec[field].as_str().unwrap_or_default());
            let number = |field: &str| spec[field].as_i64().unwrap_or_default();
            let place = (
                Reverse(number("groupPriorityMinimum")),
                format!("{version}.{group}"),
            );
            loaded
                .places
                .entry(group.to_owned())
                .and_modify(|first| *first = place.clone().min(first.clone()))
                .or_insert(place);
            let entry = Version {
                priority: number("versionPriority"),
                has_extension_server: strategy::has_service(object.value()),
            };
            let versions = loaded.versions.entry(group.to_owned()).or_default();
            versions.insert(version.to_owned(), entry);
        }
        loaded
    }

    /// Whether an extension server has a version of a group.
    pub(super) fn has(&self, group: &str, version: &str) -> bool {
        let version = self
            .versions
            .get(group)
            .and_then(|versions| versions.get(version));
        version.is_some_and(|version| version.has_extension_server)
    }

    /// Adds the groups and versions of extension servers to those that are served here.
    pub(super) fn add_to(&self, groups: &mut Vec<Group>) {
        for (group, known) in &self.versions {
            let extensions = known.iter().filter(|(_, version)| version.has_extension_server);
            let mut extensions = extensions.map(|(name, _)| name).peekable();
            if extensions.peek().is_none() {
                continue;
            }
            let at = groups.iter().position(|(name, _)| name == group);
            let at = at.unwrap_or_else(|| {
                groups.push((group.clone(), vec![]));
                groups.len() - 1
            });
            let versions = &mut groups[at].1;
            for extension in extensions {
                if !versions.contains(extension) {
                    versions.push(extension.clone());
                }
            }
            let priority = |name: &str| known.get(name).map(|version| version.priority);
            versions.sort_by(|a, b| {
                let rank = |name| (priority(name), version_priority(name));
                rank(b).cmp(&rank(a))
            });
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.versions.is_empty()
    }

    /// Sorts groups as in aggregated discovery: by priority, then by name.
    pub(super) fn sort_by_name<G>(&self, groups: &mut [G], name: impl Fn(&G) -> &str) {
        if !self.is_empty() {
            let priority = |group: &str| self.places.get(group).map(|(priority, _)| *priority);
            groups.sort_by_cached_key(|group| (priority(name(group)), name(group).to_owned()));
        }
    }

    /// Sorts groups as in unaggregated discovery: by priority, then by the names of their APIServices.
    pub(super) fn sort_by_api_service<G>(&self, groups: &mut [G], name: impl Fn(&G) -> &str) {
        if !self.is_empty() {
            groups.sort_by_cached_key(|group| self.places.get(name(group)).cloned());
        }
    }
}
