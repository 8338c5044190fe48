//! Pods with a few fields: labels, node and phase, and the fields that identify the Pod.

use std::{borrow::Cow, collections::BTreeMap};

use k8s_openapi::{api::core::v1::Pod, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::Resource;
use kubewright::Projection;
use serde::{Deserialize, Deserializer};

/// The projection for kubewright.
#[derive(Projection)]
#[projection(of = Pod)]
pub(crate) struct ProjectedPod {
    #[projection(path = "metadata.labels", default)]
    #[expect(dead_code, reason = "decoded for its time")]
    labels: BTreeMap<String, String>,
    #[projection(path = "spec.nodeName")]
    #[expect(dead_code, reason = "decoded for its time")]
    node: Option<String>,
    #[projection(path = "status.phase")]
    #[expect(dead_code, reason = "decoded for its time")]
    phase: Option<String>,
}

/// The struct for kube-runtime, decoded without intermediate values for ignored fields.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct SlimPod {
    #[serde(deserialize_with = "metadata")]
    metadata: ObjectMeta,
    #[serde(default)]
    #[expect(dead_code, reason = "kept for its memory")]
    spec: SlimSpec,
    #[serde(default)]
    #[expect(dead_code, reason = "kept for its memory")]
    status: SlimStatus,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SlimSpec {
    #[expect(dead_code, reason = "kept for its memory")]
    node_name: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct SlimStatus {
    #[expect(dead_code, reason = "kept for its memory")]
    phase: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SlimMetadata {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    labels: Option<BTreeMap<String, String>>,
}

fn metadata<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ObjectMeta, D::Error> {
    let slim = SlimMetadata::deserialize(deserializer)?;
    Ok(ObjectMeta {
        name: slim.name,
        namespace: slim.namespace,
        uid: slim.uid,
        resource_version: slim.resource_version,
        labels: slim.labels,
        ..ObjectMeta::default()
    })
}

impl Resource for SlimPod {
    type DynamicType = ();
    type Scope = <Pod as Resource>::Scope;

    fn kind((): &()) -> Cow<'_, str> {
        Pod::kind(&())
    }

    fn group((): &()) -> Cow<'_, str> {
        Pod::group(&())
    }

    fn version((): &()) -> Cow<'_, str> {
        Pod::version(&())
    }

    fn plural((): &()) -> Cow<'_, str> {
        Pod::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
