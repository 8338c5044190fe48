use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "A", namespaced)]
#[informer(index, index(), index = "spec.name")]
struct ASpec {
    name: String,
}

#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "B", namespaced)]
#[informer(index("by_name" = "spec.name"), index(by-name = "spec.name"), index(by_name), index(by_name: String))]
struct BSpec {
    name: String,
}

#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "C", namespaced)]
#[informer(index(by_name = spec.name), index(by_name = 1), index(by_name: = "spec.name"), index(by_name = "spec.name" by_size = "spec.size"))]
struct CSpec {
    name: String,
}

fn main() {}
