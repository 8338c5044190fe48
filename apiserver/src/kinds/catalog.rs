//! The catalog of served kinds.

use super::Kind;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

const BUILT_IN_KINDS: &str = include_str!("kinds.json");

/// All kinds that are served at one moment. It is replaced as a whole when definitions change; a copy shares the groups that did not change.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    groups: BTreeMap<Arc<str>, Arc<Group>>,
    /// The names of the groups of built-in kinds, in the order of discovery. Other groups follow, by name.
    built_in_groups: Arc<[Arc<str>]>,
}

/// The kinds of an API group: built-in ones in the order of discovery, then those of definitions, by the definition's name.
#[derive(Debug, Default)]
struct Group {
    kinds: Vec<Arc<Kind>>,
    by_path: HashMap<String, Arc<Kind>>,
    /// Random: no other group has it, and none of another server.
    revision: u64,
}

impl Group {
    fn new(kinds: Vec<Arc<Kind>>) -> Self {
        let path = |kind: &Arc<Kind>| path(&kind.version, &kind.plural);
        let by_path = kinds.iter().map(|kind| (path(kind), kind.clone())).collect();
        Self {
            kinds,
            by_path,
            revision: rand::random(),
        }
    }

    /// Returns the group with the kinds of a definition replaced.
    fn with_definition(&self, name: &str, kinds: Vec<Arc<Kind>>) -> Self {
        let definition = |kind: &Arc<Kind>| kind.definition.clone();
        let is_before =
            |kind: &&Arc<Kind>| definition(kind).is_none_or(|definition| *definition.name < *name);
        let is_after =
            |kind: &&Arc<Kind>| definition(kind).is_some_and(|definition| *definition.name > *name);
        let before = self.kinds.iter().filter(is_before).cloned();
        let after = self.kinds.iter().filter(is_after).cloned();
        Self::new(before.chain(kinds).chain(after).collect())
    }
}

/// The kinds of a definition, to replace earlier ones in a catalog.
#[derive(Debug)]
pub(crate) struct DefinitionKinds {
    /// The definition's API group.
    pub(crate) group: String,
    /// The definition's name.
    pub(crate) name: String,
    /// The served kinds; none if the definition is gone.
    pub(crate) kinds: Vec<Arc<Kind>>,
}

impl Catalog {
    /// Returns the built-in kinds.
    ///
    /// # Errors
    ///
    /// Returns an error if the embedded table is invalid, which a test rules out.
    pub fn built_in() -> Result<Self, serde_json::Error> {
        let kinds: Vec<Kind> = serde_json::from_str(BUILT_IN_KINDS)?;
        let mut names: Vec<Arc<str>> = vec![];
        let mut groups: BTreeMap<Arc<str>, Vec<Arc<Kind>>> = BTreeMap::new();
        for kind in kinds {
            let name: Arc<str> = kind.group.as_str().into();
            if !groups.contains_key(&name) {
                names.push(name.clone());
            }
            groups.entry(name).or_default().push(Arc::new(kind));
        }
        let groups = groups.into_iter();
        Ok(Self {
            groups: groups
                .map(|(name, kinds)| (name, Arc::new(Group::new(kinds))))
                .collect(),
            built_in_groups: names.into(),
        })
    }

    /// Returns this catalog with the kinds of these definitions replaced.
    pub(crate) fn with_definitions(&self, definitions: Vec<DefinitionKinds>) -> Self {
        let mut catalog = self.clone();
        for DefinitionKinds {
            group,
            name,
            mut kinds,
        } in definitions
        {
            kinds.retain(|kind| !self.is_built_in_version(&kind.group, &kind.version));
            let changed = match catalog.groups.get(group.as_str()) {
                Some(present) => present.with_definition(&name, kinds),
                None => Group::new(kinds),
            };
            if changed.kinds.is_empty() {
                catalog.groups.remove(group.as_str());
            } else {
                catalog.groups.insert(group.into(), Arc::new(changed));
            }
        }
        catalog
    }

    /// Whether the version of the group has built-in kinds. kube-apiserver serves these alone.
    fn is_built_in_version(&self, group: &str, version: &str) -> bool {
        let mut kinds = self.group(group).iter();
        kinds.any(|kind| kind.definition.is_none() && kind.version == version)
    }

    /// Looks up a kind by its resource path.
    pub fn resource(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Kind>> {
        self.groups.get(group)?.by_path.get(&path(version, plural))
    }

    /// Looks up a kind by API version and kind.
    pub fn kind(&self, api_version: &str, kind: &str) -> Option<&Arc<Kind>> {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        self.group(group)
            .iter()
            .find(|known| known.kind == kind && known.version == version)
    }

    /// Looks up any version of a resource.
    pub fn any_version(&self, group: &str, plural: &str) -> Option<&Arc<Kind>> {
        self.group(group).iter().find(|kind| kind.plural == plural)
    }

    /// Whether the group has this version.
    pub fn has_version(&self, group: &str, version: &str) -> bool {
        self.group(group).iter().any(|kind| kind.version == version)
    }

    /// Returns a number that changes whenever the kinds of the group do, and that no other server has.
    pub(crate) fn group_revision(&self, name: &str) -> u64 {
        self.groups.get(name).map_or(0, |group| group.revision)
    }

    /// Returns a number that changes whenever any kind does.
    pub(crate) fn revision(&self) -> u64 {
        let revisions = self.groups.values().map(|group| group.revision);
        revisions.fold(0, u64::wrapping_add)
    }

    /// Lists the kinds of a group, in the order of discovery.
    pub fn group(&self, name: &str) -> &[Arc<Kind>] {
        self.groups.get(name).map_or(&[], |group| &group.kinds)
    }

    /// Lists the names of the groups, in the order of discovery.
    pub fn group_names(&self) -> impl Iterator<Item = &str> {
        let is_custom = |name: &&Arc<str>| !self.built_in_groups.contains(name);
        let built_in = self.built_in_groups.iter();
        built_in
            .chain(self.groups.keys().filter(is_custom))
            .map(|name| &**name)
    }

    /// Lists all kinds, in the order of discovery.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.group_names().flat_map(|name| self.group(name))
    }

    /// Lists one kind for each storage table.
    pub fn stored(&self) -> impl Iterator<Item = &Arc<Kind>> {
        let mut seen = BTreeSet::new();
        self.iter()
            .filter(move |kind| kind.is_stored() && seen.insert(kind.table()))
    }

    /// Lists the groups that differ from those of an older catalog: the older kinds and the present ones.
    pub(crate) fn changed_groups<'a>(
        &'a self,
        older: &'a Self,
    ) -> impl Iterator<Item = (&'a [Arc<Kind>], &'a [Arc<Kind>])> {
        let is_same = |name: &str| match (self.groups.get(name), older.groups.get(name)) {
            (Some(now), Some(before)) => Arc::ptr_eq(now, before),
            _ => false,
        };
        let removed = older
            .group_names()
            .filter(|name| !self.groups.contains_key(*name));
        self.group_names()
            .chain(removed)
            .filter(move |name| !is_same(name))
            .map(|name| (older.group(name), self.group(name)))
    }
}

fn path(version: &str, plural: &str) -> String {
    format!("{version}/{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crd::CustomResourceDefinition;
    use serde_json::json;

    #[test]
    fn built_in_kinds_are_complete() {
        let catalog = Catalog::built_in().unwrap();
        let pods = catalog.resource("", "v1", "pods").unwrap();
        assert!(pods.namespaced && pods.has_status() && pods.returns_deleted() && pods.tracks_generation());
        assert_eq!(pods.short_names, ["po"]);
        let scale = catalog.resource("apps", "v1", "deployments").unwrap();
        assert_eq!(scale.subresource("scale").unwrap().kind, "Scale");
        assert_eq!(scale.group_resource(), "deployments.apps");
        assert!(!catalog.kind("v1", "Binding").unwrap().is_stored());
        assert_eq!(
            catalog.kind("events.k8s.io/v1", "Event").unwrap().table(),
            "events"
        );
    }

    fn definition(group: &str, plural: &str, versions: &[&str]) -> DefinitionKinds {
        let name = format!("{plural}.{group}");
        let parsed = Arc::new(CustomResourceDefinition::parse(
            &json!({ "metadata": { "name": name } }),
        ));
        let kind = |version: &&str| {
            Arc::new(Kind {
                group: group.to_owned(),
                version: (*version).to_owned(),
                kind: plural.to_owned(),
                plural: plural.to_owned(),
                singular: plural.to_owned(),
                namespaced: true,
                short_names: vec![],
                categories: vec![],
                verbs: vec!["get".to_owned()],
                subresources: vec![],
                flags: vec![],
                definition: Some(parsed.clone()),
            })
        };
        DefinitionKinds {
            group: group.to_owned(),
            name: name.clone(),
            kinds: versions.iter().map(kind).collect(),
        }
    }

    #[test]
    fn definitions_are_replaced_one_by_one_and_other_groups_are_shared() {
        let built_in = Catalog::built_in().unwrap();
        let first = built_in.with_definitions(vec![
            definition("z.dev", "bs", &["v1"]),
            definition("z.dev", "as", &["v1"]),
            definition("a.dev", "cs", &["v1"]),
        ]);
        let custom = |catalog: &Catalog| -> Vec<String> {
            let kinds = catalog.iter().filter(|kind| kind.definition.is_some());
            kinds
                .map(|kind| format!("{} {}", kind.group_resource(), kind.version))
                .collect()
        };
        assert_eq!(custom(&first), ["cs.a.dev v1", "as.z.dev v1", "bs.z.dev v1"]);
        let second = first.with_definitions(vec![
            definition("z.dev", "as", &["v2", "v1"]),
            definition("z.dev", "bs", &[]),
        ]);
        assert_eq!(custom(&second), ["cs.a.dev v1", "as.z.dev v2", "as.z.dev v1"]);
        assert_eq!(second.changed_groups(&first).count(), 1);
        assert!(second.resource("z.dev", "v1", "bs").is_none() && second.has_version("z.dev", "v2"));
        let third = second.with_definitions(vec![definition("z.dev", "as", &[])]);
        assert!(third.any_version("z.dev", "as").is_none());
        let changed: Vec<usize> = third
            .changed_groups(&second)
            .map(|(before, _)| before.len())
            .collect();
        assert_eq!(changed, [2]);
    }
}
