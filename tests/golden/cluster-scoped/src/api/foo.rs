//! The kind Foo: its spec and status.
//!
//! Doc comments become the descriptions in `kubectl explain foos`. Run `kubewright generate` after a change.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kubewright::{ApplyConfiguration, CustomResource, Informer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The desired state.
#[derive(
    CustomResource, Informer, ApplyConfiguration, Clone, Debug, Deserialize, Serialize, JsonSchema,
)]
#[kube(
    group = "demo.dev",
    version = "v1",
    kind = "Foo",
    status = "FooStatus",
    doc = "Manages a Deployment with a number of replicas.",
    printcolumn(name = "Wanted", type_ = "integer", json_path = ".spec.replicas"),
    printcolumn(
        name = "Available",
        type_ = "integer",
        json_path = ".status.availableReplicas"
    ),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#
    )
)]
#[informer(index(by_deployment = "spec.deploymentName"))]
#[serde(rename_all = "camelCase")]
pub struct FooSpec {
    /// The namespace of the Deployment.
    pub deployment_namespace: String,
    /// The name of the Deployment.
    #[schemars(length(min = 1, max = 63))]
    pub deployment_name: String,
    /// The desired number of replicas.
    #[schemars(range(min = 0, max = 10))]
    pub replicas: i32,
}

/// The observed state.
#[derive(
    ApplyConfiguration, Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct FooStatus {
    /// The number of available replicas of the Deployment.
    #[serde(default)]
    pub available_replicas: i32,
    /// `Ready` is true if all desired replicas are available.
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// The most recent generation observed by the controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}
