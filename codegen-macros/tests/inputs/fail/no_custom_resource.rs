use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// `CustomResource` is not derived, so there is no `Foo`.
#[derive(Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced)]
struct FooSpec {}

fn main() {}
