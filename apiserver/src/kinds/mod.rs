//! What is served: the built-in kinds, from one table, and those that CustomResourceDefinitions add.

mod catalog;
mod fields;

pub use catalog::Catalog;

use crate::crd::CustomResourceDefinition;
use crate::status;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

/// One resource in one version.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kind {
    /// The API group; empty for the core.
    pub group: String,
    /// The version, as `v1`.
    pub version: String,
    /// The kind, as `Pod`.
    pub kind: String,
    /// The resource, as `pods`.
    #[serde(rename = "resource")]
    pub plural: String,
    /// The singular, as `pod`.
    pub singular: String,
    /// Whether its objects live in namespaces.
    #[serde(default)]
    pub namespaced: bool,
    /// As `po`.
    #[serde(default)]
    pub short_names: Vec<String>,
    /// As `all`.
    #[serde(default)]
    pub categories: Vec<String>,
    /// What can be asked of it.
    pub verbs: Vec<String>,
    /// As `status`.
    #[serde(default)]
    pub subresources: Vec<Subresource>,
    #[serde(default)]
    flags: Vec<String>,
    /// The definition of a custom kind.
    #[serde(skip)]
    pub definition: Option<Arc<CustomResourceDefinition>>,
}

/// A part of a resource with a path of its own.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subresource {
    /// As `scale`.
    pub name: String,
    /// What can be asked of it.
    pub verbs: Vec<String>,
    /// The group of what it takes and gives; empty where it is the resource's own.
    pub group: String,
    /// Its version.
    pub version: String,
    /// Its kind.
    pub kind: String,
}

impl Kind {
    /// A kind that a definition makes.
    pub(crate) fn custom(
        (group, version): (&str, &str),
        (kind, plural, singular): (&str, &str, &str),
        namespaced: bool,
        (short_names, categories): (Vec<String>, Vec<String>),
        verbs: &[&str],
        subresources: Vec<Subresource>,
        definition: Arc<CustomResourceDefinition>,
    ) -> Self {
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            plural: plural.to_owned(),
            singular: singular.to_owned(),
            namespaced,
            short_names,
            categories,
            verbs: verbs.iter().map(|&verb| verb.to_owned()).collect(),
            subresources,
            flags: vec![],
            definition: Some(definition),
        }
    }

    /// The kind of what a part of it takes and gives.
    pub(crate) fn of_part(&self, part: &Subresource) -> Self {
        let own = part.version.is_empty();
        let (group, version) = if own {
            (&self.group, &self.version)
        } else {
            (&part.group, &part.version)
        };
        Self {
            group: group.clone(),
            version: version.clone(),
            kind: part.kind.clone(),
            subresources: vec![],
            definition: self.definition.clone().filter(|_| own),
            ..self.clone()
        }
    }

    /// `apps/v1`, or `v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// `deployments.apps`, or `pods`.
    pub fn qualified(&self) -> String {
        if self.group.is_empty() {
            self.plural.clone()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    /// What a Status says of an object of this kind.
    pub fn details(&self, name: &str) -> Value {
        status::details(name, &self.group, &self.plural)
    }

    /// Where its objects lie: versions of a kind, and events of both groups, share a table.
    pub fn table(&self) -> String {
        match (self.group.as_str(), self.plural.as_str()) {
            ("events.k8s.io", "events") => "events".to_owned(),
            _ => self.qualified(),
        }
    }

    /// The kind of its lists.
    pub fn list_kind(&self) -> String {
        match &self.definition {
            Some(definition) => definition.list_kind.clone(),
            None => format!("{}List", self.kind),
        }
    }

    /// The subresource, if it has it.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources
            .iter()
            .find(|subresource| subresource.name == name)
    }

    /// Whether status and the rest are written apart.
    pub fn has_status(&self) -> bool {
        self.subresource("status").is_some()
    }

    /// Whether who writes the status leaves the labels alone.
    pub(crate) fn restores_labels(&self) -> bool {
        self.group == "apps" && self.kind == "Deployment"
    }

    /// Whether `metadata.generation` counts changes of the specification.
    pub fn counts_generations(&self) -> bool {
        self.definition.is_some() || self.has_flag("generation")
    }

    /// Whether it counts as well what was sent empty.
    pub(crate) fn counts_empties(&self) -> bool {
        self.has_flag("empty-generation")
    }

    /// Whether `metadata.generation` is 1 at first.
    pub fn begins_generations(&self) -> bool {
        self.counts_generations() || self.has_flag("first-generation")
    }

    /// Whether an update may come without a resource version.
    pub fn updates_unconditionally(&self) -> bool {
        self.definition.is_none() && !self.has_flag("conditional")
    }

    /// Whether an update of nothing creates: of the whole, or of the status. Other parts have an object of their own to begin with.
    pub fn creates_on_update(&self, part: &str) -> bool {
        self.has_flag("upsert") && matches!(part, "" | "status")
    }

    /// Whether a deletion answers with what was deleted.
    pub fn returns_deleted(&self) -> bool {
        self.has_flag("returns-deleted")
    }

    /// Whether it can be kept: reviews cannot, they are answered.
    pub fn is_stored(&self) -> bool {
        self.verbs.iter().any(|verb| verb == "get")
    }

    fn has_flag(&self, flag: &str) -> bool {
        self.flags.iter().any(|known| known == flag)
    }
}
