//! What `manifests` prints: the custom kinds and the permissions of what was registered.
//!
//! Read this file for the document, [`definitions`] for the CRDs, [`schema`] for the check of index paths against them, and
//! [`roles`] for the YAML that people read.

mod definitions;
mod roles;
mod schema;

use serde::Serialize;

use crate::controller::{Permission, PermissionScope, RegistrationError, Setup};

pub(super) use definitions::CustomDefinition;
pub use definitions::DefinitionError;
pub use schema::IndexError;

use crate::yaml;

/// The version of the document: raised when a reader of an older one would misread it.
const VERSION: u32 = 1;

/// The document, version 1: what the command line reads.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Manifests {
    #[serde(rename = "manifestsVersion")]
    format: u32,
    kubewright_version: &'static str,
    operator: String,
    kinds: Vec<CustomDefinition>,
    permissions: Vec<Permission>,
    warnings: Vec<String>,
}

/// Why there are no manifests.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ManifestError {
    /// What was registered does not fit together.
    #[error(transparent)]
    Registration(#[from] RegistrationError),
    /// A definition cannot be made.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// An index does not fit its kind.
    #[error(transparent)]
    Index(#[from] IndexError),
}

impl Manifests {
    /// Reads what was registered. Finds as many errors as there are, not only the first.
    pub(super) fn of(setup: &Setup) -> Result<Self, Vec<ManifestError>> {
        let mut errors: Vec<ManifestError> = setup.errors().into_iter().map(Into::into).collect();
        let mut warnings = setup.warnings().to_vec();
        let kinds = definitions::all(setup, &mut warnings, &mut errors);
        let mut permissions = setup.permissions();
        permissions.push(leader_election());
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(Self {
            format: VERSION,
            kubewright_version: env!("CARGO_PKG_VERSION"),
            operator: setup.operator().to_owned(),
            kinds,
            permissions,
            warnings,
        })
    }

    /// For programs: one JSON document.
    pub(super) fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|json| json + "\n")
    }

    /// For people: the CRDs and the roles as YAML documents.
    pub(super) fn to_yaml(&self) -> Result<String, yaml::Error> {
        let definitions = self
            .kinds
            .iter()
            .filter_map(|kind| kind.crd.as_ref())
            .map(yaml::document);
        let roles = roles::of(&self.operator, &self.permissions);
        definitions.chain(roles.iter().map(yaml::document)).collect()
    }
}

/// Every operator may elect a leader, whatever the flags, so that its role does not depend on them.
fn leader_election() -> Permission {
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    Permission {
        unit: "leader election".to_owned(),
        scope: PermissionScope::Operator,
        api_groups: texts(&["coordination.k8s.io"]),
        resources: texts(&["leases"]),
        verbs: texts(&["get", "create", "update"]),
        why: "leader election".to_owned(),
        resource_names: Vec::new(),
        non_resource_urls: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
