use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// The items are generated despite the error: code that uses them has no follow-up errors.
#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced)]
#[informer(indx(by_name = "spec.name"))]
struct FooSpec {
    name: String,
}

fn register(setup: &mut Setup) -> (FooLister, FooClient<(Get,)>) {
    (setup.informers().foos().lister(), setup.client())
}

fn main() {}
