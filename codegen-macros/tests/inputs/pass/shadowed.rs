//! Prelude names that the module shadows.
#![deny(warnings, missing_docs, unused, unreachable_pub)]

mod api {
    use kubewright::{CustomResource, Informer};
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    // Only names that kube-derive, serde and schemars do not use: their code needs the other prelude names.
    #[allow(dead_code)]
    pub(crate) trait AsRef {}
    #[allow(dead_code)]
    pub(crate) trait Deref {}
    #[allow(dead_code)]
    pub(crate) struct Lister;
    #[allow(dead_code)]
    pub(crate) struct SharedInformer;

    #[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced)]
    #[informer(index(by_name = "spec.name", by_size = "spec.size"))]
    pub(crate) struct FooSpec {
        pub(crate) name: String,
        pub(crate) size: u8,
    }
}

fn main() {
    let foo = api::Foo::new("foo", api::FooSpec { name: "a".into(), size: 1 });
    assert_eq!((foo.spec.name.as_str(), foo.spec.size), ("a", 1));
}
