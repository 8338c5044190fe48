use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
enum Phase {
    Running,
}

#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced)]
#[informer(index(by_name = "spec.name", by_size = "spec.size", by_phase: Phase = "spec.phase"))]
struct FooSpec {
    name: String,
    size: i32,
    phase: Phase,
}

// Index methods take the type of the index.
fn uses(foos: &FooLister) {
    foos.by_name(1);
    foos.by_size("1");
    foos.by_phase("Running");
    foos.by_other("x");
}

fn main() {}
