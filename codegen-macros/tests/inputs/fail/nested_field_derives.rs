use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Limit;

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct Rule {
    limits: Vec<Limit>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
enum Protocol {
    Tcp,
    Other { number: u8 },
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(tag = "type")]
enum Port {
    Number { number: u16, protocol: Option<Protocol> },
    Any,
}

#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced)]
struct FooSpec {
    rules: Vec<Rule>,
    port: Port,
}

fn main() {}
