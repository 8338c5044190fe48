//! The operator's manifests, and the texts that are generated from them.
//!
//! `<operator> manifests` prints JSON ([`Manifests`]). From it come [`crds`], [`rbac`], [`user_roles`], [`webhooks`], [`dashboard`], the [`kustomization`] that lists
//! them, and the API documentation ([`api_docs`]). [`certificates`] changes them by a setting of the project. [`definition_check`] finds what the API server would refuse. These modules return texts; [`ownership`](crate::ownership) decides
//! whether they may be written.

pub mod api_docs;
pub mod certificates;
pub mod crds;
pub mod dashboard;
pub mod definition_check;
mod definition_reasons;
pub mod descriptions;
pub mod kustomization;
pub mod rbac;
mod rule_costs;
mod schema_path;
pub mod user_roles;
pub mod webhooks;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::version_conversion::VersionConversion;
use webhooks::WebhookManifests;

/// The supported `manifestsVersion`.
const MANIFESTS_VERSION: u64 = 1;

/// The output of `<operator> manifests`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifests {
    /// Name of the operator and of its roles.
    pub operator: String,
    /// The kinds with their CRDs.
    pub kinds: Vec<KindManifest>,
    /// The permissions that the operator needs.
    pub permissions: Vec<Permission>,
    /// What the API server calls, if anything.
    #[serde(default)]
    pub webhooks: Option<WebhookManifests>,
    /// Warnings for the operator's author.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// A kind of the operator.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KindManifest {
    /// The API group.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// Plural name of the resource.
    pub plural: String,
    /// Whether the kind is namespaced.
    pub namespaced: bool,
    /// Whether the CRD belongs to another project.
    #[serde(default)]
    pub external: bool,
    /// The Rust types of the schema's objects, by version and path: `spec` is `FooSpec`, `spec.rules[]` is `Rule`.
    #[serde(default)]
    pub rust_types: BTreeMap<String, BTreeMap<String, String>>,
    /// How its versions are converted, if it has several.
    #[serde(default)]
    pub conversion: Option<VersionConversion>,
    /// The CRD; may be absent for an external kind.
    #[serde(default)]
    pub crd: Option<Value>,
}

/// The scope of a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PermissionScope {
    /// In the namespaces that the operator watches.
    Watched,
    /// In the operator's own namespace.
    Operator,
    /// Outside namespaces.
    Cluster,
    /// In the namespace `default`.
    #[serde(rename = "default")]
    DefaultNamespace,
}

/// The permissions of one typed handle in the operator's code.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Permission {
    /// Where the permission is needed.
    pub scope: PermissionScope,
    /// API groups; the core group is the empty string.
    #[serde(default)]
    pub api_groups: Vec<String>,
    /// Resources and subresources.
    #[serde(default)]
    pub resources: Vec<String>,
    /// Names of objects; empty means all.
    #[serde(default)]
    pub resource_names: Vec<String>,
    /// Non-resource URLs.
    #[serde(default, rename = "nonResourceURLs")]
    pub non_resource_urls: Vec<String>,
    /// Verbs.
    pub verbs: Vec<String>,
    /// What needs the permission.
    #[serde(default)]
    pub why: String,
}

impl Permission {
    /// Whether the operator needs it only to authenticate and authorize requests to its metrics.
    pub(crate) fn is_for_metrics(&self) -> bool {
        self.why == "metrics authentication"
    }
}

impl Manifests {
    /// Parses the output of `<operator> manifests`. The error is a message.
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::from_json(serde_json::from_str(text).map_err(|error| format!("{error}"))?)
    }

    /// [Parses](Self::parse) a JSON value.
    pub(crate) fn from_json(value: Value) -> Result<Self, String> {
        // Check the version first: other versions may not deserialize.
        match value.get("manifestsVersion").and_then(Value::as_u64) {
            Some(MANIFESTS_VERSION) => {
                let mut manifests: Self =
                    serde_json::from_value(value).map_err(|error| format!("{error}"))?;
                manifests
                    .kinds
                    .iter_mut()
                    .filter_map(|kind| kind.crd.as_mut())
                    .for_each(crds::clean);
                Ok(manifests)
            }
            Some(other) => Err(format!(
                "the manifests have version {other}, and this command supports version {MANIFESTS_VERSION}: \
                 install the version of the command that matches the kubewright crate"
            )),
            None => Err(
                "`manifestsVersion` is missing: run a `kubewright::Manager` made with `from_args` in main"
                    .into(),
            ),
        }
    }

    /// Sets the namespace that the operator will run in, which it does not know.
    pub(crate) fn set_namespace(&mut self, namespace: &str) {
        webhooks::set_namespace(self, namespace);
    }

    /// Returns the kinds that this operator defines, with their CRDs. External kinds are left out.
    pub fn defined_crds(&self) -> impl Iterator<Item = (&KindManifest, &Value)> {
        self.kinds
            .iter()
            .filter(|kind| !kind.external)
            .filter_map(|kind| Some((kind, kind.crd.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_versions_are_errors_with_a_fix() {
        let text = r#"{"manifestsVersion":1,"kubewrightVersion":"0.1.0","operator":"shop","kinds":[],"permissions":[
            {"unit":"informer Foo","scope": "watched","apiGroups":["demo.dev"],"resources":["foos"],"verbs":["list"],
             "why":"informer"}],"warnings":[],"later":true}"#;
        let manifests = Manifests::parse(text).unwrap();
        assert_eq!(manifests.operator, "shop");
        assert_eq!(manifests.permissions[0].scope, PermissionScope::Watched);

        let newer = Manifests::parse(r#"{"manifestsVersion":2}"#).unwrap_err();
        assert!(
            newer.contains("version 2") && newer.contains("install"),
            "{newer}"
        );
        assert!(Manifests::parse("{}").unwrap_err().contains("from_args"));
        assert!(Manifests::parse("Hello").is_err());
    }
}
