//! Damaged watch lines and lists: the scanner rejects them, or agrees with a JSON parser.

use k8s_openapi::api::core::v1::ConfigMap;
use proptest::{prelude::*, sample::Index};
use serde_json::json;

use super::{
    oracle::{check_line, check_line_that_parses, check_lines, check_list, cut, parsed},
    *,
};
use crate::Kind as _;

/// An object as servers send it; the length of the annotation shifts what follows.
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
        let position = |index: &Index| index.index(bytes.len() + 1);
        match self {
            Self::Flip(at, bits) => {
                let at = position(at);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= bits;
                }
            }
            Self::Delete(at, length) => {
                let at = position(at);
                bytes.drain(at..(at + length).min(bytes.len()));
            }
            Self::Duplicate(from, length, to) => {
                let (from, to) = (position(from), position(to));
                let copy = bytes[from..(from + length).min(bytes.len())].to_vec();
                bytes.splice(to..to, copy);
            }
            Self::Truncate(at) => bytes.truncate(position(at)),
            Self::Insert(at, what) => {
                let at = position(at);
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
    let position = any::<Index>;
    let length = || prop_oneof![3 => 1usize..4, 1 => 1usize..200];
    let one = prop_oneof![
        (position(), 1u8..=255).prop_map(|(at, bits)| Damage::Flip(at, bits)),
        (position(), length()).prop_map(|(at, length)| Damage::Delete(at, length)),
        (position(), length(), position()).prop_map(|(from, length, to)| Damage::Duplicate(from, length, to)),
        position().prop_map(Damage::Truncate),
        (position(), prop::sample::select(&FRAGMENTS[..])).prop_map(|(at, what)| Damage::Insert(at, what)),
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
    fn damaged_line_is_rejected_or_read_as_a_parser_does(
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
    fn damaged_list_is_rejected_or_read_as_a_parser_does(
        annotations in prop::collection::vec(annotation(), 0..4),
        damage in damage(),
        cuts in cuts(),
    ) {
        let mut list = list(&annotations);
        for damage in &damage { damage.apply(&mut list); }
        check_list(&list, &cuts);
    }

    #[test]
    fn damaged_body_is_split_at_line_ends(
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
fn valid_input_is_accepted_at_any_block_offset() {
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
fn compressed_bytes_are_rejected() {
    let gzip = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab\x56\x2a\xa9\x2c\x48\x55\xb2";
    let mut scanner = Scanner::new(&ConfigMap::info());
    assert!(scanner.watch_line(gzip, &[]).is_err());
    assert!(scanner.object(gzip, &[]).is_err());
    assert!(cut(gzip, &[5]).is_err());
}

/// A list with an escaped or duplicate items key must not look empty: the whole cache would be deleted.
#[test]
fn list_with_escaped_or_duplicate_items_is_rejected() {
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

/// Found by the fuzzer: skipped values are not checked.
#[test]
fn half_a_surrogate_pair_around_the_items_is_accepted() {
    let body = br#"{"items":[{}],"note":"\ud800","metadata":{"resourceVersion":"9"}}"#;
    assert!(parsed(body).is_none());
    check_list(body, &[7]);
    let (items, envelope) = cut(body, &[7]).unwrap();
    assert_eq!((items.len(), &*envelope.resource_version), (1, "9"));
}
