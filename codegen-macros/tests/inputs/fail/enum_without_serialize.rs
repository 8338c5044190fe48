use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

enum Phase {
    Running,
}

#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced)]
#[informer(index(by_phase: Phase = "spec.phase", by_unknown: Unknown = "spec.phase"))]
struct FooSpec {
    phase: String,
}

fn main() {}
