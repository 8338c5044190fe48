use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced)]
struct FooSpec {
    #[schemars(lenght(min = 1))]
    name: String,
    rule: Rule,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct Rule {
    #[serde(defautl)]
    size: i32,
}

fn main() {}
