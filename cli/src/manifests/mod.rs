//! What the operator says of itself, and the files that follow from it.
//!
//! The operator prints JSON, version 1 ([`Manifests`]). From it come [`crds`], [`rbac`], the kustomization that lists
//! them, and the API's documentation ([`api_docs`]). These modules make texts; whose files they become is the business
//! of [`ownership`](crate::ownership).

pub mod api_docs;
pub mod crds;
pub mod kustomization;
pub mod rbac;

use serde::Deserialize;
use serde_json::Value;

/// The version of the answer that this command reads.
const VERSION: u64 = 1;

/// The answer of `<operator> manifests`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifests {
    /// The operator: its roles bear this name.
    pub operator: String,
    /// The kinds, a CRD each.
    pub kinds: Vec<KindManifest>,
    /// What the operator does to whom.
    pub permissions: Vec<Permission>,
    /// What its author should know.
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
    /// The resource.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether somebody else owns the definition.
    #[serde(default)]
    pub external: bool,
    /// The definition; none for an external kind, perhaps.
    #[serde(default)]
    pub crd: Option<Value>,
}

/// Where a permission is needed.
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

/// What one type of the code stands for.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Permission {
    /// Where it is needed.
    #[serde(rename = "place")]
    pub scope: PermissionScope,
    /// The API groups; the core group is empty.
    #[serde(default)]
    pub api_groups: Vec<String>,
    /// The resources, with their subresources.
    #[serde(default)]
    pub resources: Vec<String>,
    /// Only objects of these names; empty: of any.
    #[serde(default)]
    pub resource_names: Vec<String>,
    /// Paths outside resources.
    #[serde(default, rename = "nonResourceURLs")]
    pub non_resource_urls: Vec<String>,
    /// What is done.
    pub verbs: Vec<String>,
}

impl Manifests {
    /// Reads the operator's answer, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        // The version first: another one may be unreadable otherwise.
        let value: Value = serde_json::from_str(text).map_err(|error| format!("{error}"))?;
        match value.get("manifestsVersion").and_then(Value::as_u64) {
            Some(VERSION) => {
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
                "manifests of version {other}, where this command knows version {VERSION}; \
                 install the command in the version of the library"
            )),
            None => Err(
                "no `manifestsVersion`: does main run a `kubewright::Manager` made with `from_args`?".into(),
            ),
        }
    }

    /// The kinds that this operator defines, with their CRDs.
    pub fn definitions(&self) -> impl Iterator<Item = (&KindManifest, &Value)> {
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
    fn reads_version_1_and_names_the_mend_for_others() {
        let text = r#"{"manifestsVersion":1,"kubewrightVersion":"0.1.0","operator":"shop","kinds":[],"permissions":[
            {"unit":"informer Foo","place": "watched","apiGroups":["demo.dev"],"resources":["foos"],"verbs":["list"],
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
