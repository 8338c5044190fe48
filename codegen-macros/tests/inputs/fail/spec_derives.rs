use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// Each spec lacks one derive.
#[derive(CustomResource, Informer, Clone, Debug, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "A", namespaced)]
struct ASpec {}

#[derive(CustomResource, Informer, Clone, Debug, Deserialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "B", namespaced)]
struct BSpec {}

#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize)]
#[kube(group = "demo.dev", version = "v1", kind = "C", namespaced)]
struct CSpec {}

#[derive(CustomResource, Informer, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "D", namespaced)]
struct DSpec {}

#[derive(CustomResource, Informer, Clone, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "E", namespaced)]
struct ESpec {}

fn main() {}
