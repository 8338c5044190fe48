//! The kind `Foo` of `samplecontroller.k8s.io`.

use kubewright::{CustomResource, Informer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The desired state of a Foo: the Deployment to create.
#[derive(CustomResource, Informer, Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "samplecontroller.k8s.io",
    version = "v1alpha1",
    kind = "Foo",
    namespaced,
    status = "FooStatus",
    // Groups under k8s.io are protected; upstream's example has the same annotation.
    annotation("api-approved.kubernetes.io", "unapproved, experimental-only"),
    derive = "Default",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase")]
pub struct FooSpec {
    /// The name of the Deployment.
    pub deployment_name: String,
    /// The desired number of replicas; not managed when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
}

/// The observed state of a Foo.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FooStatus {
    /// The number of available replicas of the Deployment.
    pub available_replicas: i32,
}
