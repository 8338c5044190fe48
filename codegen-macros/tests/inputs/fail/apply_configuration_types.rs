//! Types that lack what an apply configuration needs.

use kubewright::{ApplyConfiguration, CustomResource, Informer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Informer, ApplyConfiguration, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced, status = "FooStatus")]
struct FooSpec {
    #[apply(nested)]
    ports: Option<Vec<Port>>,
    mode: Mode,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct FooStatus {}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct Port {}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
enum Mode {
    On,
}

fn main() {}
