//! A cluster-scoped kind with an irregular plural, and without an `informer` attribute.
#![deny(warnings, missing_docs, unused, unreachable_pub)]

use kubewright::{CustomKind, Kind, Scope, cache::SharedInformerFactory};
use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A person.
#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "ShopPerson", plural = "shoppeople")]
pub struct ShopPersonSpec {
    /// The name.
    pub name: String,
}

/// A policy.
#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "NetPolicy", singular = "netpolicy")]
pub struct NetPolicySpec {}

/// Named by the factory.
pub fn uses(informers: &SharedInformerFactory) -> (ShopPersonInformer, NetPolicyInformer) {
    (informers.shop_people(), informers.net_policies())
}

fn main() {
    assert_eq!((ShopPerson::info().scope, &*ShopPerson::info().plural), (Scope::Cluster, "shoppeople"));
    assert_eq!((NetPolicy::info().scope, &*NetPolicy::info().plural), (Scope::Cluster, "netpolicies"));
    assert!(ShopPerson::indexes().is_empty());
}
