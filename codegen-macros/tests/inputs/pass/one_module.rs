//! Several kinds in one module: with different names, and with the same name and different roots.
#![deny(warnings, missing_docs, unused, unreachable_pub)]

use kubewright::{Kind, cache::SharedInformerFactory};
use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A bar.
#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Bar", namespaced)]
pub struct BarSpec {}

/// An old foo.
#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Foo", root = "OldFoo", namespaced)]
#[informer(index(by_name = "spec.name"))]
pub struct OldFooSpec {
    /// The name.
    pub name: String,
}

/// A new foo.
#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v2", kind = "Foo", root = "NewFoo", namespaced)]
#[informer(index(by_name = "spec.name"))]
pub struct NewFooSpec {
    /// The name.
    pub name: String,
}

/// All of them.
pub fn uses(informers: &SharedInformerFactory) -> (BarLister, OldFooLister, NewFooLister) {
    let (old, new) = (OldFooInformers::foos(informers), NewFooInformers::foos(informers));
    (informers.bars().lister(), old.lister(), new.lister())
}

fn main() {
    assert_eq!((&*OldFoo::info().kind, &*NewFoo::info().kind), ("Foo", "Foo"));
}
