//! The catalog of served kinds.

use super::Kind;
use std::collections::BTreeMap;
use std::sync::Arc;

const BUILT_IN_KINDS: &str = include_str!("kinds.json");

/// All kinds that are served at one moment. It is replaced as a whole when definitions change.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// The kinds in the order of discovery.
    kinds: Vec<Arc<Kind>>,
    by_path: BTreeMap<(String, String, String), Arc<Kind>>,
}

impl Catalog {
    /// Returns the built-in kinds.
    ///
    /// # Errors
    ///
    /// Returns an error if the embedded table is invalid, which a test rules out.
    pub fn built_in() -> Result<Self, serde_json::Error> {
        let kinds: Vec<Kind> = serde_json::from_str(BUILT_IN_KINDS)?;
        Ok(Self::new(kinds.into_iter().map(Arc::new).collect()))
    }

    fn new(kinds: Vec<Arc<Kind>>) -> Self {
        let path = |kind: &Arc<Kind>| (kind.group.clone(), kind.version.clone(), kind.plural.clone());
        let by_path = kinds.iter().map(|kind| (path(kind), kind.clone())).collect();
        Self { kinds, by_path }
    }

    /// Returns the built-in kinds of this catalog together with these custom ones.
    pub fn with_custom(&self, custom: impl IntoIterator<Item = Kind>) -> Self {
        let built_in = self.kinds.iter().filter(|kind| kind.definition.is_none());
        let mut custom: Vec<Arc<Kind>> = custom.into_iter().map(Arc::new).collect();
        // Groups of the same priority are discovered in the order of their names.
        custom.sort_by(|a, b| a.group.cmp(&b.group));
        Self::new(built_in.cloned().chain(custom).collect())
    }

    /// Looks up a kind by its resource path.
    pub fn resource(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Kind>> {
        self.by_path
            .get(&(group.to_owned(), version.to_owned(), plural.to_owned()))
    }

    /// Looks up a kind by API version and kind.
    pub fn kind(&self, api_version: &str, kind: &str) -> Option<&Arc<Kind>> {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        self.kinds
            .iter()
            .find(|known| known.kind == kind && known.group == group && known.version == version)
    }

    /// Looks up any version of a resource.
    pub fn any_version(&self, group: &str, plural: &str) -> Option<&Arc<Kind>> {
        self.kinds
            .iter()
            .find(|kind| kind.group == group && kind.plural == plural)
    }

    /// Whether the group has this version.
    pub fn has_version(&self, group: &str, version: &str) -> bool {
        self.kinds
            .iter()
            .any(|kind| kind.group == group && kind.version == version)
    }

    /// Lists all kinds, in the order of discovery.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.kinds.iter()
    }

    /// Lists one kind for each storage table.
    pub fn stored(&self) -> impl Iterator<Item = &Arc<Kind>> {
        let mut seen = std::collections::BTreeSet::new();
        self.kinds
            .iter()
            .filter(move |kind| kind.is_stored() && seen.insert(kind.table()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
