use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Self", namespaced)]
struct ASpec {}

#[derive(Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "no-type", namespaced)]
struct BSpec {}

#[derive(Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Foo", root = "1Foo", plural = "self")]
struct CSpec {}

#[derive(Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = 5, plural = "")]
struct DSpec {}

fn main() {}
