//! The kind `Bucket` of `storage.example.com`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kubewright::{ApplyConfiguration, CustomResource, Informer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The desired state of a bucket.
#[derive(CustomResource, Informer, ApplyConfiguration, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "storage.example.com",
    version = "v1",
    kind = "Bucket",
    namespaced,
    status = "BucketStatus",
    doc = "A bucket at the storage service.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#
    )
)]
#[serde(rename_all = "camelCase")]
pub struct BucketSpec {
    /// Whether the service keeps old versions of the files.
    #[serde(default)]
    pub versioned: bool,
}

/// The observed state of a bucket.
#[derive(ApplyConfiguration, Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BucketStatus {
    /// The bucket's identifier at the service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `Ready` is true if the bucket exists as specified.
    #[serde(default)]
    pub conditions: Vec<Condition>,
}
