//! Randomly mutated requests: documents with parts removed, duplicated and moved, as JSON, YAML, protobuf and every patch type, with
//! selectors from random tokens. Each must get a proper response, and the server must keep running.

#![expect(clippy::unwrap_used, reason = "a position below their number has a child")]

use crate::api_request::is_upstream_error;
use crate::client::{CONFIG_MAPS, FOOS, TestServer, config_map, foo};
use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
    test_runner::{Config, TestRunner},
};
use serde_json::{Value, json};
use std::cell::Cell;

const CASES: u32 = 3000;

#[derive(Clone, Debug)]
struct FuzzRequest {
    method: &'static str,
    path: String,
    query: String,
    content: &'static str,
    body: Vec<u8>,
}

#[test]
fn mutated_requests_get_a_response_and_the_server_keeps_running() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(async {
        let server = TestServer::start().await;
        server.define_foo().await;
        server.create(CONFIG_MAPS, config_map("a")).await;
        server.create(FOOS, foo("a", json!({}))).await;
        server
    });
    let config = Config {
        cases: CASES,
        failure_persistence: None,
        ..Config::default()
    };
    let accepted = Cell::new(0);
    let result = TestRunner::new(config).run(&fuzz_request(), |request| {
        let headers = [("Content-Type", request.content), ("Accept", "application/json")];
        let path = format!("{}?{}", request.path, request.query);
        let token = server.api.admin_token();
        let response = runtime.block_on(server.send(token, request.method, &path, &headers, &request.body));
        // A panic would end the connection without a response.
        let body: Result<Value, _> = serde_json::from_str(&response.text);
        prop_assert!(body.is_ok(), "{}", response.text);
        let body = body.unwrap();
        prop_assert!(
            (200..500).contains(&response.code) || is_upstream_error(response.code, &body),
            "{}: {}",
            response.code,
            response.text
        );
        accepted.set(accepted.get() + u32::from(response.code < 300));
        if response.code >= 400 {
            prop_assert_eq!(&body["kind"], "Status");
            prop_assert_eq!(&body["code"], response.code);
        }
        Ok(())
    });
    result.unwrap();
    let accepted = accepted.get();
    assert!(
        (CASES / 10..CASES / 2).contains(&accepted),
        "{accepted} of {CASES} requests were accepted: change the rate of mutations"
    );
    // Stored objects can still be read, and new ones written.
    runtime.block_on(async {
        for list in [CONFIG_MAPS, FOOS, DEPLOYMENTS, PODS] {
            server.get(list).await.expect(200);
        }
        server.create(CONFIG_MAPS, config_map("still-there")).await;
    });
}

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
/// Indices into `documents()`.
const JSON_PATCH_INDEX: usize = 4;
const STRATEGIC_PATCH_INDEX: usize = 5;
const DEFINITION_INDEX: usize = 6;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All&";
const PODS: &str = "/api/v1/namespaces/default/pods";

const APPLY: &str = "application/apply-patch+yaml";

/// Generates consistent requests: method, path, content type and document.
fn consistent_request() -> impl Strategy<Value = (&'static str, String, &'static str, usize)> {
    let of_kind = |kind: usize, list: &'static str, parts: &'static [&'static str]| {
        let part = select(parts.to_vec());
        let operation = select(vec![
            ("POST", "application/json", kind),
            ("POST", "application/yaml", kind),
            ("POST", "application/vnd.kubernetes.protobuf", kind),
            ("PUT", "application/json", kind),
            ("PATCH", APPLY, kind),
            ("PATCH", APPLY, kind),
            ("PATCH", "application/merge-patch+json", kind),
            ("PATCH", "application/merge-patch+json", STRATEGIC_PATCH_INDEX),
            (
                "PATCH",
                "application/strategic-merge-patch+json",
                STRATEGIC_PATCH_INDEX,
            ),
            ("PATCH", "application/json-patch+json", JSON_PATCH_INDEX),
            ("GET", "application/json", kind),
            ("DELETE", "application/json", kind),
        ]);
        let request =
            (part, operation, any::<bool>()).prop_map(move |(part, (method, content, document), all)| {
                let of_list = method == "POST" || method == "GET" && all;
                let path = if of_list {
                    list.to_owned()
                } else {
                    format!("{list}/a{part}")
                };
                (method, path, content, document)
            });
        request.boxed()
    };
    let definition = (
        "POST",
        DEFINITIONS.to_owned(),
        "application/json",
        DEFINITION_INDEX,
    );
    prop_oneof![
        4 => of_kind(0, CONFIG_MAPS, &[""]),
        4 => of_kind(1, FOOS, &["", "", "/status", "/scale"]),
        4 => of_kind(2, DEPLOYMENTS, &["", "", "/status", "/scale"]),
        4 => of_kind(3, PODS, &["", "", "/status"]),
        1 => Just(definition),
    ]
}

fn fuzz_request() -> impl Strategy<Value = FuzzRequest> {
    let other_body =
        prop_oneof![9 => Just(None), 1 => (consistent_request(), 0..documents().len()).prop_map(Some)];
    let query = prop_oneof![2 => Just(String::new()), 1 => query()];
    let request =
        (consistent_request(), other_body).prop_map(|((method, path, content, document), other_body)| {
            match other_body {
                // A body's options replace those of the query: a DELETE of definitions would not be a dry run.
                Some(((_, _, content, _), document)) if path != DEFINITIONS => {
                    (method, path, content, document)
                }
                _ => (method, path, content, document),
            }
        });
    (request, query).prop_flat_map(|((method, path, content, document), query)| {
        body(document).prop_map(move |mut body| {
            if content.ends_with("protobuf") {
                body.splice(..0, *b"k8s\0");
            }
            if method == "GET" || method == "DELETE" {
                body.clear();
            }
            FuzzRequest {
                method,
                path: path.clone(),
                query: query.clone(),
                content,
                body,
            }
        })
    })
}

fn query() -> impl Strategy<Value = String> {
    let part = select(vec![
        "a",
        "metadata.name",
        "=",
        "==",
        "!=",
        "!",
        ",",
        "(",
        ")",
        "%20in%20",
        "%20notin%20",
        "%3E",
        "%5C",
        "%00",
        "%ff",
        "%zz",
        ".",
        "/",
        "1",
        "\u{e9}",
    ]);
    let key = select(vec![
        "labelSelector",
        "fieldSelector",
        "fieldValidation",
        "resourceVersion",
        "resourceVersionMatch",
        "limit",
        "continue",
        "dryRun",
        "propagationPolicy",
        "fieldManager",
        "force",
        "pretty",
    ]);
    let entry = (key, vec(part, 0..6)).prop_map(|(key, parts)| format!("{key}={}", parts.concat()));
    vec(entry, 0..2).prop_map(|entries| entries.join("&"))
}

/// The documents that requests are made from; first one per kind.
fn documents() -> Vec<Value> {
    let container = json!({"name": "c", "image": "i", "ports": [{"containerPort": 1}], "env": [{"name": "E", "value": "v"}]});
    let template = json!({"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [container]}});
    vec![
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"x": "y"}}, "data": {"k": "v"}, "binaryData": {"b": "AA=="}}),
        json!({"apiVersion": "demo.dev/v1", "kind": "Foo", "metadata": {"name": "a", "finalizers": ["a.b/c"]}, "spec": {"replicas": 3, "color": "red"}}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": "a"}}, "template": template,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}}}}),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": template["spec"]}),
        json!([{"op": "test", "path": "/metadata/name", "value": "a"}, {"op": "add", "path": "/data/x~1y", "value": "1"},
            {"op": "move", "from": "/data/k", "path": "/data/l"}, {"op": "copy", "from": "/data", "path": "/data/-"}]),
        json!({"metadata": {"labels": {"x": null}, "$deleteFromPrimitiveList/finalizers": ["a.b/c"]}, "spec": {"template": {"spec": {
            "$setElementOrder/containers": [{"name": "c"}], "containers": [{"name": "c", "$patch": "delete"}]}}}}),
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "bars.demo.dev"}, "spec": {
            "group": "demo.dev", "scope": "Namespaced", "names": {"plural": "bars", "kind": "Bar"}, "versions": [{"name": "v1", "served": true,
            "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"},
            "x-kubernetes-list-type": "set"}, "b": {"x-kubernetes-int-or-string": true}}}}}]}}),
    ]
}

/// Values to put at a random place.
fn replacement() -> impl Strategy<Value = Value> {
    let replacements = [
        "null",
        "true",
        "-1",
        "1.5",
        "1e300",
        "99999999999999999999",
        "\"\"",
        "\"a\"",
        "\"\\u0000\"",
        "[]",
        "[null]",
        "[[]]",
        "{}",
        "{\"\":null}",
        "{\"$patch\":\"replace\"}",
        "{\"$patch\":1}",
        "[{\"$patch\":\"delete\"}]",
        "{\"name\":\"c\"}",
        "\"2026-02-31T00:00:00Z\"",
        "\"1Ki1\"",
        "\"/a/b~2\"",
        "\"k8s\\ud83d\"",
    ];
    select(replacements.to_vec()).prop_map(|text| serde_json::from_str(text).unwrap_or(Value::Null))
}

#[derive(Clone, Debug)]
enum Change {
    Replace(Vec<Index>, Value),
    Remove(Vec<Index>),
    /// Copies the value at the first path to the second.
    CopyTo(Vec<Index>, Vec<Index>),
}

fn body(document: usize) -> impl Strategy<Value = Vec<u8>> {
    let path = || vec(any::<Index>(), 0..7);
    let change = prop_oneof![
        (path(), replacement()).prop_map(|(path, value)| Change::Replace(path, value)),
        path().prop_map(Change::Remove),
        (path(), path()).prop_map(|(from, to)| Change::CopyTo(from, to)),
    ];
    // Bytes to overwrite, last.
    let overwrites = prop_oneof![
        4 => Just(vec![]),
        1 => vec((any::<Index>(), any::<u8>()), 1..4),
        1 => vec((any::<Index>(), select(b"{}[]\",:-\\ \n\t&*|>0".to_vec())), 1..4),
    ];
    (vec(change, 0..3), overwrites).prop_map(move |(changes, overwrites)| {
        let mut document = documents().swap_remove(document);
        for change in &changes {
            match change {
                Change::Replace(path, value) => *at_path(&mut document, path) = value.clone(),
                Change::Remove(path) => drop(at_path(&mut document, path).take()),
                Change::CopyTo(from, to) => {
                    let copy = at_path(&mut document, from).clone();
                    *at_path(&mut document, to) = copy;
                }
            }
        }
        let mut bytes = document.to_string().into_bytes();
        for (at, byte) in &overwrites {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        bytes
    })
}

/// Returns the value at a path; each step selects a child by its index.
fn at_path<'v>(value: &'v mut Value, path: &[Index]) -> &'v mut Value {
    let children = match value {
        Value::Object(fields) => fields.len(),
        Value::Array(items) => items.len(),
        _ => 0,
    };
    let Some((step, rest)) = path.split_first().filter(|_| children > 0) else {
        return value;
    };
    let at = step.index(children);
    let child = match value {
        Value::Object(fields) => fields.values_mut().nth(at),
        Value::Array(items) => items.get_mut(at),
        _ => None,
    };
    at_path(child.unwrap(), rest)
}
