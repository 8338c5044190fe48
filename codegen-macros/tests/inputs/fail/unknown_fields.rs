use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// Paths use the JSON names of fields.
#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced)]
#[informer(index(a = "spec.deployment_name", b = "spec.deploymntName", c = "spec.size", d = "spec.bytes"))]
#[serde(rename_all = "camelCase")]
struct FooSpec {
    deployment_name: String,
    #[serde(rename = "bytes")]
    size: i32,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct More {
    name: String,
}

#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Bar", namespaced)]
#[informer(index(by_name = "spec.name"))]
struct BarSpec {
    #[serde(flatten)]
    more: More,
}

#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Baz", namespaced)]
#[informer(index(by_name = "spec.name"))]
#[serde(from = "More")]
struct BazSpec {
    name: i32,
}

impl From<More> for BazSpec {
    fn from(more: More) -> Self {
        Self { name: more.name.len() as i32 }
    }
}

#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Qux", namespaced)]
#[informer(index(by_name = "spec.name"))]
struct QuxSpec(More);

fn main() {}
