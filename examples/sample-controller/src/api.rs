//! The kind `Foo` of `samplecontroller.k8s.io`.

use kubewright::{CustomResource, Informer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A Deployment that somebody asks for by name.
#[derive(CustomResource, Informer, Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "samplecontroller.k8s.io",
    version = "v1alpha1",
    kind = "Foo",
    namespaced,
    status = "FooStatus",
    // Groups of k8s.io are protected; upstream's example says the same.
    annotation("api-approved.kubernetes.io", "unapproved, experimental-only"),
    derive = "Default",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase")]
pub struct FooSpec {
    /// The name of the Deployment.
    pub deployment_name: String,
    /// How many pods it runs; left to others when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FooStatus {
    /// The Deployment's available replicas.
    pub available_replicas: i32,
}
