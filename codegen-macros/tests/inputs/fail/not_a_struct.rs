use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced)]
#[informer(index(by_name = "spec.name"))]
enum FooSpec {
    Name { name: String },
}

#[derive(Informer)]
#[kube(group = "demo.dev", version = "v1", kind = "Bar", namespaced)]
union BarSpec {
    a: u8,
    b: i8,
}

fn main() {}
