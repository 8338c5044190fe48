//! Requests that are nearly right: whole documents with parts taken away, doubled and put elsewhere, as JSON, YAML, protobuf and every
//! kind of patch, with selectors made of what selectors are made of. Each has a proper answer, and the server stays.

#![expect(clippy::unwrap_used, reason = "a position below their number has a child")]

use crate::client::{FOOS, MAPS, World, foo, map};
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
struct Sent {
    method: &'static str,
    path: String,
    query: String,
    content: &'static str,
    body: Vec<u8>,
}

#[test]
fn whatever_is_sent_has_an_answer_and_the_server_stays() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let world = runtime.block_on(async {
        let world = World::start().await;
        world.define_foo().await;
        world.create(MAPS, map("a")).await;
        world.create(FOOS, foo("a", json!({}))).await;
        world
    });
    let config = Config {
        cases: CASES,
        failure_persistence: None,
        ..Config::default()
    };
    let accepted = Cell::new(0);
    let tried = TestRunner::new(config).run(&sent(), |sent| {
        let headers = [("Content-Type", sent.content), ("Accept", "application/json")];
        let path = format!("{}?{}", sent.path, sent.query);
        let token = world.server.admin_token();
        let answer = runtime.block_on(world.send(token, sent.method, &path, &headers, &sent.body));
        // A panic ends the connection without one. The real server, too, answers 500 to a version that is none.
        prop_assert!(
            (200..=500).contains(&answer.code),
            "{}: {}",
            answer.code,
            answer.text
        );
        let body: Result<Value, _> = serde_json::from_str(&answer.text);
        prop_assert!(body.is_ok(), "{}", answer.text);
        accepted.set(accepted.get() + u32::from(answer.code < 300));
        if answer.code >= 400 {
            let body = body.unwrap();
            prop_assert_eq!(&body["kind"], "Status");
            prop_assert_eq!(&body["code"], answer.code);
        }
        Ok(())
    });
    tried.unwrap();
    let accepted = accepted.get();
    assert!(
        (CASES / 10..CASES / 2).contains(&accepted),
        "{accepted} of {CASES} were accepted: too much, or too little, is wrong with what is sent"
    );
    // What is stored can still be read, and written.
    runtime.block_on(async {
        for list in [MAPS, FOOS, DEPLOYMENTS, PODS] {
            world.get(list).await.expect(200);
        }
        world.create(MAPS, map("still-there")).await;
    });
}

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
/// Positions among the documents.
const OPERATIONS: usize = 4;
const PATCH: usize = 5;
const DEFINITION: usize = 6;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All&";
const PODS: &str = "/api/v1/namespaces/default/pods";

const APPLY: &str = "application/apply-patch+yaml";

/// What fits together: where an object lies, its document and a part of it, and how it may be sent.
fn fitting() -> impl Strategy<Value = (&'static str, String, &'static str, usize)> {
    let of_kind = |kind: usize, list: &'static str, parts: &'static [&'static str]| {
        let part = select(parts.to_vec());
        let way = select(vec![
            ("POST", "application/json", kind),
            ("POST", "application/yaml", kind),
            ("POST", "application/vnd.kubernetes.protobuf", kind),
            ("PUT", "application/json", kind),
            ("PATCH", APPLY, kind),
            ("PATCH", APPLY, kind),
            ("PATCH", "application/merge-patch+json", kind),
            ("PATCH", "application/merge-patch+json", PATCH),
            ("PATCH", "application/strategic-merge-patch+json", PATCH),
            ("PATCH", "application/json-patch+json", OPERATIONS),
            ("GET", "application/json", kind),
            ("DELETE", "application/json", kind),
        ]);
        let place = (part, way, any::<bool>()).prop_map(move |(part, (method, content, document), all)| {
            let of_list = method == "POST" || method == "GET" && all;
            let path = if of_list {
                list.to_owned()
            } else {
                format!("{list}/a{part}")
            };
            (method, path, content, document)
        });
        place.boxed()
    };
    let definition = ("POST", DEFINITIONS.to_owned(), "application/json", DEFINITION);
    prop_oneof![
        4 => of_kind(0, MAPS, &[""]),
        4 => of_kind(1, FOOS, &["", "", "/status", "/scale"]),
        4 => of_kind(2, DEPLOYMENTS, &["", "", "/status", "/scale"]),
        4 => of_kind(3, PODS, &["", "", "/status"]),
        1 => Just(definition),
    ]
}

fn sent() -> impl Strategy<Value = Sent> {
    let others = prop_oneof![9 => Just(None), 1 => (fitting(), 0..documents().len()).prop_map(Some)];
    let query = prop_oneof![2 => Just(String::new()), 1 => query()];
    let fitting = (fitting(), others).prop_map(|((method, path, content, document), others)| match others {
        // A body's options stand for those of the query: a DELETE of definitions would be in earnest.
        Some(((_, _, content, _), document)) if path != DEFINITIONS => (method, path, content, document),
        _ => (method, path, content, document),
    });
    (fitting, query).prop_flat_map(|((method, path, content, document), query)| {
        body(document).prop_map(move |mut body| {
            if content.ends_with("protobuf") {
                body.splice(..0, *b"k8s\0");
            }
            if method == "GET" || method == "DELETE" {
                body.clear();
            }
            Sent {
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

/// Documents of which requests are made; the first are of kinds.
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

/// What stands where something else should.
fn stranger() -> impl Strategy<Value = Value> {
    let strangers = [
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
    select(strangers.to_vec()).prop_map(|text| serde_json::from_str(text).unwrap_or(Value::Null))
}

#[derive(Clone, Debug)]
enum Change {
    Replace(Vec<Index>, Value),
    Remove(Vec<Index>),
    /// What stands at the one place stands at the other, too.
    Graft(Vec<Index>, Vec<Index>),
}

fn body(document: usize) -> impl Strategy<Value = Vec<u8>> {
    let way = || vec(any::<Index>(), 0..7);
    let change = prop_oneof![
        (way(), stranger()).prop_map(|(way, value)| Change::Replace(way, value)),
        way().prop_map(Change::Remove),
        (way(), way()).prop_map(|(from, to)| Change::Graft(from, to)),
    ];
    // Bytes that are put over others, last.
    let scratches = prop_oneof![
        4 => Just(vec![]),
        1 => vec((any::<Index>(), any::<u8>()), 1..4),
        1 => vec((any::<Index>(), select(b"{}[]\",:-\\ \n\t&*|>0".to_vec())), 1..4),
    ];
    (vec(change, 0..3), scratches).prop_map(move |(changes, scratches)| {
        let mut document = documents().swap_remove(document);
        for change in &changes {
            match change {
                Change::Replace(way, value) => *place(&mut document, way) = value.clone(),
                Change::Remove(way) => drop(place(&mut document, way).take()),
                Change::Graft(from, to) => {
                    let copy = place(&mut document, from).clone();
                    *place(&mut document, to) = copy;
                }
            }
        }
        let mut bytes = document.to_string().into_bytes();
        for (at, byte) in &scratches {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        bytes
    })
}

/// Goes down from the root, at each step to the child that the way says.
fn place<'v>(value: &'v mut Value, way: &[Index]) -> &'v mut Value {
    let children = match value {
        Value::Object(fields) => fields.len(),
        Value::Array(items) => items.len(),
        _ => 0,
    };
    let Some((step, rest)) = way.split_first().filter(|_| children > 0) else {
        return value;
    };
    let at = step.index(children);
    let child = match value {
        Value::Object(fields) => fields.values_mut().nth(at),
        Value::Array(items) => items.get_mut(at),
        _ => None,
    };
    place(child.unwrap(), rest)
}
