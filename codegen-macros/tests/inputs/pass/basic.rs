//! The struct of the scaffold.
#![deny(warnings, missing_docs, unused, unreachable_pub)]

use kubewright::{CustomKind, WithStatus, cache::IndexType};
use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The desired state of a Foo.
#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1alpha1", kind = "Foo", namespaced, status = "FooStatus", shortname = "foo")]
#[informer(index(by_deployment = "spec.deploymentName"))]
#[serde(rename_all = "camelCase")]
pub struct FooSpec {
    /// The name of the Deployment.
    pub deployment_name: String,
    /// How many.
    #[schemars(range(min = 0, max = 10))]
    pub replicas: i32,
}

/// The observed state of a Foo.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct FooStatus {
    /// How many.
    pub replicas: i32,
}

/// Types in a controller's struct.
pub struct FooController {
    /// Reads.
    pub foos: FooLister,
    /// Writes.
    pub foo_status: FooClient<(UpdateStatus,)>,
}

/// Calls in a controller.
pub fn uses(informers: &kubewright::cache::SharedInformerFactory, key: &NamespacedName) -> bool {
    let informer: FooInformer = informers.foos().clone();
    let _: &SharedInformer<Foo> = &informer;
    let lister: FooLister = informer.lister().clone();
    let found = lister.by_deployment("web").chain(lister.by_deployment(String::from("web")));
    found.count() > 0 && lister.get(key).is_ok() && informer.has_synced()
}

fn with_status<K: WithStatus>() {}

fn main() {
    with_status::<Foo>();
    assert!(!Foo::EXTERNAL);
    assert_eq!(Foo::definition().metadata.name.as_deref(), Some("foos.demo.dev"));
    let [index] = Foo::indexes() else { panic!("not one index") };
    assert_eq!((index.name, index.path, index.value_type), ("by_deployment", "spec.deploymentName", IndexType::String));
}
