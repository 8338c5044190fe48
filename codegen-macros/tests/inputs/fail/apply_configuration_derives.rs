//! Types within the types of fields that lack a derive.

use std::collections::BTreeMap;

use kubewright::{ApplyConfiguration, CustomResource, Informer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Informer, ApplyConfiguration, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced)]
struct FooSpec {
    #[apply(nested)]
    ports: Vec<Port>,
}

#[derive(ApplyConfiguration, Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct Port {
    protocol: Option<Protocol>,
    limits: BTreeMap<String, Vec<Limit>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
enum Protocol {
    Tcp,
}

#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
struct Limit {}

fn main() {}
