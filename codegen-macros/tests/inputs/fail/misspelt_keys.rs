use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced)]
#[informer(externl, indx(by_name = "spec.name"))]
#[informer(crat = "kubewright")]
struct FooSpec {
    name: String,
}

#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Bar", namespaced)]
#[informer(colour = "red", external = "perhaps", crate = 1)]
struct BarSpec {}

fn main() {}
