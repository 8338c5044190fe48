use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// kube-derive also reports them, but at the derive.
#[derive(Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(namespaced)]
struct AllSpec {}

#[derive(Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(version = "v1", kind = "One")]
struct OneSpec {}

fn main() {}
