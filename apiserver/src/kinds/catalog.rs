//! All that is served at one moment.

use super::Kind;
use std::collections::BTreeMap;
use std::sync::Arc;

const TABLE: &str = include_str!("kinds.json");

/// All that is served at one moment. It is replaced as a whole when definitions change.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// In the order of discovery.
    kinds: Vec<Arc<Kind>>,
    by_path: BTreeMap<(String, String, String), Arc<Kind>>,
}

impl Catalog {
    /// The built-in kinds.
    ///
    /// # Errors
    ///
    /// When the table that is compiled in is no table, which a test rules out.
    pub fn built_in() -> Result<Self, serde_json::Error> {
        let kinds: Vec<Kind> = serde_json::from_str(TABLE)?;
        Ok(Self::of(kinds.into_iter().map(Arc::new).collect()))
    }

    fn of(kinds: Vec<Arc<Kind>>) -> Self {
        let path = |kind: &Arc<Kind>| (kind.group.clone(), kind.version.clone(), kind.plural.clone());
        let by_path = kinds.iter().map(|kind| (path(kind), kind.clone())).collect();
        Self { kinds, by_path }
    }

    /// The built-in kinds of this catalog, with these custom ones.
    pub fn with_custom(&self, custom: impl IntoIterator<Item = Kind>) -> Self {
        let built_in = self.kinds.iter().filter(|kind| kind.definition.is_none());
        Self::of(
            built_in
                .cloned()
                .chain(custom.into_iter().map(Arc::new))
                .collect(),
        )
    }

    /// The resource at a path.
    pub fn resource(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Kind>> {
        self.by_path
            .get(&(group.to_owned(), version.to_owned(), plural.to_owned()))
    }

    /// The resource of a kind.
    pub fn kind(&self, api_version: &str, kind: &str) -> Option<&Arc<Kind>> {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        self.kinds
            .iter()
            .find(|known| known.kind == kind && known.group == group && known.version == version)
    }

    /// Any version of a resource.
    pub fn any_version(&self, group: &str, plural: &str) -> Option<&Arc<Kind>> {
        self.kinds
            .iter()
            .find(|kind| kind.group == group && kind.plural == plural)
    }

    /// Whether the group has that version.
    pub fn has_version(&self, group: &str, version: &str) -> bool {
        self.kinds
            .iter()
            .any(|kind| kind.group == group && kind.version == version)
    }

    /// All, in the order of discovery.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.kinds.iter()
    }

    /// One kind for each table of stored objects.
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
    fn the_table_holds_what_is_served() {
        let catalog = Catalog::built_in().unwrap();
        let pods = catalog.resource("", "v1", "pods").unwrap();
        assert!(pods.namespaced && pods.has_status() && pods.returns_deleted() && pods.counts_generations());
        assert_eq!(pods.short_names, ["po"]);
        let scale = catalog.resource("apps", "v1", "deployments").unwrap();
        assert_eq!(scale.subresource("scale").unwrap().kind, "Scale");
        assert_eq!(scale.qualified(), "deployments.apps");
        assert!(!catalog.kind("v1", "Binding").unwrap().is_stored());
        assert_eq!(
            catalog.kind("events.k8s.io/v1", "Event").unwrap().table(),
            "events"
        );
    }
}
