//! The served kinds: built-in ones from a generated table, and those of CustomResourceDefinitions.

mod autoscaler_versions;
mod catalog;
pub(crate) mod convert;
mod custom;
mod fields;

pub use catalog::Catalog;
pub(crate) use catalog::DefinitionKinds;
pub use convert::to_request_version;
pub(crate) use custom::served_kinds;

use crate::crd::{ConversionWebhook, CustomResourceDefinition};
use crate::status::{self, ResourceNames};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

/// A resource in one version.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kind {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version, such as `v1`.
    pub version: String,
    /// The kind, such as `Pod`.
    pub kind: String,
    /// The plural resource name, such as `pods`.
    #[serde(rename = "resource")]
    pub plural: String,
    /// The singular name, such as `pod`.
    pub singular: String,
    /// Whether the objects are namespaced.
    #[serde(default)]
    pub namespaced: bool,
    /// The short names, such as `po`.
    #[serde(default)]
    pub short_names: Vec<String>,
    /// The categories, such as `all`.
    #[serde(default)]
    pub categories: Vec<String>,
    /// The supported verbs.
    pub verbs: Vec<String>,
    /// The subresources, such as `status`.
    #[serde(default)]
    pub subresources: Vec<Subresource>,
    #[serde(default)]
    flags: Vec<String>,
    /// The definition of a custom resource.
    #[serde(skip)]
    pub definition: Option<Arc<CustomResourceDefinition>>,
}

/// A subresource.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subresource {
    /// The name, such as `scale`.
    pub name: String,
    /// The supported verbs.
    pub verbs: Vec<String>,
    /// The group of its request and response objects; empty if it is that of the resource.
    pub group: String,
    /// The version of these objects.
    pub version: String,
    /// The kind of these objects.
    pub kind: String,
}

impl Kind {
    /// Whether the kind of a custom resource is that of the same definition, with the same spec and accepted names.
    pub(crate) fn is_served_like(&self, other: &Self) -> bool {
        let definition = |kind: &Self| {
            let definition = kind.definition.as_ref();
            definition.map(|definition| (definition.revision.clone(), definition.list_kind.clone()))
        };
        definition(self) == definition(other)
            && self.kind == other.kind
            && self.singular == other.singular
            && self.short_names == other.short_names
            && self.categories == other.categories
    }

    /// Returns the kind of the objects of a subresource.
    pub(crate) fn for_subresource(&self, subresource: &Subresource) -> Self {
        let uses_own_version = subresource.version.is_empty();
        let (group, version) = if uses_own_version {
            (&self.group, &self.version)
        } else {
            (&subresource.group, &subresource.version)
        };
        Self {
            group: group.clone(),
            version: version.clone(),
            kind: subresource.kind.clone(),
            subresources: vec![],
            definition: self.definition.clone().filter(|_| uses_own_version),
            ..self.clone()
        }
    }

    /// Returns the API version, such as `apps/v1` or `v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Returns the resource with its group, such as `deployments.apps` or `pods`.
    pub fn group_resource(&self) -> String {
        status::group_resource(self)
    }

    /// Returns the `details` of a Status about an object of this kind.
    pub fn details(&self, name: &str) -> Value {
        status::details(name, &self.group, &self.plural)
    }

    /// Returns the storage table of the objects. All versions of a kind share a table, and so do events of both groups.
    pub fn table(&self) -> String {
        match (self.group.as_str(), self.plural.as_str()) {
            ("events.k8s.io", "events") => "events".to_owned(),
            _ => self.group_resource(),
        }
    }

    /// Returns the kind of lists.
    pub fn list_kind(&self) -> String {
        match &self.definition {
            Some(definition) => definition.list_kind.clone(),
            None => format!("{}List", self.kind),
        }
    }

    /// Returns the verbs that discovery shows: objects of a definition that is being deleted cannot be created or changed.
    pub(crate) fn served_verbs(&self) -> Vec<&str> {
        let definition = self.definition.as_ref();
        let is_terminating = definition.is_some_and(|definition| definition.terminating);
        let is_served = |verb: &&str| !is_terminating || !matches!(*verb, "patch" | "create" | "update");
        self.verbs.iter().map(String::as_str).filter(is_served).collect()
    }

    /// Looks up a subresource.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources
            .iter()
            .find(|subresource| subresource.name == name)
    }

    /// The webhook that converts the objects to and from other versions.
    pub(crate) fn conversion_webhook(&self) -> Option<&ConversionWebhook> {
        self.definition.as_ref()?.conversion.as_ref()
    }

    /// Whether the status is a subresource.
    pub fn has_status(&self) -> bool {
        self.subresource("status").is_some()
    }

    /// Whether a write of the status leaves the labels unchanged.
    pub(crate) fn keeps_labels_in_status_updates(&self) -> bool {
        self.group == "apps" && self.kind == "Deployment"
    }

    /// Whether a write of the status leaves the metadata unchanged, except for `managedFields`.
    pub(crate) fn keeps_metadata_in_status_updates(&self) -> bool {
        self.definition.is_some() || self.has_flag("own-metadata")
    }

    /// Whether `metadata.generateName` is validated in updates as the names of the kind.
    pub(crate) fn validates_generate_name_in_updates(&self) -> bool {
        self.has_flag("checked-prefix")
    }

    /// Whether `metadata.generation` counts changes of the spec.
    pub fn tracks_generation(&self) -> bool {
        self.definition.is_some() || self.has_flag("generation") || self.has_flag("counted-changes")
    }

    /// Whether explicitly empty fields that are not stored count as a change of the spec.
    pub(crate) fn counts_explicit_empty_fields(&self) -> bool {
        self.has_flag("empty-generation")
    }

    /// Whether `metadata.generation` starts at 1.
    pub fn starts_at_generation_one(&self) -> bool {
        self.tracks_generation() && !self.has_flag("counted-changes") || self.has_flag("first-generation")
    }

    /// Whether an update is allowed without a resource version.
    pub fn allows_unconditional_update(&self) -> bool {
        self.definition.is_none() && !self.has_flag("conditional")
    }

    /// Whether an update of a missing object creates it: an update of the whole object or its status. Other subresources need an existing
    /// object.
    pub fn allows_create_on_update(&self, subresource: &str) -> bool {
        self.has_flag("upsert") && matches!(subresource, "" | "status")
    }

    /// Whether a delete returns the object.
    pub fn returns_deleted(&self) -> bool {
        self.has_flag("returns-deleted")
    }

    /// Whether objects are stored; reviews, for example, are not.
    pub fn is_stored(&self) -> bool {
        self.verbs.iter().any(|verb| verb == "get") && !self.is_virtual()
    }

    /// Whether objects can be read but are not stored.
    pub(crate) fn is_virtual(&self) -> bool {
        self.has_flag("virtual")
    }

    fn has_flag(&self, flag: &str) -> bool {
        self.flags.iter().any(|known| known == flag)
    }
}

impl ResourceNames for Kind {
    fn resource_names(&self) -> [&str; 3] {
        [&self.group, &self.plural, &self.kind]
    }
}
