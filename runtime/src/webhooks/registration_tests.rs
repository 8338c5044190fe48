//! Options of webhooks, mistakes in them, and the configurations.

use k8s_openapi::api::{
    admissionregistration::v1::ValidatingWebhookConfiguration,
    apps::v1::Deployment,
    coordination::v1::Lease,
    core::v1::{Namespace, Pod},
};
use serde_json::{Value, json};

use super::*;
use crate::{
    Kind,
    client::Connection,
    controller::{FixedArgs, Setup},
    events::Recorder,
    testing::ScriptedApi,
    webhooks::{AdmissionError, AdmissionRequest, Defaulter, Validator},
};

struct Accept;

impl<K: Kind> Validator<K> for Accept {}

impl<K: Kind> Defaulter<K> for Accept {
    async fn set_defaults(&self, _object: &mut K, _request: &AdmissionRequest) -> Result<(), AdmissionError> {
        Ok(())
    }
}

type Register = fn(&mut Setup) -> &mut WebhookBuilder;

fn setup(register: impl FnOnce(&mut Setup)) -> Setup {
    let connection: Connection = ScriptedApi::new().connection();
    let recorder = Recorder::pipeline("shop").0;
    let mut setup = Setup::new("shop", connection, recorder, FixedArgs::new(Vec::<String>::new()));
    register(&mut setup);
    setup
}

fn errors(register: impl FnOnce(&mut Setup)) -> Vec<String> {
    let errors = setup(register).errors();
    errors.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn configurations_have_safe_defaults() {
    let setup = setup(|setup| {
        setup.validator::<Pod>(Accept);
        setup.defaulter::<Deployment>(Accept);
    });
    let manifests = json!(setup.webhook_manifests());
    let not_own = json!({"matchExpressions": [
        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["shop-system"]},
    ]});
    let service = |path: &str| json!({"service": {"name": "shop-webhooks", "namespace": "shop-system", "port": 443, "path": path}});
    assert_eq!(
        manifests["validating"],
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "shop"},
            "webhooks": [{
                "name": "validate-v1-pod.core.shop", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "clientConfig": service("/validate--v1-pod"), "failurePolicy": "Ignore", "matchPolicy": "Equivalent",
                "namespaceSelector": not_own, "timeoutSeconds": 10,
                "rules": [{
                    "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE", "DELETE"],
                    "resources": ["pods"], "scope": "Namespaced",
                }],
            }],
        })
    );
    assert_eq!(
        manifests["mutating"]["webhooks"],
        json!([{
            "name": "mutate-v1-deployment.apps.shop", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": service("/mutate-apps-v1-deployment"), "failurePolicy": "Ignore", "matchPolicy": "Equivalent",
            "namespaceSelector": not_own, "reinvocationPolicy": "Never", "timeoutSeconds": 10,
            "rules": [{
                "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
                "resources": ["deployments"], "scope": "Namespaced",
            }],
        }])
    );
    assert_eq!(
        manifests["service"],
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "shop-webhooks", "namespace": "shop-system"},
            "spec": {
                "selector": {"app.kubernetes.io/name": "shop"},
                "ports": [{"name": "webhooks", "port": 443, "targetPort": "webhooks"}],
            },
        })
    );
}

#[tokio::test]
async fn options_are_in_the_configuration() {
    let labels = |key: &str| LabelSelector {
        match_labels: Some([(key.to_owned(), "yes".to_owned())].into()),
        ..LabelSelector::default()
    };
    let setup = setup(|setup| {
        setup
            .defaulter::<Pod>(Accept)
            .operations([Operation::Update])
            .subresources(["", "resize"])
            .fail_closed()
            .match_condition("not-nodes", "!('system:nodes' in request.userInfo.groups)")
            .match_exact()
            .side_effects_none_on_dry_run()
            .timeout(Duration::from_secs(3))
            .reinvoke_if_needed()
            .namespace_selector(labels("team"))
            .object_selector(labels("reviewed"));
    });
    let mut manifests = json!(setup.webhook_manifests());
    assert_eq!(manifests.get("validating"), None);
    let mut webhook = manifests["mutating"]["webhooks"][0].take();
    let webhook = webhook.as_object_mut().unwrap();
    for field in ["name", "clientConfig", "admissionReviewVersions"] {
        webhook.remove(field).unwrap();
    }
    assert_eq!(
        Value::Object(webhook.clone()),
        json!({
            "failurePolicy": "Fail", "matchPolicy": "Exact", "sideEffects": "NoneOnDryRun", "timeoutSeconds": 3,
            "reinvocationPolicy": "IfNeeded", "objectSelector": {"matchLabels": {"reviewed": "yes"}},
            "matchConditions": [{"name": "not-nodes", "expression": "!('system:nodes' in request.userInfo.groups)"}],
            "namespaceSelector": {"matchLabels": {"team": "yes"}, "matchExpressions": [
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["shop-system"]},
            ]},
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"],
                "resources": ["pods", "pods/resize"], "scope": "Namespaced",
            }],
        })
    );
}

#[tokio::test]
async fn operator_without_webhooks_has_no_configurations() {
    assert!(setup(|_| {}).webhook_manifests().is_none());
}

#[tokio::test]
async fn kinds_and_groups_make_the_names() {
    let setup = setup(|setup| {
        setup.validator::<Namespace>(Accept);
        setup.validator::<Lease>(Accept);
        setup.validator::<Deployment>(Accept);
    });
    let names: Vec<String> = setup
        .webhooks()
        .all
        .iter()
        .map(|webhook| webhook.name("shop"))
        .collect();
    let expected = [
        "validate-v1-namespace.core.shop",
        "validate-v1-lease.coordination.k8s.io",
        "validate-v1-deployment.apps.shop",
    ];
    assert_eq!(names, expected);
}

#[tokio::test]
async fn mistakes_are_registration_errors() {
    assert_eq!(
        errors(|setup| {
            setup.validator::<Pod>(Accept);
            setup.defaulter::<Pod>(Accept);
            setup.validator::<Pod>(Accept);
        }),
        ["validator of Pod (v1): it is registered twice: call both from one"]
    );
    let cases: [(Register, &str); 7] = [
        (
            |setup| setup.validator::<Lease>(Accept),
            "validator of Lease (coordination.k8s.io/v1): leases cannot have webhooks",
        ),
        (
            |setup| setup.validator::<ValidatingWebhookConfiguration>(Accept),
            "validator of ValidatingWebhookConfiguration (admissionregistration.k8s.io/v1): the API server calls no webhooks",
        ),
        (
            |setup| setup.validator::<Pod>(Accept).operations([]),
            "validator of Pod (v1): it has no operations",
        ),
        (
            |setup| setup.validator::<Pod>(Accept).subresources([""; 0]),
            "validator of Pod (v1): `.subresources(…)` names none",
        ),
        (
            |setup| setup.defaulter::<Pod>(Accept).operations([Operation::Delete]),
            "defaulter of Pod (v1): a deletion has no object to change",
        ),
        (
            |setup| setup.validator::<Pod>(Accept).reinvoke_if_needed(),
            "validator of Pod (v1): only defaulters are reinvoked",
        ),
        (
            |setup| {
                setup
                    .validator::<Pod>(Accept)
                    .timeout(Duration::from_millis(1500))
            },
            "validator of Pod (v1): the timeout of 1.5s is not possible: use whole seconds from 1 to 30",
        ),
    ];
    for (register, expected) in cases {
        let found = errors(|setup| {
            register(setup);
        });
        assert!(
            found.len() == 1 && found[0].starts_with(expected),
            "{found:?} is not {expected}"
        );
    }
}

#[tokio::test]
async fn two_kinds_with_one_path_are_refused() {
    let kind = |group: &'static str| ApiResource {
        group: group.into(),
        ..Pod::info()
    };
    let handler = AdmissionHandler::validating::<Pod>(Accept);
    let mut webhooks = Webhooks::default();
    for group in ["a.b", "a-b"] {
        webhooks.add(WebhookBuilder::new(false, kind(group), handler.clone()));
    }
    let errors: Vec<String> = webhooks.errors().iter().map(ToString::to_string).collect();
    let expected = "validator of Pod (a-b/v1): its path /validate-a-b-v1-pod is also that of pods.a.b: rename one of the kinds or groups";
    assert_eq!(errors, [expected]);
}
