//! The kind DNSPolicy: what its user may write, and what the operator reports back.
//!
//! Doc comments become the descriptions that `kubectl explain dnspolicies` shows. After a change: `kubewright generate`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kubewright::{CustomResource, Informer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is wanted.
#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "net.demo.dev",
    version = "v1alpha1",
    kind = "DNSPolicy",
    status = "DNSPolicyStatus",
    shortname = "dnspolicy",
    doc = "A Deployment with as many replicas as its DNSPolicy says.",
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
pub struct DNSPolicySpec {
    /// The namespace of the Deployment.
    pub deployment_namespace: String,
    /// The name of the Deployment that is created.
    #[schemars(length(min = 1, max = 63))]
    pub deployment_name: String,
    /// How many replicas it shall have.
    #[schemars(range(min = 0, max = 10))]
    pub replicas: i32,
}

/// What the operator observed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DNSPolicyStatus {
    /// How many replicas of the Deployment are available.
    #[serde(default)]
    pub available_replicas: i32,
    /// `Ready` is true when as many replicas are available as are wanted.
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// The generation of the spec that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}
