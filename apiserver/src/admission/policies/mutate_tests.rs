use super::{MUTATING_BINDINGS, MUTATING_POLICIES, MutatingPolicies};
use crate::admission::hook_request::{HookOperation, HookRequest};
use crate::admission::{AdmissionReport, HookCache, WebhookContext};
use crate::auth::{AuthorizationMode, Authorizer, User};
use crate::kinds::Catalog;
use crate::status::ApiError;
use crate::storage::Store;
use crate::webhook_client::NoCaller;
use serde_json::{Map, Value, json};

/// A mutation by an apply configuration.
fn merge(expression: &str) -> Value {
    json!({ "patchType": "ApplyConfiguration", "applyConfiguration": { "expression": expression } })
}

/// A mutation by a JSON patch.
fn patch(expression: &str) -> Value {
    json!({ "patchType": "JSONPatch", "jsonPatch": { "expression": expression } })
}

fn policy(mutations: &[Value], fields: &Value) -> Value {
    let mut spec = json!({
        "matchConstraints": {
            "resourceRules": [{ "operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"] }],
            "namespaceSelector": {}, "objectSelector": {},
        },
        "mutations": mutations, "failurePolicy": "Fail", "reinvocationPolicy": "Never",
    });
    for (key, value) in fields.as_object().unwrap() {
        spec[key] = value.clone();
    }
    spec
}

/// Creates a ConfigMap under policies, and returns its data and labels. All plugins run again as in a write.
fn create(policies: &[Value]) -> Result<Value, ApiError> {
    let (store, catalog, cache) = (
        Store::default(),
        Catalog::built_in().unwrap(),
        HookCache::default(),
    );
    store
        .create(
            "namespaces",
            "n",
            json!({ "kind": "Namespace", "metadata": { "name": "n" } }),
        )
        .unwrap();
    for (at, spec) in policies.iter().enumerate() {
        let name = format!("p{at}");
        let metadata = json!({ "name": name });
        store
            .create(
                MUTATING_POLICIES,
                &name,
                json!({ "metadata": metadata, "spec": spec }),
            )
            .unwrap();
        let binding = json!({ "metadata": { "name": "b" }, "spec": { "policyName": name } });
        store.create(MUTATING_BINDINGS, &name, binding).unwrap();
    }
    let hooks = cache.current(&store).unwrap();
    let (user, options, report) = (User::system(), Map::new(), AdmissionReport::default());
    let context = WebhookContext {
        hooks: &hooks,
        caller: &NoCaller,
        options: &options,
        report: &report,
        deadline: std::time::Instant::now() + std::time::Duration::from_mins(1),
    };
    let request = HookRequest {
        operation: HookOperation::Create,
        resource: catalog.resource("", "v1", "configmaps").unwrap(),
        subresource: "",
        namespace: "n",
        name: "m",
        old: None,
        user: &user,
        dry_run: false,
        store: &store,
        catalog: &catalog,
        authorizer: &Authorizer::new(&[AuthorizationMode::AlwaysAllow]),
    };
    let mut object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "m" }, "data": { "k": "v" },
    });
    let mut policies = MutatingPolicies::new(request, context).unwrap();
    policies.run(&mut object)?;
    if policies.changed_the_object() {
        policies.run(&mut object)?;
    }
    Ok(json!({ "data": object["data"], "labels": object["metadata"]["labels"] }))
}

#[cfg(feature = "cel")]
#[test]
fn mutations_follow_each_other() {
    let mutations = [
        merge("Object{metadata: Object.metadata{labels: {'a': object.data.k}}}"),
        patch("[JSONPatch{op: 'add', path: '/data/l', value: object.metadata.labels.a + '!'}]"),
        // A test that fails is no error.
        patch(
            "[JSONPatch{op: 'test', path: '/data/k', value: 'w'}, JSONPatch{op: 'remove', path: '/data/k'}]",
        ),
    ];
    let created = create(&[policy(&mutations, &json!({}))]).unwrap();
    assert_eq!(
        created,
        json!({ "data": { "k": "v", "l": "v!" }, "labels": { "a": "v" } })
    );
}

#[cfg(feature = "cel")]
#[test]
fn errors_refuse_the_request_unless_they_are_ignored() {
    let set = merge("Object{data: {'set': 'yes'}}");
    for (failing, why) in [
        (
            merge("Object{data: {'x': object.data.none}}"),
            "expression 'Object{data: {'x': object.data.none}}' resulted in error: no such key: none",
        ),
        (
            merge("Object{data: {'x': 1}}"),
            "error applying patch: failed to convert patch object to typed object: .data.x: expected string, got &value.valueUnstructured{Value:1}",
        ),
        (
            merge("Object{metadata: Object.spec{}}"),
            r#"type mismatch: unexpected type name "Object.spec", expected "Object.metadata", which matches field name path from root Object type"#,
        ),
        (
            patch("[JSONPatch{op: 'replace', path: '/none/x', value: 1}]"),
            "JSON Patch: replace operation does not apply: doc is missing path: /none/x: missing value",
        ),
    ] {
        let mutations = [failing, set.clone()];
        let error = create(&[policy(&mutations, &json!({}))]).unwrap_err();
        assert_eq!((error.code, &*error.reason), (403, "Invalid"));
        assert_eq!(
            error.message,
            format!("policy 'p0' with binding 'b' denied request: {why}")
        );
        let created = create(&[policy(&mutations, &json!({ "failurePolicy": "Ignore" }))]).unwrap();
        assert_eq!(created["data"], json!({ "k": "v", "set": "yes" }));
    }
}

#[cfg(feature = "cel")]
#[test]
fn unknown_fields_refuse_the_request_whatever_the_policy_says() {
    let mutations = [patch("[JSONPatch{op: 'add', path: '/color', value: 'red'}]")];
    let error = create(&[policy(&mutations, &json!({ "failurePolicy": "Ignore" }))]).unwrap_err();
    assert_eq!(error.code, 500);
    assert!(
        error
            .message
            .ends_with(r#"strict decoding error: unknown field "color""#)
    );
}

#[cfg(feature = "cel")]
#[test]
fn policies_that_ask_for_it_are_evaluated_again() {
    let add = |digit: &str| {
        let log = "(has(object.data.log) ? object.data.log : '')";
        [patch(&format!(
            "[JSONPatch{{op: 'add', path: '/data/log', value: {log} + '{digit}'}}]"
        ))]
    };
    let again = json!({ "reinvocationPolicy": "IfNeeded" });
    let policies = [
        policy(&add("1"), &again),
        policy(&add("2"), &json!({})),
        policy(&add("3"), &again),
    ];
    assert_eq!(create(&policies).unwrap()["data"]["log"], "12313");
}

#[test]
fn policies_without_bindings_and_exempt_requests_are_not_evaluated() {
    let store = Store::default();
    let spec = policy(&[merge("Object{}")], &json!({}));
    let unbound = json!({ "metadata": { "name": "p" }, "spec": spec });
    store.create(MUTATING_POLICIES, "p", unbound).unwrap();
    assert!(HookCache::default().current(&store).is_none());
}
