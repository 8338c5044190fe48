//! Uses of apply configurations that do not compile.

use kubewright::{ApplyConfiguration, CustomResource, Informer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Informer, ApplyConfiguration, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced)]
struct FooSpec {
    size: i32,
}

fn main() {
    let _ = FooApply::new("web");
    let _ = FooApply::namespaced("default", "web").status(());
    let _ = FooApply::namespaced("default", "web").spec(FooSpecApply::new().size("3").replicas(1));
}
