//! Damaged watch lines and lists: the scan refuses them, or finds what a parser finds.

use k8s_openapi::api::core::v1::ConfigMap;
use proptest::{prelude::*, sample::Index};
use serde_json::{Value, json};

use super::{list::Envelope, *};
use crate::{Kind as _, cache::object::StoredObject};

/// Namespace, name, uid and resource version, if a store can tell the object by them.
fn identity(object: &Value) -> Option<[&str; 4]> {
    let metadata = object.get("metadata")?.as_object()?;
    let text = |key| metadata.get(key).and_then(Value::as_str).unwrap_or_default();
    let is = |key, expected| object.get(key).is_none_or(|value| value == expected);
    let (namespace, name) = (text("namespace"), text("name"));
    let known =
        !namespace.is_empty() && !name.is_empty() && is("apiVersion", "v1") && is("kind", "ConfigMap");
    known.then(|| [namespace, name, text("uid"), text("resourceVersion")])
}

fn parsed(bytes: &[u8]) -> Option<Value> {
    serde_json::from_slice(bytes).ok()
}

/// What was scanned is what a parser finds in what is kept, and in the whole; an object that is known not to decode may be another.
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

fn check_line(line: &[u8]) {
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

/// What a parser reads and the store can tell is accepted, too.
fn check_line_that_parses(document: &Value) {
    let line = document.to_string();
    let is_accepted = Scanner::new(&ConfigMap::info())
        .watch_line(line.as_bytes(), &[])
        .is_ok();
    if matches!(document["type"].as_str(), Some("ADDED" | "MODIFIED" | "DELETED")) {
        assert_eq!(is_accepted, identity(&document["object"]).is_some(), "{line}");
    }
    check_line(line.as_bytes());
}

fn cut(body: &[u8], cuts: &[usize]) -> Result<(Vec<Vec<u8>>, Envelope), Refused> {
    let (mut cutter, mut items, mut rest) = (ListCutter::new(), Vec::new(), body);
    for cut in cuts.iter().cycle() {
        let (chunk, after) = rest.split_at((*cut).min(rest.len()));
        cutter.push(chunk, |item| {
            items.push(item.to_vec());
            Ok(())
        })?;
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    Ok((items, cutter.finish()?))
}

fn check_list(body: &[u8], cuts: &[usize]) {
    let result = cut(body, cuts);
    assert_eq!(result, cut(body, &[body.len().max(1)]), "torn or not");
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
        let document = document.as_ref().expect("a list of whole items is whole");
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

fn check_lines(body: &[u8], cuts: &[usize]) {
    let (mut lines, mut seen, mut rest) = (Lines::default(), Vec::new(), body);
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

/// An object as servers send it, its parts shifted by the length of an annotation.
fn object(name: &str, annotation: &str) -> String {
    let fields = json!({"f:data": {".": {}, "k:{\"name\":\"a\\b\"}": {"f:x": {}}, "f:ü": {}}});
    let metadata = json!({"resourceVersion": "17", "generation": 3, "finalizers": ["a.b/c"], "annotations": {"a": annotation},
        "managedFields": [{"manager": "kubectl", "operation": "Update", "fieldsV1": fields}],
        "ownerReferences": [{"apiVersion": "v1", "kind": "Foo", "name": "foo", "uid": "u", "controller": true}],
        "name": name, "labels": {"app": "a\\", "l": ""}, "uid": format!("uid-{name}"), "namespace": "default"});
    format!(
        r#"{{"kind":"ConfigMap","metadata":{metadata} , "apiVersion":"v1","data":{{"a":"]}}\"{{[","b":[1.5e3,true,null,[],{{}}]}}}}"#
    )
}

fn line(event_type: &str, annotation: &str) -> Vec<u8> {
    let object = object("n", annotation);
    format!(r#"{{"type":"{event_type}","object":{object}}}"#).into_bytes()
}

fn list(annotations: &[String]) -> Vec<u8> {
    let items = annotations.iter().enumerate();
    let items: Vec<_> = items
        .map(|(index, text)| object(&format!("n{index}"), text))
        .collect();
    let items = items.join(", ");
    format!(
        r#"{{"kind":"ConfigMapList","items":[{items}],"metadata":{{"resourceVersion":"9","continue":"c"}}}}"#
    )
    .into_bytes()
}

#[derive(Debug, Clone)]
enum Damage {
    Flip(Index, u8),
    Delete(Index, usize),
    Duplicate(Index, usize, Index),
    Truncate(Index),
    Insert(Index, &'static [u8]),
}

impl Damage {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let place = |index: &Index| index.index(bytes.len() + 1);
        match self {
            Self::Flip(at, bits) => {
                let at = place(at);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= bits;
                }
            }
            Self::Delete(at, length) => {
                let at = place(at);
                bytes.drain(at..(at + length).min(bytes.len()));
            }
            Self::Duplicate(from, length, to) => {
                let (from, to) = (place(from), place(to));
                let copy = bytes[from..(from + length).min(bytes.len())].to_vec();
                bytes.splice(to..to, copy);
            }
            Self::Truncate(at) => bytes.truncate(place(at)),
            Self::Insert(at, what) => {
                let at = place(at);
                bytes.splice(at..at, what.iter().copied());
            }
        }
    }
}

fn damage() -> impl Strategy<Value = Vec<Damage>> {
    const FRAGMENTS: [&[u8]; 20] = [
        b"\"",
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\n",
        b" ",
        b"\xff\xfe",
        b"\x1f\x8b\x08",
        b"\\u00",
        b"{},",
        b"null,",
        b"\"name\":\"z\",",
        b"\"uid\":null,",
        b"\"metadata\":{\"name\":\"z\"},",
        b"\"items\":[{}],",
        b"\"type\":\"DELETED\",",
    ];
    let place = any::<Index>;
    let length = || prop_oneof![3 => 1usize..4, 1 => 1usize..200];
    let one = prop_oneof![
        (place(), 1u8..=255).prop_map(|(at, bits)| Damage::Flip(at, bits)),
        (place(), length()).prop_map(|(at, length)| Damage::Delete(at, length)),
        (place(), length(), place()).prop_map(|(from, length, to)| Damage::Duplicate(from, length, to)),
        place().prop_map(Damage::Truncate),
        (place(), prop::sample::select(&FRAGMENTS[..])).prop_map(|(at, what)| Damage::Insert(at, what)),
    ];
    prop::collection::vec(one, 0..4)
}

fn annotation() -> impl Strategy<Value = String> {
    r#"[a-c "\\{}\[\]ü]{0,70}"#
}

fn cuts() -> impl Strategy<Value = Vec<usize>> {
    let cut = prop_oneof![1usize..9, 50usize..80, 1usize..2000];
    prop::collection::vec(cut, 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn a_damaged_line_is_refused_or_means_what_a_parser_reads(
        event_type in prop::sample::select(&["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"][..]),
        annotation in annotation(),
        damage in damage(),
    ) {
        let mut line = line(event_type, &annotation);
        for damage in &damage { damage.apply(&mut line); }
        check_line(&line);
        if let Some(document) = parsed(&line) {
            check_line_that_parses(&document);
        }
    }

    #[test]
    fn a_damaged_list_is_refused_or_means_what_a_parser_reads(
        annotations in prop::collection::vec(annotation(), 0..4),
        damage in damage(),
        cuts in cuts(),
    ) {
        let mut list = list(&annotations);
        for damage in &damage { damage.apply(&mut list); }
        check_list(&list, &cuts);
    }

    #[test]
    fn a_damaged_body_is_cut_where_its_lines_end(
        annotations in prop::collection::vec(annotation(), 0..4),
        damage in damage(),
        cuts in cuts(),
    ) {
        let mut body = annotations.iter().map(|text| line("ADDED", text)).collect::<Vec<_>>().join(&b"\r\n"[..]);
        for damage in &damage { damage.apply(&mut body); }
        check_lines(&body, &cuts);
    }
}

#[test]
fn what_is_whole_is_accepted_wherever_the_blocks_begin() {
    for length in 0..130 {
        let annotation = "\\".repeat(length);
        check_line_that_parses(&parsed(&line("ADDED", &annotation)).unwrap());
        let list = list(&[annotation.clone(), String::new(), annotation]);
        check_list(&list, &[length + 1, 64]);
        assert_eq!(cut(&list, &[length + 1]).unwrap().0.len(), 3);
    }
}

#[test]
fn objects_of_a_megabyte_and_of_64_levels_are_scanned() {
    let deep = format!("{}\"a\"{}", r#"{"a":["#.repeat(32), "]}".repeat(32));
    for data in [
        json!({"a": "xx\"\\".repeat(170_000)}),
        parsed(deep.as_bytes()).unwrap(),
    ] {
        let mut event = parsed(&line("MODIFIED", "")).unwrap();
        event["object"]["data"] = data.clone();
        event["object"]["metadata"]["managedFields"] = data;
        check_line_that_parses(&event);
        let list = json!({"items": [event["object"], event["object"]], "metadata": {}}).to_string();
        check_list(list.as_bytes(), &[16 * 1024]);
        assert_eq!(cut(list.as_bytes(), &[16 * 1024]).unwrap().0.len(), 2);
        let lines = format!("{event}\n{list}\n\n");
        check_lines(lines.as_bytes(), &[16 * 1024]);
    }
}

#[test]
fn what_is_compressed_is_refused() {
    let gzip = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab\x56\x2a\xa9\x2c\x48\x55\xb2";
    let mut scanner = Scanner::new(&ConfigMap::info());
    assert!(scanner.watch_line(gzip, &[]).is_err());
    assert!(scanner.object(gzip, &[]).is_err());
    assert!(cut(gzip, &[5]).is_err());
}

/// A list that hides its items, or has them twice, must not look like an empty one: all that is cached would be deleted.
#[test]
fn items_that_are_hidden_or_doubled_are_refused() {
    for items in [
        r#""it\u0065ms":[{}]"#,
        r#""items":[{}],"items":[]"#,
        r#""items":[],"items":[{}]"#,
        r#""items":{}"#,
        r#""kind":"Status""#,
        r#""items":[{},]"#,
        r#""items":[,{}]"#,
        r#""items":[{}{}]"#,
        r#""items":[{},,{}]"#,
    ] {
        let body = format!(r#"{{"metadata":{{"resourceVersion":"1"}},{items}}}"#);
        assert!(cut(body.as_bytes(), &[7]).is_err(), "{body}");
    }
}
