use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// Errors in different attributes, each at its token.
#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced, plural = "1st", scale = r#"{"specReplicasPath":".spec.size","statusReplicasPath":".status.size"}"#)]
#[informer(index(get: f32 = "spec.name.", by_name = "spec.nam"))]
#[informer(index(by_name: u64 = "$.spec.size"))]
struct FooSpec {
    name: String,
    size: i32,
}

fn main() {}
