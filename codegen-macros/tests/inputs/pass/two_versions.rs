//! Two versions of one kind, in two modules.
#![deny(warnings, missing_docs, unused, unreachable_pub)]

use kubewright::{CustomKind, Kind, cache::SharedInformerFactory};

/// The first.
pub mod v1 {
    use kubewright::prelude::*;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};
    /// Version 1.
    #[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced)]
    #[informer(index(by_name = "spec.name"))]
    pub struct FooSpec {
        /// The name.
        pub name: String,
    }
}

/// The second.
pub mod v2 {
    use kubewright::prelude::*;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};
    /// Version 2.
    #[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "demo.dev", version = "v2", kind = "Foo", namespaced)]
    #[informer(index(by_title = "spec.title"))]
    pub struct FooSpec {
        /// The title.
        pub title: String,
    }
}

/// Both versions in one function.
pub fn uses(informers: &SharedInformerFactory) -> (v1::FooInformer, v2::FooInformer) {
    (v1::FooInformers::foos(informers), v2::FooInformers::foos(informers))
}

fn main() {
    assert_eq!((&*v1::Foo::info().version, &*v2::Foo::info().version), ("v1", "v2"));
    assert_eq!((v1::Foo::indexes()[0].name, v2::Foo::indexes()[0].name), ("by_name", "by_title"));
}
