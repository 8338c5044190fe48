use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[informer(index(by_name = "spec.name"))]
struct FooSpec {
    name: String,
}

fn main() {}
