//! The manifests of a small operator.

use k8s_openapi::{
    api::{apps::v1::Deployment, core::v1::Node, rbac::v1::PolicyRule},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{CustomResource, CustomResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::*;
use crate::{
    Convert, CustomKind, Informer, NamespacedName,
    cache::{IndexSpec, IndexType},
    client::{All, Apply, Connection},
    controller::{Action, FixedArgs, ReconcileError, Reconciler},
    events::Recorder,
    webhooks::Validator,
};

mod conversion_rules;

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1alpha1", kind = "Foo", namespaced)]
#[serde(rename_all = "camelCase")]
struct FooSpec {
    deployment_name: String,
}

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

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "other.dev", version = "v1", kind = "Bar")]
struct BarSpec {
    size: i32,
}

/// A schema that kube rejects: variants with and without data in one enum.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Torn")]
struct TornSpec {
    choice: Choice,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
enum Choice {
    /// Nothing.
    Nothing,
    /// Something.
    Something { size: i32 },
}

macro_rules! custom_kind {
    ($kind:ty, $external:literal, [$($index:expr),*]) => {
        impl CustomKind for $kind {
            const EXTERNAL: bool = $external;
            fn definition() -> CustomResourceDefinition {
                Self::crd()
            }
            fn indexes() -> &'static [IndexSpec] {
                &[$($index),*]
            }
        }
    };
}

const BY_DEPLOYMENT: IndexSpec = IndexSpec {
    name: "by_deployment",
    path: "spec.deploymentName",
    value_type: IndexType::String,
};
const BY_SIZE: IndexSpec = IndexSpec {
    name: "by_size",
    path: "spec.size",
    value_type: IndexType::String,
};

custom_kind!(Foo, false, [BY_DEPLOYMENT]);
// The path is valid in the other version.
custom_kind!(v1::Foo, false, []);
custom_kind!(v2::Foo, false, []);
custom_kind!(twin::Foo, false, []);
custom_kind!(stored::Foo, false, []);
custom_kind!(Bar, true, []);
custom_kind!(Torn, false, []);

mod wrong {
    use super::*;

    #[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "wrong.dev", version = "v1", kind = "Wrong")]
    pub(super) struct WrongSpec {
        pub(super) size: i32,
    }
    custom_kind!(Wrong, false, [BY_DEPLOYMENT, BY_SIZE]);

    #[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "demo.dev", version = "v2", kind = "Foo", plural = "fooz", namespaced)]
    pub(super) struct OtherSpec {
        pub(super) size: i32,
    }
    custom_kind!(Foo, false, []);
}

struct Nothing;

impl Reconciler for Nothing {
    async fn reconcile(&self, _key: &NamespacedName) -> Result<Action, ReconcileError> {
        Ok(Action::await_change())
    }
}

fn setup() -> Setup {
    Setup::new(
        "shop",
        Connection::late(),
        Recorder::pipeline("shop").0,
        FixedArgs::default(),
    )
}

fn document(setup: &Setup) -> Value {
    serde_json::from_str(&Manifests::of(setup).unwrap().to_json().unwrap()).unwrap()
}

fn errors(setup: &Setup) -> Vec<String> {
    Manifests::of(setup)
        .unwrap_err()
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[tokio::test]
async fn empty_operator_has_the_permissions_for_leader_election_and_metrics() {
    let create = |unit: &str, group: &str, resource: &str| {
        json!({
            "unit": unit, "scope": "cluster", "apiGroups": [group], "resources": [resource], "verbs": ["create"],
            "why": "metrics authentication",
        })
    };
    assert_eq!(
        document(&setup()),
        json!({
            "manifestsVersion": 1, "kubewrightVersion": env!("CARGO_PKG_VERSION"), "operator": "shop", "kinds": [], "warnings": [],
            "permissions": [{
                "unit": "leader election", "scope": "operator", "apiGroups": ["coordination.k8s.io"],
                "resources": ["leases"], "verbs": ["get", "create", "update"], "why": "leader election",
            },
            create("metrics TokenReview", "authentication.k8s.io", "tokenreviews"),
            create("metrics SubjectAccessReview", "authorization.k8s.io", "subjectaccessreviews")],
        })
    );
}

#[tokio::test]
async fn prints_kinds_with_and_without_informer_and_no_external_definitions() {
    let mut setup = setup();
    let foos = setup.informers().custom::<Foo>();
    let deployments = setup.informers().of::<Deployment>();
    setup.informers().of::<Node>();
    setup.client::<Deployment, (Apply,)>();
    setup.kind::<Foo>().kind::<Bar>();
    setup.recorder();
    setup
        .controller("foo", Nothing)
        .reconciles(&foos)
        .owns(&deployments);

    let document = document(&setup);
    let kinds = document["kinds"].as_array().unwrap();
    assert_eq!(kinds.len(), 2);
    assert_eq!(kinds[0]["crd"]["metadata"]["name"], "foos.demo.dev");
    let schema = &kinds[0]["crd"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    assert_eq!(
        schema["properties"]["spec"]["properties"]["deploymentName"]["type"],
        "string"
    );
    assert_eq!(
        kinds[1],
        json!({
            "group": "other.dev", "version": "v1", "versions": ["v1"], "kind": "Bar", "plural": "bars", "namespaced": false,
            "external": true,
        })
    );
    let permissions = document["permissions"].as_array().unwrap();
    let units: Vec<_> = permissions
        .iter()
        .map(|permission| {
            (
                permission["unit"].as_str().unwrap(),
                permission["scope"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        units,
        [
            ("client Deployment Apply", "watched"),
            ("events", "watched"),
            ("informer Deployment", "watched"),
            ("informer Foo", "watched"),
            ("informer Node", "cluster"),
            ("owner Foo", "watched"),
            ("leader election", "operator"),
            ("metrics TokenReview", "cluster"),
            ("metrics SubjectAccessReview", "cluster"),
        ]
    );
}

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
        [(&json!("v1alpha1"), &json!(true)), (&json!("v1"), &json!(false))]
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
    let stored: Vec<_> = versions
        .iter()
        .filter(|version| version["storage"] == true)
        .map(|version| &version["name"])
        .collect();
    assert_eq!(stored, ["v2beta1"]);
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

#[tokio::test]
async fn rejected_schema_is_reported_with_its_kind_and_all_other_errors() {
    let mut setup = setup();
    setup.kind::<Torn>().kind::<wrong::Wrong>();
    setup.controller("lost", Nothing);
    let errors = errors(&setup).join("\n");
    for expected in [
        "kind Torn (demo.dev/v1) has a schema that Kubernetes does not accept: ",
        "kind Wrong: index by_deployment = \"spec.deploymentName\": `spec` has no field `deploymentName`: the fields are size",
        "kind Wrong: index by_size = \"spec.size\": the index has a String and the schema an integer",
        "controller \"lost\" has no primary kind",
    ] {
        assert!(errors.contains(expected), "{expected} is not in {errors}");
    }
}

#[tokio::test]
async fn client_with_all_verbs_is_a_warning() {
    let mut setup = setup();
    setup.client::<Deployment, All>();
    let warnings = document(&setup)["warnings"].to_string();
    assert!(
        warnings.contains("a client of Deployment has `All` verbs"),
        "{warnings}"
    );
}

#[tokio::test]
async fn yaml_output_has_definitions_and_roles() {
    let mut setup = setup();
    setup.kind::<Foo>();
    setup.client::<Deployment, (Apply,)>();
    let yaml = Manifests::of(&setup).unwrap().to_yaml().unwrap();
    let kinds: Vec<&str> = yaml.lines().filter(|line| line.starts_with("kind: ")).collect();
    assert_eq!(
        kinds,
        [
            "kind: CustomResourceDefinition",
            "kind: ClusterRole",
            "kind: Role"
        ]
    );
    assert_eq!(yaml.matches("---\n").count(), 3);
}

#[tokio::test]
async fn each_component_has_a_role_for_its_clients() {
    let mut setup = setup();
    setup.component("web-controller", |setup| {
        let deployments = setup.informers().of::<Deployment>();
        setup.client::<Deployment, (Apply,)>();
        setup.recorder();
        setup
            .controller("web-controller", Nothing)
            .reconciles(&deployments);
    });
    setup.component("node-controller", |setup| {
        setup.needs(PolicyRule {
            api_groups: Some(vec![String::new()]),
            resources: Some(vec!["nodes".to_owned()]),
            verbs: vec!["delete".to_owned()],
            ..PolicyRule::default()
        });
    });
    let manifests = Manifests::of(&setup).unwrap();
    let units: Vec<_> = manifests
        .permissions
        .iter()
        .map(|permission| (&*permission.unit, permission.component.as_deref()))
        .collect();
    assert_eq!(
        units,
        [
            ("client Deployment Apply", Some("web-controller")),
            ("events", None),
            ("informer Deployment", None),
            ("needs delete nodes", Some("node-controller")),
            ("leader election", None),
            ("metrics TokenReview", None),
            ("metrics SubjectAccessReview", None),
        ]
    );
    let yaml = manifests.to_yaml().unwrap();
    let names: Vec<&str> = yaml.lines().filter(|line| line.starts_with("  name: ")).collect();
    assert_eq!(
        names,
        [
            "  name: shop",
            "  name: shop",
            "  name: shop:node-controller",
            "  name: shop:web-controller"
        ]
    );
}

#[tokio::test]
async fn nothing_can_wait_for_a_runnable_of_a_component() {
    let mut setup = setup();
    setup.component("web", |setup| {
        setup.runnable("sweep", async |_stop| Ok(())).before_controllers();
    });
    setup.component("web", |_| ());
    assert_eq!(
        errors(&setup),
        [
            "two components are called \"web\": names must differ",
            "runnable \"sweep\" of component \"web\" has an order: leave out `group`, `before_controllers` and `ready_when`, or register it \
             outside of the component"
        ]
    );
}

struct AcceptAll;

impl Validator<Deployment> for AcceptAll {}

#[tokio::test]
async fn webhook_configurations_and_their_service_are_printed() {
    let mut setup = setup();
    let without = serde_json::to_value(Manifests::of(&setup).unwrap()).unwrap();
    assert_eq!(without.get("webhooks"), None);
    setup.validator::<Deployment>(AcceptAll);
    let manifests = Manifests::of(&setup).unwrap();
    let json = serde_json::to_value(&manifests).unwrap();
    assert_eq!(
        json["webhooks"]["validating"]["webhooks"][0]["name"],
        "validate-v1-deployment.apps.shop"
    );
    assert_eq!(json["webhooks"]["service"]["metadata"]["name"], "shop-webhooks");
    let certificate: Vec<_> = manifests.permissions[manifests.permissions.len() - 2..]
        .iter()
        .map(|permission| {
            (
                &*permission.unit,
                &permission.resource_names[..],
                &permission.verbs[..],
            )
        })
        .collect();
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    assert_eq!(
        certificate,
        [
            (
                "webhook certificate",
                &texts(&["shop-webhooks"])[..],
                &texts(&["get", "update", "watch"])[..]
            ),
            (
                "CA bundle ValidatingWebhookConfiguration",
                &texts(&["shop"])[..],
                &texts(&["get", "patch"])[..]
            ),
        ]
    );
    // Serving reviews with a given certificate needs no permission.
    let given = serde_json::to_value(Manifests::with_certificate(&setup, false).unwrap()).unwrap();
    assert_eq!(given["permissions"], without["permissions"]);
    assert_eq!(given["webhooks"].get("secret"), None);
    let yaml = manifests.to_yaml().unwrap();
    let kinds = yaml.lines().filter(|line| line.starts_with("kind: ")).skip(2);
    assert_eq!(
        kinds.collect::<Vec<_>>(),
        [
            "kind: ValidatingWebhookConfiguration",
            "kind: Service",
            "kind: Secret"
        ]
    );
}
