use super::validate;
use crate::admission::hook_request::{HookOperation, HookRequest};
use crate::admission::policies::{VALIDATING_BINDINGS, VALIDATING_POLICIES};
use crate::admission::{AdmissionReport, HookCache, WebhookContext};
use crate::auth::{AuthorizationMode, Authorizer, User};
use crate::kinds::Catalog;
use crate::status::ApiError;
use crate::storage::Store;
use crate::webhook_client::NoCaller;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A store with a namespace, a policy and a binding.
struct Server {
    store: Store,
    catalog: Catalog,
    cache: HookCache,
}

/// The outcome of a request, with its warnings and audit annotations.
type Outcome = (Result<(), ApiError>, Vec<String>, BTreeMap<String, String>);

impl Server {
    fn new(policy_spec: &Value, binding_spec: &Value) -> Self {
        let (store, catalog) = (Store::default(), Catalog::built_in().unwrap());
        let namespace =
            json!({ "kind": "Namespace", "metadata": { "name": "n", "labels": { "team": "a" } } });
        store.create("namespaces", "n", namespace).unwrap();
        let mut spec = json!({ "matchConstraints": {
            "resourceRules": [{ "operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"] }],
            "namespaceSelector": {}, "objectSelector": {},
        } });
        set(&mut spec, policy_spec);
        let policy = json!({ "metadata": { "name": "p" }, "spec": spec });
        store.create(VALIDATING_POLICIES, "p", policy).unwrap();
        let mut spec = json!({ "policyName": "p", "validationActions": ["Deny"] });
        set(&mut spec, binding_spec);
        let binding = json!({ "metadata": { "name": "b" }, "spec": spec });
        store.create(VALIDATING_BINDINGS, "b", binding).unwrap();
        Self {
            store,
            catalog,
            cache: HookCache::default(),
        }
    }

    /// Creates a ConfigMap, or deletes it if it is null.
    fn request(&self, object: &Value, old: Option<&Value>) -> Outcome {
        let (user, options) = (User::system(), Map::new());
        let Some(hooks) = self.cache.current(&self.store) else {
            return (Ok(()), vec![], BTreeMap::new());
        };
        let report = AdmissionReport::default();
        let context = WebhookContext {
            hooks: &hooks,
            caller: &NoCaller,
            options: &options,
            report: &report,
            deadline: std::time::Instant::now() + std::time::Duration::from_mins(1),
        };
        let request = HookRequest {
            operation: if old.is_some() {
                HookOperation::Delete
            } else {
                HookOperation::Create
            },
            resource: self.catalog.resource("", "v1", "configmaps").unwrap(),
            subresource: "",
            namespace: "n",
            name: "m",
            old,
            user: &user,
            dry_run: false,
            store: &self.store,
            catalog: &self.catalog,
            authorizer: &Authorizer::new(&[AuthorizationMode::AlwaysAllow]),
        };
        let outcome = validate(
            &request,
            Some(object).filter(|object| !object.is_null()),
            &context,
        );
        (outcome, report.take_warnings(), report.take_annotations())
    }

    fn create(&self, data: &Value) -> Outcome {
        let object =
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "m" }, "data": data });
        self.request(&object, None)
    }
}

fn set(spec: &mut Value, fields: &Value) {
    for (key, value) in fields.as_object().unwrap() {
        spec[key] = value.clone();
    }
}

fn validations(expression: &str) -> Value {
    json!({ "validations": [{ "expression": expression, "message": "no" }] })
}

#[cfg(feature = "cel")]
#[test]
fn policies_deny_warn_and_annotate() {
    let policy = json!({
        "validations": [{ "expression": "true" }, { "expression": "object.data.a != 'x'", "message": "no", "reason": "Forbidden" }],
        "auditAnnotations": [
            { "key": "k", "valueExpression": "' a is ' + object.data.a + ' '" },
            { "key": "empty", "valueExpression": "''" },
            { "key": "null", "valueExpression": "null" },
        ],
    });
    let denied = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no";
    let (outcome, warnings, annotations) = Server::new(&policy, &json!({})).create(&json!({ "a": "x" }));
    let error = outcome.unwrap_err();
    assert_eq!((error.code, error.reason.as_ref()), (403, "Forbidden"));
    assert_eq!(error.message, format!(r#"configmaps "m" is forbidden: {denied}"#));
    assert_eq!(error.details.unwrap()["causes"], json!([{ "message": denied }]));
    assert!(warnings.is_empty());
    assert_eq!(
        annotations,
        BTreeMap::from([("p/k".to_owned(), "a is x".to_owned())])
    );
    let actions = json!({ "validationActions": ["Warn", "Audit"] });
    let (outcome, warnings, annotations) = Server::new(&policy, &actions).create(&json!({ "a": "x" }));
    assert!(outcome.is_ok());
    assert_eq!(
        warnings,
        ["Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': no"]
    );
    let failure: Value =
        serde_json::from_str(&annotations["validation.policy.admission.k8s.io/validation_failure"]).unwrap();
    assert_eq!(
        failure,
        json!([{ "message": "no", "policy": "p", "binding": "b", "expressionIndex": 1, "validationActions": ["Warn", "Audit"] }])
    );
    let (outcome, warnings, annotations) = Server::new(&policy, &actions).create(&json!({ "a": "y" }));
    assert!(outcome.is_ok() && warnings.is_empty());
    assert_eq!(annotations.keys().collect::<Vec<_>>(), ["p/k"]);
}

#[cfg(feature = "cel")]
#[test]
fn failure_policy_decides_about_errors_only() {
    for (expression, closed, open) in [
        ("object.data.missing == 'x'", false, true),
        ("object.data.a == 'x'", false, false),
        ("object.data.a == 'y'", true, true),
    ] {
        for (policy, is_allowed) in [("Fail", closed), ("Ignore", open)] {
            let mut spec = validations(expression);
            spec["failurePolicy"] = policy.into();
            let (outcome, ..) = Server::new(&spec, &json!({})).create(&json!({ "a": "y" }));
            assert_eq!(outcome.is_ok(), is_allowed, "{expression} {policy}");
        }
    }
}

#[cfg(feature = "cel")]
#[test]
fn only_matching_requests_are_evaluated() {
    let rule = |key: &str, value: Value| {
        let mut rule =
            json!({ "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"] });
        rule[key] = value;
        json!([rule])
    };
    let nothing = json!({ "namespaceSelector": { "matchLabels": { "team": "b" } } });
    for (constraints, is_evaluated) in [
        (json!({}), true),
        (
            json!({ "resourceRules": rule("resourceNames", json!(["m"])) }),
            true,
        ),
        (
            json!({ "resourceRules": rule("resourceNames", json!(["o"])) }),
            false,
        ),
        (
            json!({ "excludeResourceRules": rule("resourceNames", json!(["m"])) }),
            false,
        ),
        (
            json!({ "excludeResourceRules": rule("operations", json!(["DELETE"])) }),
            true,
        ),
        (
            json!({ "resourceRules": rule("operations", json!(["DELETE"])) }),
            false,
        ),
        (nothing, false),
        (
            json!({ "objectSelector": { "matchLabels": { "l": "x" } } }),
            false,
        ),
    ] {
        // The same constraints of a binding restrict those of the policy.
        let mut binding = json!({ "namespaceSelector": {}, "objectSelector": {} });
        set(&mut binding, &constraints);
        let bound = Server::new(&validations("false"), &json!({ "matchResources": binding }));
        let mut policy = validations("false");
        policy["matchConstraints"] = json!({ "resourceRules": rule("scope", json!("*")) });
        set(&mut policy["matchConstraints"], &binding);
        for server in [bound, Server::new(&policy, &json!({}))] {
            let (outcome, ..) = server.create(&json!({}));
            assert_eq!(outcome.is_err(), is_evaluated, "{constraints}");
        }
    }
}

#[cfg(feature = "cel")]
#[test]
fn deletions_have_only_an_old_object() {
    let server = Server::new(
        &validations(
            "object == null && oldObject.data.a == 'x' && namespaceObject.metadata.labels.team == 'a'",
        ),
        &json!({}),
    );
    let old = json!({ "metadata": { "name": "m" }, "data": { "a": "x" } });
    assert!(server.request(&Value::Null, Some(&old)).0.is_ok());
    let old = json!({ "metadata": { "name": "m" }, "data": { "a": "y" } });
    assert!(server.request(&Value::Null, Some(&old)).0.is_err());
}

#[cfg(feature = "cel")]
#[test]
fn params_are_found_by_name_and_by_labels() {
    let mut policy = validations("params == null || object.data.a != params.data.not");
    policy["paramKind"] = json!({ "apiVersion": "v1", "kind": "ConfigMap" });
    let param = |name: &str, not: &str| json!({ "metadata": { "name": name, "labels": { "l": "x" } }, "data": { "not": not } });
    for (reference, denied, allowed) in [
        (
            json!({ "name": "one", "parameterNotFoundAction": "Deny" }),
            "1",
            "2",
        ),
        (json!({ "selector": { "matchLabels": { "l": "x" } } }), "2", "3"),
        (json!({ "selector": {}, "namespace": "n" }), "1", "3"),
    ] {
        let server = Server::new(&policy, &json!({ "paramRef": reference }));
        for (name, not) in [("one", "1"), ("two", "2")] {
            server
                .store
                .create("configmaps", &format!("n/{name}"), param(name, not))
                .unwrap();
        }
        assert!(server.create(&json!({ "a": denied })).0.is_err(), "{reference}");
        assert!(server.create(&json!({ "a": allowed })).0.is_ok(), "{reference}");
    }
    for (kind, reference, why) in [
        (
            "ConfigMap",
            json!({ "name": "none", "parameterNotFoundAction": "Deny" }),
            "failed to configure binding: no params found",
        ),
        (
            "Node",
            json!({ "name": "none", "namespace": "n" }),
            "failed to configure binding: paramRef.namespace must not be provided",
        ),
        (
            "Nope",
            json!({ "name": "none" }),
            "failed to configure policy: failed to find resource referenced by paramKind: '/v1, Kind=Nope'",
        ),
    ] {
        policy["paramKind"]["kind"] = kind.into();
        let (outcome, ..) =
            Server::new(&policy, &json!({ "paramRef": reference })).create(&json!({ "a": "1" }));
        assert!(outcome.unwrap_err().message.contains(why), "{kind}");
    }
    policy["paramKind"]["kind"] = "ConfigMap".into();
    for reference in [
        json!({ "name": "none", "parameterNotFoundAction": "Allow" }),
        Value::Null,
    ] {
        let (outcome, ..) =
            Server::new(&policy, &json!({ "paramRef": reference })).create(&json!({ "a": "1" }));
        assert!(outcome.is_ok(), "{reference}");
    }
}

#[test]
fn policies_are_compiled_when_they_change() {
    let server = Server::new(&validations("false"), &json!({}));
    let first = server.cache.current(&server.store).unwrap();
    assert_eq!(first.validating_policies.len(), 1);
    server
        .store
        .create("configmaps", "n/m", json!({ "metadata": { "name": "m" } }))
        .unwrap();
    assert!(Arc::ptr_eq(&first, &server.cache.current(&server.store).unwrap()));
    let other = json!({ "metadata": { "name": "c" }, "spec": { "policyName": "none", "validationActions": ["Deny"] } });
    server.store.create(VALIDATING_BINDINGS, "c", other).unwrap();
    let second = server.cache.current(&server.store).unwrap();
    assert!(!Arc::ptr_eq(&first, &second));
    assert_eq!(second.validating_policies.len(), 1);
    let bound = server.store.get(VALIDATING_BINDINGS, "b").unwrap();
    server.store.delete(VALIDATING_BINDINGS, "b", &bound).unwrap();
    // A policy that is not bound costs nothing, and neither does a server without policies.
    assert!(server.cache.current(&server.store).is_none());
    assert!(HookCache::default().current(&Store::default()).is_none());
}
