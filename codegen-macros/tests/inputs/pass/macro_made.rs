//! A struct from a `macro_rules!` macro.
#![deny(warnings, missing_docs, unused, unreachable_pub)]

use kubewright::CustomKind;
use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! kind {
    ($kind:literal, $spec:ident, $field:ident: $ty:ty, $path:literal) => {
        /// Made.
        #[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
        #[kube(group = "demo.dev", version = "v1", kind = $kind, namespaced)]
        #[informer(index(by_field = $path, by_written: $ty = $path))]
        pub struct $spec {
            /// Made.
            pub $field: $ty,
        }
    };
}

kind!("Foo", FooSpec, size: i32, "spec.size");

fn main() {
    assert_eq!(Foo::indexes().len(), 2);
}
