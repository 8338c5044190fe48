use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced)]
struct FooSpec<T> {
    name: T,
}

#[derive(Informer, Clone, Debug, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Bar", namespaced)]
struct BarSpec<'a> {
    name: &'a str,
}

fn main() {}
