//! The initial corpus of the cache's targets: objects as servers send them. Plain tests of the runtime replay it.

use serde_json::{Value, json};

/// Objects with everything that the scan handles, and minimal ones.
fn objects() -> Vec<Value> {
    let managed = json!([{"manager": "m", "fieldsV1": {"f:data": {".": {}, "k:{\"name\":\"a\\b\"}": {}}}}]);
    let owners = json!([{"apiVersion": "v1", "kind": "Foo", "name": "f", "uid": "u", "controller": true}]);
    let full = json!({"kind": "ConfigMap", "apiVersion": "v1", "data": {"a": "]}\"{[\\", "b": "\u{fc}"},
        "metadata": {"name": "a", "namespace": "d", "uid": "1", "resourceVersion": "17", "generation": 3,
            "deletionTimestamp": "2026-11-24T00:00:00Z", "finalizers": ["a/b"], "labels": {"app": "a", "l": ""},
            "annotations": {"a": "b"}, "managedFields": managed, "ownerReferences": owners}});
    let bare = json!({"metadata": {"name": "b", "namespace": "d"}, "data": null});
    vec![full, bare]
}

pub fn watch_lines() -> Vec<Vec<u8>> {
    let events = ["ADDED", "MODIFIED", "DELETED", "BOOKMARK"].into_iter();
    let watch_lines = events.flat_map(|event| {
        objects()
            .into_iter()
            .map(move |object| json!({"type": event, "object": object}))
    });
    let error = json!({"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "old"}});
    watch_lines
        .chain([error])
        .map(|line| line.to_string().into_bytes())
        .collect()
}

pub fn lists() -> Vec<Vec<u8>> {
    let metadata = json!({"resourceVersion": "9", "continue": "c"});
    let list = json!({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": metadata, "items": objects()});
    let none = json!({"kind": "ConfigMapList", "items": null, "metadata": {}});
    [7, 200]
        .into_iter()
        .flat_map(|chunk_size| {
            [&list, &none].map(|list| with_chunk_size(chunk_size, list.to_string().as_bytes()))
        })
        .collect()
}

pub fn watch_bodies() -> Vec<Vec<u8>> {
    vec![
        with_chunk_size(40, &watch_lines().join(&b"\n"[..])),
        with_chunk_size(3, b"{}\r\n\n{}\n{"),
    ]
}

fn with_chunk_size(chunk_size: u8, body: &[u8]) -> Vec<u8> {
    [&[chunk_size], body].concat()
}

pub fn object_pairs() -> Vec<Vec<u8>> {
    let [one, other] = [0, 1].map(|at| objects()[at].to_string());
    let next = one.replace("17", "4711").replace("\"a\"", "\"abc\"");
    [[&one, &next], [&one, &other]]
        .map(|pair| pair.map(String::as_str).join("\0").into_bytes())
        .into()
}
