//! The initial corpus: objects as servers send them, and the requests of the differential suite.

use serde_json::{Value, json};
use std::{fs, path::Path};

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

/// Requests in the format of [`api_request`](crate::api_request): `METHOD path`, a line with the content type, and the body.
pub fn requests() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/tests/differential/cases");
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    files.sort();
    let texts = files.iter().map(|file| fs::read_to_string(file).expect("a text"));
    let cases = texts.flat_map(|text| serde_json::from_str::<Vec<Value>>(&text).expect("cases"));
    let steps = cases.flat_map(|case| case["steps"].as_array().cloned().unwrap_or_default());
    steps.filter_map(|step| request(&step)).collect()
}

fn request(step: &Value) -> Option<Vec<u8>> {
    let (method, path) = (step["method"].as_str()?, step["path"].as_str()?);
    let body = match (&step["body"], &step["text"]) {
        (Value::Null, Value::String(text)) => text.clone(),
        (Value::Null, _) => String::new(),
        (body, _) => body.to_string(),
    };
    let content_type = step["type"].as_str().unwrap_or("application/json");
    let request = format!("{method} {path}\n{content_type}\n{body}").replace("${ns}", "default");
    Some(request.into_bytes())
}
