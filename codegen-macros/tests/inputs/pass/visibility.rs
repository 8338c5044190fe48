//! Generated items have the struct's visibility, and are not reported as unused.
#![deny(warnings, missing_docs, unused, unreachable_pub)]

use kubewright::CustomKind;

mod api {
    use kubewright::prelude::*;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};
    #[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "demo.dev", version = "v1", kind = "Seen", namespaced)]
    #[informer(index(by_name = "spec.name", never_asked = "spec.name"))]
    pub(crate) struct SeenSpec {
        pub(crate) name: String,
    }

    #[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "demo.dev", version = "v1", kind = "Near", namespaced)]
    #[informer(index(by_name = "spec.name"))]
    pub(in crate::api) struct NearSpec {
        name: String,
    }

    #[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "demo.dev", version = "v1", kind = "Private", namespaced)]
    #[informer(index(by_name = "spec.name"))]
    struct PrivateSpec {
        name: String,
    }

    pub(crate) fn names() -> [String; 2] {
        [Near::new("near", NearSpec { name: "a".into() }).spec.name, Private::new("private", PrivateSpec { name: "b".into() }).spec.name]
    }
}

fn main() {
    let lister: Option<api::SeenLister> = None;
    assert!(lister.is_none_or(|seen| seen.by_name("x").count() == 0));
    assert_eq!(api::Seen::indexes()[0].name, "by_name");
    assert_eq!(api::Seen::new("seen", api::SeenSpec { name: "c".into() }).spec.name, "c");
    assert_eq!(api::names(), ["a", "b"]);
}
