//! The versions of one kind: one definition, whether a webhook converts, and what is refused.

use super::*;

mod v1 {
    use super::*;

    #[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced, storage = false)]
    #[serde(rename_all = "camelCase")]
    pub(super) struct FooSpec {
        /// Other words change nothing.
        pub(super) deployment_name: String,
    }
}

mod v2 {
    use super::*;

    #[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "demo.dev", version = "v2", kind = "Foo", namespaced, storage = false)]
    #[serde(rename_all = "camelCase")]
    pub(super) struct FooSpec {
        pub(super) deployment_name: String,
        pub(super) size: Option<i32>,
    }
}

/// The same version of the same kind as the other `Foo`.
mod twin {
    use super::*;

    #[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "demo.dev", version = "v1alpha1", kind = "Foo", namespaced)]
    pub(super) struct FooSpec {
        pub(super) size: i32,
    }
}

mod stored {
    use super::*;

    #[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced)]
    pub(super) struct FooSpec {
        pub(super) size: i32,
    }
}

custom_kind!(v1::Foo, false, []);
custom_kind!(v2::Foo, false, []);
custom_kind!(twin::Foo, false, []);
custom_kind!(stored::Foo, false, []);

#[tokio::test]
async fn versions_of_a_kind_are_merged_into_one_definition() {
    let mut setup = setup();
    setup.kind::<Foo>().kind::<v1::Foo>();
    let document = document(&setup);
    let kinds = document["kinds"].as_array().unwrap();
    assert_eq!(kinds.len(), 1);
    assert_eq!(
        (&kinds[0]["version"], &kinds[0]["versions"]),
        (&json!("v1alpha1"), &json!(["v1", "v1alpha1"]))
    );
    let versions = kinds[0]["crd"]["spec"]["versions"].as_array().unwrap();
    let stored: Vec<_> = versions
        .iter()
        .map(|version| (&version["name"], &version["storage"]))
        .collect();
    assert_eq!(
        stored,
        [(&json!("v1"), &json!(false)), (&json!("v1alpha1"), &json!(true))]
    );
}

#[tokio::test]
async fn versions_that_would_lose_data_are_errors() {
    let mut differing = setup();
    differing.kind::<Foo>().kind::<v2::Foo>();
    assert_eq!(
        errors(&differing),
        [
            "the versions v2 and v1alpha1 of Foo (demo.dev) have different schemas at `spec.size`, and nothing converts between them: the \
             API server would delete from stored objects what the other version lacks; register them with `setup.versions`, or give both the same schema"
        ]
    );
    let mut stored = setup();
    stored.kind::<Foo>().kind::<stored::Foo>();
    assert_eq!(
        errors(&stored),
        [
            "the versions v1, v1alpha1 of Foo (demo.dev) are all marked as stored, and one can be: write `#[kube(storage = false)]` on the \
             others"
        ]
    );
    let mut twins = setup();
    twins.kind::<Foo>().kind::<twin::Foo>().kind::<Foo>();
    let errors = errors(&twins);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(
        errors[0].contains("manifests::tests::Foo and ")
            && errors[0].contains("::twin::Foo both define Foo (demo.dev/v1alpha1)"),
        "{errors:?}"
    );
}

mod hub {
    use super::*;

    /// Also with `storage`, which is for versions without conversion.
    #[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(
        group = "demo.dev",
        version = "v3",
        kind = "Foo",
        namespaced,
        status = "FooStatus"
    )]
    pub(super) struct FooSpec {
        pub(super) size: i32,
    }

    #[derive(Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[convert(hub = FooStatus)]
    pub(super) struct FooStatus {
        pub(super) phase: String,
    }
}

mod older {
    use super::*;

    #[derive(CustomResource, Informer, Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(
        group = "demo.dev",
        version = "v2beta1",
        kind = "Foo",
        namespaced,
        status = "hub::FooStatus"
    )]
    #[kube(deprecated = "use v3")]
    #[convert(hub = hub::FooSpec)]
    pub(super) struct FooSpec {
        #[convert(renamed = "size")]
        pub(super) width: i32,
    }
}

mod equal {
    use super::*;

    #[derive(CustomResource, Informer, Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(
        group = "demo.dev",
        version = "v3beta1",
        kind = "Foo",
        namespaced,
        status = "hub::FooStatus"
    )]
    #[convert(hub = hub::FooSpec)]
    pub(super) struct FooSpec {
        pub(super) size: i32,
    }
}

#[tokio::test]
async fn converted_versions_are_one_definition_with_a_webhook() {
    let mut setup = setup();
    setup.versions::<hub::Foo>().other::<older::Foo>();
    let kinds = document(&setup)["kinds"].clone();
    assert_eq!(kinds.as_array().unwrap().len(), 1);
    assert_eq!(
        (&kinds[0]["version"], &kinds[0]["versions"]),
        (&json!("v3"), &json!(["v3", "v2beta1"]))
    );
    let spec = &kinds[0]["crd"]["spec"];
    let versions: Vec<_> = spec["versions"].as_array().unwrap().iter().collect();
    let facts = |version: &Value| {
        json!([
            version["name"],
            version["storage"],
            version["served"],
            version["deprecated"],
            version["deprecationWarning"]
        ])
    };
    assert_eq!(
        versions.into_iter().map(facts).collect::<Vec<_>>(),
        [
            json!(["v3", true, true, null, null]),
            json!(["v2beta1", false, true, true, "use v3"])
        ]
    );
    assert_eq!(
        spec["conversion"],
        json!({"strategy": "Webhook", "webhook": {
            "clientConfig": {"service": {"name": "shop-webhooks", "namespace": "shop-system", "path": "/convert", "port": 443}},
            "conversionReviewVersions": ["v1"],
        }})
    );
}

#[tokio::test]
async fn stored_version_can_be_another_than_the_hub() {
    let mut setup = setup();
    setup.informers().custom::<hub::Foo>();
    setup
        .versions::<hub::Foo>()
        .other::<older::Foo>()
        .stored::<older::Foo>();
    let kinds = document(&setup)["kinds"].clone();
    assert_eq!(kinds[0]["version"], "v2beta1");
    let versions = kinds[0]["crd"]["spec"]["versions"].as_array().unwrap();
    let versions: Vec<_> = versions
        .iter()
        .map(|version| (&version["name"], &version["storage"]))
        .collect();
    assert_eq!(
        versions,
        [(&json!("v3"), &json!(false)), (&json!("v2beta1"), &json!(true))],
        "a storage migration keeps the order"
    );
}

#[tokio::test]
async fn versions_with_equal_schemas_need_no_webhook() {
    let mut setup = setup();
    setup.versions::<hub::Foo>().other::<equal::Foo>();
    let kinds = document(&setup)["kinds"].clone();
    assert_eq!(kinds[0]["versions"], json!(["v3", "v3beta1"]));
    assert_eq!(kinds[0]["crd"]["spec"]["conversion"], Value::Null);
}

#[tokio::test]
async fn versions_that_do_not_fit_are_errors() {
    let mut twice = setup();
    twice
        .versions::<hub::Foo>()
        .other::<older::Foo>()
        .other::<older::Foo>()
        .stored::<Bar>()
        .stored::<equal::Foo>();
    twice.versions::<hub::Foo>();
    let texts = errors(&twice).join("\n");
    for expected in [
        "version v2beta1 of Foo (demo.dev) is registered twice: remove one `.other`",
        "tests::Bar is Bar (other.dev), not a version of Foo (demo.dev)",
        "Foo (demo.dev) cannot be stored in version v3beta1, which is not registered: add `.other` with its type",
        "`versions` is called twice for Foo (demo.dev)",
    ] {
        assert!(texts.contains(expected), "{expected} is not in {texts}");
    }
    let mut unconverted = setup();
    unconverted.versions::<hub::Foo>().other::<older::Foo>();
    unconverted.kind::<equal::Foo>();
    assert_eq!(
        errors(&unconverted),
        [
            "version v3beta1 of Foo (demo.dev) is registered and not converted: add `.other` with its type to `setup.versions`, or remove it"
        ]
    );
}

#[tokio::test]
async fn versions_with_different_plurals_are_an_error() {
    let mut setup = setup();
    setup.kind::<v1::Foo>().kind::<wrong::Foo>();
    let errors = errors(&setup);
    assert_eq!(errors.len(), 1);
    assert!(
        errors[0].contains("v2, v1 of Foo (demo.dev)") && errors[0].contains("plural"),
        "{errors:?}"
    );
}
