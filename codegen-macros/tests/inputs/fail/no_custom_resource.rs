use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// `Foo` does not exist, since `CustomResource` is not derived.
#[derive(Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced)]
struct FooSpec {}

fn main() {}
