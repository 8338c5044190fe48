//! The output of the subcommand `manifests`: the registered custom kinds, the permissions and the webhook configurations.
//!
//! This file has the document, [`definitions`] the CRDs, [`schema`] the check of index paths against their schemas, [`webhooks`] what webhooks
//! need, and [`roles`] the roles of the YAML output.

mod definitions;
mod roles;
mod schema;
mod webhooks;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::Serialize;

use super::metrics_access;
use crate::{
    controller::{Permission, PermissionScope, RegistrationError, Setup},
    webhooks::{WebhookManifests, certificates::BundleTarget},
};

pub(super) use definitions::CustomDefinition;
use definitions::DefinitionError;
use schema::IndexError;

use crate::yaml;

/// The version of the document, raised on incompatible changes.
const MANIFESTS_VERSION: u32 = 1;

/// The document that the command `kubewright` reads.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Manifests {
    #[serde(rename = "manifestsVersion")]
    format: u32,
    kubewright_version: &'static str,
    operator: String,
    kinds: Vec<CustomDefinition>,
    permissions: Vec<Permission>,
    /// The configurations and the Service, for the namespace that a new project has.
    #[serde(skip_serializing_if = "Option::is_none")]
    webhooks: Option<WebhookManifests>,
    warnings: Vec<String>,
}

// ANCHOR: manifests
/// Why the manifests cannot be generated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ManifestError {
    /// The registration is invalid.
    #[error(transparent)]
    Registration(#[from] RegistrationError),
    /// A CustomResourceDefinition cannot be generated.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// An index does not match its kind's schema.
    #[error(transparent)]
    Index(#[from] IndexError),
}
// ANCHOR_END: manifests

impl Manifests {
    /// Generates the manifests of the registration. Returns all errors, not only the first.
    pub(super) fn of(setup: &Setup) -> Result<Self, Vec<ManifestError>> {
        Self::with_certificate(setup, true)
    }

    /// [`of`](Self::of) an operator that keeps the certificate of its webhooks, or is given one.
    pub(super) fn with_certificate(setup: &Setup, is_kept: bool) -> Result<Self, Vec<ManifestError>> {
        let mut errors: Vec<ManifestError> = setup.errors().into_iter().map(Into::into).collect();
        let warnings = setup.warnings().to_vec();
        let kinds = definitions::all(setup, &mut errors);
        let mut permissions = setup.permissions();
        permissions.push(leader_election());
        permissions.extend(metrics_access::permissions());
        let webhooks = webhooks::of(setup, &kinds, is_kept, &mut permissions);
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(Self {
            format: MANIFESTS_VERSION,
            kubewright_version: env!("CARGO_PKG_VERSION"),
            operator: setup.operator().to_owned(),
            kinds,
            permissions,
            webhooks,
            warnings,
        })
    }

    /// Formats the manifests as one JSON document, for programs.
    pub(super) fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|json| json + "\n")
    }

    /// Formats CRDs, roles and webhook configurations as YAML documents, for people.
    pub(super) fn to_yaml(&self) -> Result<String, yaml::YamlError> {
        let definitions = self
            .kinds
            .iter()
            .filter_map(|kind| kind.crd.as_ref())
            .map(yaml::document);
        let roles = roles::of(&self.operator, &self.permissions);
        let webhooks = self.webhooks.iter().flat_map(|webhooks| {
            let WebhookManifests {
                validating,
                mutating,
                service,
                secret,
            } = webhooks;
            let validating = validating.iter().map(yaml::document);
            let mutating = mutating.iter().map(yaml::document);
            let secret = secret.iter().map(yaml::document);
            validating
                .chain(mutating)
                .chain([yaml::document(service)])
                .chain(secret)
        });
        let roles = roles.iter().map(yaml::document);
        definitions.chain(roles).chain(webhooks).collect()
    }
}

/// Returns the definitions of a registration, or its errors.
pub(crate) fn definitions(setup: &Setup) -> Result<Vec<CustomResourceDefinition>, Vec<ManifestError>> {
    let manifests = Manifests::of(setup)?;
    Ok(manifests.kinds.into_iter().filter_map(|kind| kind.crd).collect())
}

/// Returns the permissions of an operator without leader election and metrics, or the registration's errors.
pub(crate) fn permissions_of_registration(setup: &Setup) -> Result<Vec<Permission>, Vec<ManifestError>> {
    let Manifests { mut permissions, .. } = Manifests::of(setup)?;
    let election = leader_election();
    permissions
        .retain(|permission| permission.unit != election.unit && !metrics_access::is_for_metrics(permission));
    Ok(permissions)
}

/// Returns the objects whose CA bundle an operator keeps, or the registration's errors.
pub(super) fn bundle_targets(setup: &Setup) -> Result<Vec<BundleTarget>, Vec<ManifestError>> {
    let manifests = Manifests::of(setup)?;
    Ok(webhooks::bundle_targets(setup, &manifests.kinds))
}

/// Returns the permission for leader election. Every operator has it, so that its role does not depend on flags.
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
        component: None,
    }
}

#[cfg(test)]
mod tests;
