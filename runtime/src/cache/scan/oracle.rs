//! What the scanner and a JSON parser must agree on for any bytes: the oracle of the property tests and of the fuzzer.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "no part of the library: a failure is the finding"
)]

use k8s_openapi::api::core::v1::ConfigMap;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::{list_splitter::Envelope, *};
use crate::{Kind as _, cache::object::StoredObject, line_decoder::LineDecoder};

/// Namespace, name, uid and resource version, if they identify the object for a store.
fn identity(object: &Value) -> Option<[&str; 4]> {
    let metadata = object.get("metadata")?.as_object()?;
    let text = |key| metadata.get(key).and_then(Value::as_str).unwrap_or_default();
    let is = |key, expected| object.get(key).is_none_or(|value| value == expected);
    let (namespace, name) = (text("namespace"), text("name"));
    let known =
        !namespace.is_empty() && !name.is_empty() && is("apiVersion", "v1") && is("kind", "ConfigMap");
    known.then(|| [namespace, name, text("uid"), text("resourceVersion")])
}

pub(crate) fn parsed(bytes: &[u8]) -> Option<Value> {
    serde_json::from_slice(bytes).ok()
}

/// The scanned metadata is what a parser reads from the stored JSON and from the whole object. Objects with a defect are not compared.
fn check(stored: &StoredObject, whole: Option<&Value>) {
    if stored.defect.is_some() {
        return;
    }
    let kept = parsed(&stored.payload.json().unwrap());
    for object in [kept.as_ref(), whole].into_iter().flatten() {
        let metadata = &stored.metadata;
        let name = metadata.name();
        let found = [
            name.namespace().unwrap(),
            name.name(),
            metadata.uid(),
            metadata.resource_version(),
        ];
        assert_eq!(Some(found), identity(object), "{object}");
    }
}

pub(crate) fn check_line(line: &[u8]) {
    let mut scanner = Scanner::new(&ConfigMap::info());
    let document = parsed(line);
    let Ok(event) = scanner.watch_line(line, &[]) else {
        return;
    };
    let (event_type, stored) = match &event {
        WatchEvent::Added(stored) => ("ADDED", Some(stored)),
        WatchEvent::Modified(stored) => ("MODIFIED", Some(stored)),
        WatchEvent::Deleted(stored) => ("DELETED", Some(stored)),
        WatchEvent::Bookmark { .. } => ("BOOKMARK", None),
        WatchEvent::Error(_) => ("ERROR", None),
    };
    if let Some(document) = &document {
        assert_eq!(document["type"], event_type);
    }
    if let Some(stored) = stored {
        check(stored, document.as_ref().map(|document| &document["object"]));
    }
    if let (WatchEvent::Bookmark { version, .. }, Some(document)) = (&event, &document) {
        assert_eq!(document["object"]["metadata"]["resourceVersion"], **version);
    }
}

/// The scanner accepts what a parser reads and a store can identify.
pub(crate) fn check_line_that_parses(document: &Value) {
    let line = document.to_string();
    let is_accepted = Scanner::new(&ConfigMap::info())
        .watch_line(line.as_bytes(), &[])
        .is_ok();
    if matches!(document["type"].as_str(), Some("ADDED" | "MODIFIED" | "DELETED")) {
        assert_eq!(is_accepted, identity(&document["object"]).is_some(), "{line}");
    }
    check_line(line.as_bytes());
}

pub(super) fn cut(body: &[u8], cuts: &[usize]) -> Result<(Vec<Vec<u8>>, Envelope), ScanFailure> {
    let (mut splitter, mut items, mut rest) = (ListSplitter::new(), Vec::new(), body);
    for cut in cuts.iter().cycle() {
        let (chunk, after) = rest.split_at((*cut).min(rest.len()));
        splitter.push(chunk, |item| {
            items.push(item.to_vec());
            Ok(())
        })?;
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    Ok((items, splitter.finish()?))
}

pub(crate) fn check_list(body: &[u8], cuts: &[usize]) {
    let result = cut(body, cuts);
    assert_eq!(
        result,
        cut(body, &[body.len().max(1)]),
        "the same however it is cut"
    );
    let Ok((items, envelope)) = result else { return };
    let mut scanner = Scanner::new(&ConfigMap::info());
    for item in &items {
        if let Ok(stored) = scanner.object(item, &[]) {
            check(&stored, parsed(item).as_ref());
        }
    }
    let items: Option<Vec<Value>> = items.iter().map(|item| parsed(item)).collect();
    let document = parsed(body);
    if let (Some(items), Ok(_)) = (&items, str::from_utf8(body)) {
        let Some(document) = document else {
            // Skipped values around the items may hold half a surrogate pair, which only a full parser rejects.
            let skipped: Result<IgnoredAny, _> = serde_json::from_slice(body);
            assert!(skipped.is_ok(), "a list of whole items is whole");
            return;
        };
        match &document["items"] {
            Value::Null => assert!(items.is_empty()),
            expected => assert_eq!(*expected, json!(items)),
        }
        let metadata = &document["metadata"];
        let version = metadata["resourceVersion"].as_str().unwrap_or_default();
        assert_eq!(envelope.resource_version, version);
        let token = metadata["continue"].as_str().filter(|token| !token.is_empty());
        assert_eq!(envelope.continue_token.as_deref(), token);
    } else {
        assert!(document.is_none(), "an item does not parse, but the list does");
    }
}

pub(crate) fn check_lines(body: &[u8], cuts: &[usize]) {
    let (mut lines, mut seen, mut rest) = (LineDecoder::default(), Vec::new(), body);
    for cut in cuts.iter().cycle() {
        let (chunk, after) = rest.split_at((*cut).min(rest.len()));
        let _: Result<(), ()> = lines.push(chunk, |line| {
            seen.push(line.to_vec());
            Ok(())
        });
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    let whole = body.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    let expected = body[..whole].split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    assert_eq!(
        seen,
        expected
            .filter(|line| !line.is_empty())
            .map(<[u8]>::to_vec)
            .collect::<Vec<_>>()
    );
}
