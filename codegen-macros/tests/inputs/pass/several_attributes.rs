//! Several `kube` attributes; keys of kube-derive are ignored.
#![deny(warnings, missing_docs, unused, unreachable_pub)]

use kubewright::{CustomKind, WithStatus};
use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A Foo.
#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1")]
#[kube(kind = "Foo", root = "FooCrd", namespaced, derive = "PartialEq", doc = "A Foo.")]
#[kube(status = status::FooStatus, category = "all", annotation("a", "b"), label("c", "d"), storage = true, served)]
#[kube(printcolumn(name = "Name", type_ = "string", json_path = ".spec.name"), validation = "self.spec.name != ''")]
#[kube(scale = r#"{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}"#)]
#[informer(index(by_name = "spec.name"))]
#[informer(index(by_replicas = "spec.replicas"), external = false)]
#[derive(PartialEq)]
pub struct FooSpec {
    /// The name.
    pub name: String,
    /// How many.
    pub replicas: i32,
}

/// The status type in another module.
pub mod status {
    /// The observed state of a Foo.
    #[derive(Clone, Debug, PartialEq, super::Deserialize, super::Serialize, super::JsonSchema)]
    pub struct FooStatus {
        /// How many.
        pub replicas: i32,
    }
}

fn with_status<K: WithStatus>() {}

fn main() {
    with_status::<FooCrd>();
    assert_eq!(FooCrd::indexes().len(), 2);
    assert_eq!(FooCrd::definition().metadata.name.as_deref(), Some("foos.demo.dev"));
}
