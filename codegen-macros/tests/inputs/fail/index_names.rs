use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced)]
#[informer(index(by_name = "spec.name", by_size = "spec.size", by_name = "spec.size"))]
#[informer(index(r#by_size = "spec.size"))]
#[informer(index(get = "spec.name", list = "spec.name", select = "spec.name", namespace = "spec.name", by_index = "spec.name"))]
#[informer(index(object = "spec.name", clone = "spec.name", deref = "spec.name"))]
#[informer(index(self = "spec.name", _ = "spec.name"))]
struct FooSpec {
    name: String,
    size: i32,
}

fn main() {}
