use std::collections::BTreeMap;

use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, JsonSchema)]
struct Port {
    number: u16,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
enum Protocol {
    Tcp,
    Other { number: u8 },
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Limit;

#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced, status = "FooStatus")]
struct FooSpec {
    ports: Vec<Port>,
    protocol: Option<Protocol>,
    limits: BTreeMap<String, Limit>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
struct FooStatus {}

fn main() {}
