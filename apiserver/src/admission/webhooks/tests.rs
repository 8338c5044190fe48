use super::hook::{Hook, HookSet};
use super::*;
use crate::admission::expressions::Expressions;
use crate::admission::hook_request::{HookOperation, HookRequest};
use crate::auth::{AuthorizationMode, Authorizer, User};
use crate::kinds::Catalog;
use crate::storage::Store;
use crate::webhook_client::{Endpoint, PendingCall};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

/// Answers each review with what a function makes of the webhook's path and the object, and keeps the paths.
#[derive(Debug)]
struct Webhooks {
    respond: fn(&str, &Value) -> Value,
    called: Mutex<Vec<String>>,
}

impl WebhookCaller for Webhooks {
    fn start(&self, endpoint: &Endpoint, review: &Value, _: Duration) -> PendingCall {
        let path = endpoint.url.rsplit('/').next().unwrap().to_owned();
        let mut response = (self.respond)(&path, &review["request"]["object"]);
        self.called.lock().unwrap().push(path);
        response["uid"] = review["request"]["uid"].clone();
        let (sender, receiver) = mpsc::sync_channel(1);
        let review =
            json!({ "kind": review["kind"], "apiVersion": review["apiVersion"], "response": response });
        sender.send(Ok(review)).unwrap();
        PendingCall::new(receiver)
    }
}

fn hook(name: &str, fields: &Value) -> Hook {
    let mut hook = json!({
        "name": name, "admissionReviewVersions": ["v1"], "sideEffects": "None", "clientConfig": { "url": format!("https://a.dev/{name}") },
        "rules": [{ "operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"] }],
        "namespaceSelector": {}, "objectSelector": {},
    });
    for (key, value) in fields.as_object().unwrap() {
        hook[key] = value.clone();
    }
    Hook::parse("c", &hook, &mut Expressions::default())
}

/// Runs a create of a ConfigMap through mutating webhooks, both rounds; returns the object, and which webhooks were called.
fn mutate(hooks: Vec<Hook>, respond: fn(&str, &Value) -> Value) -> (Result<Value, String>, Vec<String>) {
    mutate_within(Duration::from_mins(1), hooks, respond)
}

/// Does so for a request with this timeout.
fn mutate_within(
    timeout: Duration,
    hooks: Vec<Hook>,
    respond: fn(&str, &Value) -> Value,
) -> (Result<Value, String>, Vec<String>) {
    let (store, catalog, user) = (Store::default(), Catalog::built_in().unwrap(), User::system());
    let namespace = json!({ "metadata": { "labels": { "team": "a" } } });
    store.create("namespaces", "n", namespace).unwrap();
    let set = HookSet {
        mutating: hooks,
        validating: vec![],
        mutating_policies: vec![],
        validating_policies: vec![],
    };
    let caller = Webhooks {
        respond,
        called: Mutex::default(),
    };
    let (options, report) = (Map::new(), AdmissionReport::default());
    let context = WebhookContext {
        hooks: &set,
        caller: &caller,
        options: &options,
        report: &report,
        deadline: Instant::now() + timeout,
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
    let mut object =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "m" }, "data": {} });
    let mut webhooks = MutatingWebhooks::new(request, context).unwrap();
    let mut outcome = webhooks.run(Some(&mut object));
    if outcome.is_ok() && webhooks.changed_the_object() {
        outcome = webhooks.run(Some(&mut object));
    }
    let paths = caller.called.lock().unwrap().clone();
    (outcome.map(|()| object).map_err(|error| error.message), paths)
}

/// Adds an entry for the webhook, unless there is one.
fn add_entry(path: &str, object: &Value) -> Value {
    if !object["data"][path].is_null() {
        return json!({ "allowed": true });
    }
    let operations = json!([{ "op": "add", "path": format!("/data/{path}"), "value": "x" }]).to_string();
    json!({ "allowed": true, "patchType": "JSONPatch", "patch": BASE64_STANDARD.encode(operations) })
}

#[test]
fn webhooks_are_called_in_order_and_again_only_after_changes_of_others() {
    let if_needed = json!({ "reinvocationPolicy": "IfNeeded" });
    let (object, called) = mutate(
        vec![
            hook("a", &if_needed),
            hook("b", &json!({})),
            hook("c", &if_needed),
        ],
        add_entry,
    );
    assert_eq!(object.unwrap()["data"], json!({ "a": "x", "b": "x", "c": "x" }));
    // The last one changed the object itself, and nothing changed after it.
    assert_eq!(called, ["a", "b", "c", "a"]);
    let (_, called) = mutate(
        vec![hook("a", &if_needed), hook("b", &if_needed)],
        |_, _| json!({ "allowed": true }),
    );
    assert_eq!(called, ["a", "b"]);
}

#[test]
fn first_denial_ends_the_calls() {
    let (outcome, called) = mutate(
        vec![hook("a", &json!({})), hook("b", &json!({}))],
        |_, _| json!({ "allowed": false, "status": { "message": "no" } }),
    );
    assert_eq!(
        outcome.unwrap_err(),
        r#"admission webhook "a" denied the request: no"#
    );
    assert_eq!(called, ["a"]);
}

#[test]
fn failure_policy_decides_about_invalid_responses() {
    let invalid = |_: &str, _: &Value| json!({ "allowed": true, "patchType": "JSONPatch" });
    let why = r#"Internal error occurred: failed calling webhook "a": received invalid webhook response: webhook returned response.patchType but not response.patch"#;
    let (outcome, _) = mutate(vec![hook("a", &json!({}))], invalid);
    assert_eq!(outcome.unwrap_err(), why);
    let ignore = json!({ "failurePolicy": "Ignore" });
    let (outcome, called) = mutate(vec![hook("a", &ignore), hook("b", &ignore)], invalid);
    assert!(outcome.is_ok());
    assert_eq!(called, ["a", "b"]);
}

#[test]
fn deadline_of_the_request_ends_it_whatever_the_failure_policy() {
    let ignore = json!({ "failurePolicy": "Ignore" });
    let hooks = vec![hook("a", &ignore), hook("b", &ignore)];
    let (outcome, called) = mutate_within(Duration::ZERO, hooks, |_, _| json!({ "allowed": true }));
    let why = "Timeout: request did not complete within the allotted timeout";
    assert_eq!(outcome.unwrap_err(), why);
    assert_eq!(called, ["a"]);
}

#[test]
fn only_matching_webhooks_are_called() {
    let rule = |key: &str, value: Value| {
        let mut rule =
            json!({ "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"] });
        rule[key] = value;
        json!({ "rules": [rule] })
    };
    for (fields, matches) in [
        (json!({}), true),
        (rule("operations", json!(["CREATE"])), true),
        (rule("operations", json!(["UPDATE", "DELETE"])), false),
        (rule("apiGroups", json!(["apps"])), false),
        (rule("apiVersions", json!(["v2"])), false),
        (rule("resources", json!(["pods", "*/*"])), true),
        (rule("resources", json!(["configmaps/*"])), true),
        (rule("resources", json!(["configmaps/status"])), false),
        (rule("scope", json!("Namespaced")), true),
        (rule("scope", json!("Cluster")), false),
        (
            json!({ "namespaceSelector": { "matchLabels": { "team": "a" } } }),
            true,
        ),
        (
            json!({ "namespaceSelector": { "matchLabels": { "team": "b" } } }),
            false,
        ),
        (
            json!({ "objectSelector": { "matchExpressions": [{ "key": "l", "operator": "Exists" }] } }),
            false,
        ),
        (
            json!({ "matchConditions": [{ "name": "n", "expression": "request.name == 'm'" }] }),
            true,
        ),
        (
            json!({ "matchConditions": [{ "name": "n", "expression": "request.name == 'x'" }] }),
            false,
        ),
    ] {
        let (outcome, called) = mutate(vec![hook("a", &fields)], |_, _| json!({ "allowed": true }));
        assert_eq!((outcome.is_ok(), called.len() == 1), (true, matches), "{fields}");
    }
}
