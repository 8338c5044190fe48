//! The grammar of paths.
#![deny(warnings, missing_docs, unused, unreachable_pub)]

use kubewright::CustomKind;
use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Ports.
#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Gate", namespaced, status = "GateStatus")]
#[informer(index(
    by_app: String = "metadata.labels['app.kubernetes.io/name']",
    by_port_name: String = "spec.ports[*].name",
    by_owner: String = "metadata.ownerReferences[*].uid",
    by_quoted: String = "spec['ports'][*]['name']",
    by_ready: bool = "status.ready",
    by_kind: String = "kind",
))]
pub struct GateSpec {
    /// The ports.
    pub ports: Vec<Port>,
}

/// A port.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct Port {
    /// Its name.
    pub name: String,
}

/// The observed state of a Gate.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct GateStatus {
    /// Whether it is ready.
    pub ready: bool,
}

fn main() {
    let paths: Vec<_> = Gate::indexes().iter().map(|index| index.path).collect();
    assert_eq!(paths[0], "metadata.labels['app.kubernetes.io/name']");
    assert_eq!(paths.len(), 6);
}
