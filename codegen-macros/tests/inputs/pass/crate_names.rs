//! kubewright under another name, and the crates of kube-derive through it.
#![deny(warnings, missing_docs, unused, unreachable_pub)]

extern crate kubewright as renamed;

use renamed::{CustomKind, prelude::*, schemars::JsonSchema, serde::{Deserialize, Serialize}};

/// With a path.
#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced)]
#[kube(crates(kube = "renamed::kube", kube_core = "renamed::kube::core", k8s_openapi = "renamed::k8s_openapi", schemars = "renamed::schemars", serde = "renamed::serde", serde_json = "renamed::serde_json"))]
#[informer(crate = renamed, index(by_name = "spec.name"))]
#[serde(crate = "renamed::serde")]
#[schemars(crate = "renamed::schemars")]
pub struct FooSpec {
    /// The name.
    pub name: String,
}

/// With a string.
#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Bar", namespaced)]
#[informer(crate = "::kubewright")]
pub struct BarSpec {}

fn main() {
    assert_eq!(Foo::indexes().len() + Bar::indexes().len(), 1);
}
