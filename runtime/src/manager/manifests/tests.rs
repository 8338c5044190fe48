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

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "other.dev", version = "v1", kind = "Bar")]
struct BarSpec {
    size: i32,
}

/// A kind without a structural schema.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Torn")]
struct TornSpec {
    choice: Choice,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(tag = "type")]
enum Choice {
    Small { size: i32 },
    Large { size: String },
}

impl CustomKind for Torn {
    const EXTERNAL: bool = false;
    fn definition() -> CustomResourceDefinition {
        crate::definition::definition::<Self>(Self::crd)
    }
    fn indexes() -> &'static [IndexSpec] {
        &[]
    }
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

// After the macro that it uses.
mod versions;

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
custom_kind!(Bar, true, []);

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
async fn rejected_schema_is_reported_with_its_kind_and_all_other_errors() {
    let mut setup = setup();
    setup.kind::<Torn>().kind::<wrong::Wrong>();
    setup.controller("lost", Nothing);
    let errors = errors(&setup).join("\n");
    for expected in [
        "kind Torn (demo.dev/v1) has a schema that Kubernetes does not accept: spec.choice.size has different schemas in the variants Small and Large \
         of enum Choice (an integer, a string), and a schema of a custom resource has one for all: give the field one type in both, or rename it in one",
        "Wrong (wrong.dev/v1): index by_deployment = \"spec.deploymentName\": `spec` has no field `deploymentName`: the fields are size",
        "Wrong (wrong.dev/v1): index by_size = \"spec.size\": the index has a String and the schema an integer",
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
