//! Raw identifiers and reserved words.
#![deny(warnings, missing_docs, unused, unreachable_pub)]

use kubewright::{CustomKind, cache::SharedInformerFactory};
use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind whose plural is a keyword.
#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Type", plural = "match", namespaced)]
#[informer(index(type = "spec.type", r#loop = "spec.loop", by_async = "spec.async"))]
pub struct TypeSpec {
    /// A keyword.
    pub r#type: String,
    /// A keyword.
    pub r#loop: bool,
    /// A keyword.
    pub r#async: i32,
}

/// By their raw names.
pub fn uses(informers: &SharedInformerFactory) -> usize {
    let lister = informers.r#match().lister();
    lister.r#type("a").chain(lister.r#loop(true)).chain(lister.by_async(1)).count()
}

fn main() {
    let names: Vec<_> = Type::indexes().iter().map(|index| index.name).collect();
    assert_eq!(names, ["type", "loop", "by_async"]);
}
