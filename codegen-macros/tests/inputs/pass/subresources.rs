//! Status and scale.
#![deny(warnings, missing_docs, unused, unreachable_pub)]

use kubewright::{WithScale, WithStatus, client::Verbs};
use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The desired state of a Web.
#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "demo.dev",
    version = "v1",
    kind = "Web",
    namespaced,
    status = WebStatus,
    scale(spec_replicas_path = ".spec.replicas", status_replicas_path = ".status.replicas")
)]
pub struct WebSpec {
    /// How many.
    pub replicas: i32,
}

/// The observed state of a Web.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct WebStatus {
    /// How many.
    pub replicas: i32,
}

/// Verbs of subresources are available.
pub type WebWriter = WebClient<(UpdateScale,)>;

fn has_both<K: WithStatus + WithScale>() {}

fn main() {
    has_both::<Web>();
    assert_eq!(<(UpdateScale,) as Verbs<Web>>::rules()[0].subresource, Some("scale"));
}
