//! The kind ResourceFlavor of kueue.x-k8s.io/v1beta2, which another project defines.
//!
//! `kubewright import` made this file from the definition `resourceflavors.kueue.x-k8s.io`. After a change of the definition, the same command merges the
//! change into this file. Your changes stay.
#![allow(
    nonstandard_style,
    missing_docs,
    clippy::all,
    clippy::pedantic,
    rustdoc::all
)]

use serde::{Deserialize, Serialize};

/// ResourceFlavor is the Schema for the resourceflavors API.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceFlavor {
    /// The metadata of the object.
    #[serde(default)]
    pub metadata: kube::core::ObjectMeta,
    /// spec is the specification of the ResourceFlavor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<ResourceFlavorSpec>,
}

impl kube::Resource for ResourceFlavor {
    type DynamicType = ();
    type Scope = kube::core::ClusterResourceScope;

    fn kind((): &()) -> std::borrow::Cow<'static, str> {
        "ResourceFlavor".into()
    }

    fn group((): &()) -> std::borrow::Cow<'static, str> {
        "kueue.x-k8s.io".into()
    }

    fn version((): &()) -> std::borrow::Cow<'static, str> {
        "v1beta2".into()
    }

    fn plural((): &()) -> std::borrow::Cow<'static, str> {
        "resourceflavors".into()
    }

    fn meta(&self) -> &kube::core::ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut kube::core::ObjectMeta {
        &mut self.metadata
    }
}

impl serde::Serialize for ResourceFlavor {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap as _;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("apiVersion", "kueue.x-k8s.io/v1beta2")?;
        map.serialize_entry("kind", "ResourceFlavor")?;
        map.serialize_entry("metadata", &self.metadata)?;
        if let Some(value) = &self.spec {
            map.serialize_entry("spec", value)?;
        }
        map.end()
    }
}

/// spec is the specification of the ResourceFlavor.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceFlavorSpec {
    /// nodeLabels are labels that associate the ResourceFlavor with Nodes that
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_labels: Option<std::collections::BTreeMap<String, String>>,
    /// nodeTaints are taints that the nodes associated with this ResourceFlavor
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_taints: Option<Vec<ResourceFlavorSpecNodeTaints>>,
    /// tolerations are extra tolerations that will be added to the pods admitted in
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerations: Option<Vec<ResourceFlavorSpecTolerations>>,
    /// topologyName indicates topology for the TAS ResourceFlavor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology_name: Option<String>,
}

/// The node this Taint is attached to has the "effect" on
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceFlavorSpecNodeTaints {
    /// Required.
    pub effect: String,
    /// Required.
    pub key: String,
    /// TimeAdded represents the time at which the taint was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_added: Option<String>,
    /// The taint value corresponding to the taint key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// The pod this Toleration is attached to tolerates any taint that matches
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceFlavorSpecTolerations {
    /// Effect indicates the taint effect to match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
    /// Key is the taint key that the toleration applies to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Operator represents a key's relationship to the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator: Option<String>,
    /// TolerationSeconds represents the period of time the toleration (which must be
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<i64>,
    /// Value is the taint value the toleration matches to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}
