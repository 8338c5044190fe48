//! The kind EnvironmentConfig of apiextensions.crossplane.io/v1beta1, which another project defines.
//!
//! `kubewright import` made this file from the definition `environmentconfigs.apiextensions.crossplane.io`. After a change of the definition, the same command merges the
//! change into this file. Your changes stay.
#![allow(
    nonstandard_style,
    missing_docs,
    clippy::all,
    clippy::pedantic,
    rustdoc::all
)]

use serde::Deserialize;

/// An EnvironmentConfig contains user-defined unstructured values for
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentConfig {
    /// The metadata of the object.
    #[serde(default)]
    pub metadata: kube::core::ObjectMeta,
    /// The data of this EnvironmentConfig.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<std::collections::BTreeMap<String, serde_json::Value>>,
}

impl kube::Resource for EnvironmentConfig {
    type DynamicType = ();
    type Scope = kube::core::ClusterResourceScope;

    fn kind((): &()) -> std::borrow::Cow<'static, str> {
        "EnvironmentConfig".into()
    }

    fn group((): &()) -> std::borrow::Cow<'static, str> {
        "apiextensions.crossplane.io".into()
    }

    fn version((): &()) -> std::borrow::Cow<'static, str> {
        "v1beta1".into()
    }

    fn plural((): &()) -> std::borrow::Cow<'static, str> {
        "environmentconfigs".into()
    }

    fn meta(&self) -> &kube::core::ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut kube::core::ObjectMeta {
        &mut self.metadata
    }
}

impl serde::Serialize for EnvironmentConfig {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap as _;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("apiVersion", "apiextensions.crossplane.io/v1beta1")?;
        map.serialize_entry("kind", "EnvironmentConfig")?;
        map.serialize_entry("metadata", &self.metadata)?;
        if let Some(value) = &self.data {
            map.serialize_entry("data", value)?;
        }
        map.end()
    }
}
