//! Objects that are malformed, or that do not decode as our types.

use proptest::prelude::*;

use super::{server::Server, *};
use crate::{
    Kind as _,
    cache::scan::{ScannedEvent, Scanner},
    test_effort::property_cases,
};

fn scan(object: &str) -> Result<super::super::object::StoredObject, String> {
    let mut scanner = Scanner::new(&ConfigMap::info());
    scanner
        .object(object.as_bytes(), &[])
        .map_err(|error| error.to_string())
}

fn parsed(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

#[tokio::test(start_paused = true)]
async fn undecodable_object_is_kept_and_counted_once_per_version() {
    let server = Server::new();
    server.put(&config_map("good", "1"));
    let mut bad = config_map("bad", "1");
    bad["data"] = json!(5);
    server.put(&bad);
    let (_factory, informer) = informer(&server).await;
    let lister = informer.lister();
    assert_eq!((lister.list().len(), informer.stats().decode_errors), (2, 0));
    for _ in 0..3 {
        let error = lister.get(&name("bad")).unwrap_err();
        let text = error.to_string();
        assert!(
            !error.is_not_found()
                && text
                    .starts_with("ConfigMap default/bad (resource version 2) does not decode: invalid type"),
            "{text}"
        );
        assert_eq!(lister.list().filter(Result::is_err).count(), 1);
    }
    assert_eq!(informer.stats().decode_errors, 1);
    assert!(lister.get(&name("good")).is_ok());

    bad["data"] = json!(6);
    server.put(&bad);
    run_until_idle().await;
    assert!(lister.object(&name("bad")).unwrap().decode().is_err());
    assert_eq!(informer.stats().decode_errors, 2);
    server.put(&config_map("bad", "corrected"));
    run_until_idle().await;
    assert!(lister.get(&name("bad")).is_ok());
    assert_eq!((informer.stats().lists, informer.stats().decode_errors), (1, 2));
}

#[test]
fn duplicate_metadata_keys_make_an_object_undecodable() {
    for (object, duplicate) in [
        (
            r#"{"metadata":{"name":"a","namespace":"default","labels":{},"labels":{"a":"b"}},"data":{}}"#,
            "metadata.labels",
        ),
        (
            r#"{"metadata":{"name":"a","namespace":"default","n\u0061me":"a"}}"#,
            "metadata.name",
        ),
        (
            r#"{"metadata":{"name":"a","namespace":"default"},"metadata":{"annotations":{}}}"#,
            "metadata",
        ),
    ] {
        let stored = scan(object).unwrap();
        assert_eq!(
            stored.defect.as_deref(),
            Some(&*format!("the key {duplicate} stands twice"))
        );
        let error = decoder().decode::<ConfigMap>(&stored).unwrap_err();
        assert!(error.to_string().contains(duplicate), "{error}");
    }
    let ambiguous = r#"{"metadata":{"name":"a","namespace":"default","name":"b"}}"#;
    assert_eq!(
        scan(ambiguous).unwrap_err(),
        "default/a: metadata.name stands twice, with two values"
    );
}

#[test]
fn metadata_is_extracted_at_any_position_and_with_escapes() {
    let object = r#"{ "data" : {"datum":"\"{[\\"} , "k\u0069nd":"ConfigMap","m\u0065tadata": { "managedFields":[{"a":"]}"}],
        "uid":"u\u0031", "labels" : { "a/\u0062" : "\u00fc\"" } , "name":"n\u0031","namespace":"default",
        "finalizers":["f/1","f/2"],"generation":7,"resourceVersion":"12","deletionTimestamp":"2026-01-01T00:00:00Z",
        "ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"\u0072s","uid":"x","controller":true,"blockOwnerDeletion":true},
                           {"apiVersion":"v1","kind":"Node","name":"n","uid":"y"}]}}"#;
    let stored = scan(object).unwrap();
    let metadata = &stored.metadata;
    assert_eq!(
        (metadata.name(), metadata.uid(), metadata.resource_version()),
        (&name("n1"), "u1", "12")
    );
    assert_eq!(
        (
            metadata.generation(),
            metadata.is_deleting(),
            metadata.label("a/b")
        ),
        (Some(7), true, Some("ü\""))
    );
    assert_eq!(metadata.finalizers().collect::<Vec<_>>(), ["f/1", "f/2"]);
    let owner = metadata.controller().unwrap();
    assert_eq!(
        (&*owner.name, &*owner.kind, metadata.owner_references().len()),
        ("rs", "ReplicaSet", 2)
    );
    let blocks: Vec<_> = metadata
        .owner_references()
        .iter()
        .map(|owner| owner.block_owner_deletion)
        .collect();
    assert_eq!(blocks, [true, false]);
    let mut expected = parsed(object.as_bytes());
    expected["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("managedFields");
    expected["apiVersion"] = "v1".into();
    assert_eq!(parsed(&stored.payload.json().unwrap()), expected);
}

#[test]
fn watch_line_may_start_with_its_object() {
    let object = r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"default","resourceVersion":"3"}}"#;
    let mut scanner = Scanner::new(&ConfigMap::info());
    let event = scanner
        .watch_line(
            format!(r#"{{"object":{object},"x":[1],"type":"DELETED"}}"#).as_bytes(),
            &[],
        )
        .unwrap();
    assert!(matches!(event, ScannedEvent::Deleted(object) if *object.metadata.name() == name("a")));
    let event = scanner
        .watch_line(br#"{"object":{"kind":"Status","code":410},"type":"ERROR"}"#, &[])
        .unwrap();
    assert!(matches!(event, ScannedEvent::Error(status) if status.code == 410));
}

#[test]
fn only_annotation_value_true_ends_the_initial_events() {
    for (annotations, expected) in [
        (r#"{"k8s.io/initial-events-end":"true"}"#, true),
        (r#"{"a":"\"","k8s.io\/initial-\u0065vents-end":"true"}"#, true),
        (r#"{"k8s.io/initial-events-end":"false"}"#, false),
        (r#"{"k8s.io/initial-events-end":true}"#, false),
        (r#"{"initial-events-end":"true"}"#, false),
        ("null", false),
        ("[]", false),
    ] {
        let line = format!(
            r#"{{"type":"BOOKMARK","object":{{"metadata":{{"resourceVersion":"7","annotations":{annotations}}}}}}}"#
        );
        let event = Scanner::new(&ConfigMap::info())
            .watch_line(line.as_bytes(), &[])
            .unwrap();
        let ScannedEvent::Bookmark {
            version,
            ends_initial_events,
        } = event
        else {
            panic!("{event:?} is no bookmark")
        };
        assert_eq!((&*version, ends_initial_events), ("7", expected), "{annotations}");
    }
}

#[test]
fn bookmark_with_duplicate_keys_is_refused() {
    for (metadata, problem) in [
        (
            r#""metadata":{"name":"z"},"metadata":{"resourceVersion":"7"}"#,
            "metadata stands twice",
        ),
        (
            r#""metadata":{"resourceVersion":"7","resourceVersion":"8"}"#,
            "resourceVersion stands twice",
        ),
        (
            r#""metadata":{"resourceVersion":"7","annotations":{},"annotations":null}"#,
            "annotations stands twice",
        ),
        (r#""metadata":{}"#, "no resource version"),
    ] {
        let line = format!(r#"{{"type":"BOOKMARK","object":{{{metadata}}}}}"#);
        let error = Scanner::new(&ConfigMap::info())
            .watch_line(line.as_bytes(), &[])
            .unwrap_err();
        assert!(error.to_string().contains(problem), "{error}");
    }
}

#[test]
fn deep_nesting_does_not_overflow_the_stack_and_does_not_decode() {
    let deep = format!("{}1{}", "{\"a\":[".repeat(100_000), "]}".repeat(100_000));
    let informer = Server::new().factory().of::<ConfigMap>();
    let index = IndexSpec {
        name: "a",
        path: "data.a[*].a",
        value_type: IndexType::String,
    };
    informer.add_index(&index).unwrap();
    let object =
        format!(r#"{{"data":{deep},"metadata":{{"name":"a","namespace":"default","annotations":{deep}}}}}"#);
    let stored = scan(&object).unwrap();
    assert_eq!(*stored.metadata.name(), name("a"));
    let decoder = decoder();
    assert!(decoder.decode::<ConfigMap>(&stored).is_err());
    assert!(
        decoder
            .decode::<Value>(&stored)
            .unwrap_err()
            .message
            .contains("recursion limit")
    );
    let torn = "[".repeat(1_000_000);
    for torn in [
        scan(&torn),
        scan(&format!(r#"{{"metadata":{torn}"#)),
        scan(&format!(r#"{{"metadata":{{"labels":{torn}"#)),
    ] {
        assert!(torn.is_err());
    }
    let labels = scan(&format!(
        r#"{{"metadata":{{"name":"a","namespace":"default","labels":{deep}}}}}"#
    ))
    .unwrap();
    assert_eq!(
        labels.defect.as_deref(),
        Some("metadata.labels is no map of texts")
    );
}

#[test]
fn invalid_utf8_is_refused_without_quoting_it() {
    let mut scanner = Scanner::new(&ConfigMap::info());
    let error = scanner
        .object(
            b"{\"data\":{\"password\":\"hunter2\xff\"},\"metadata\":{\"name\":\"a\"}}",
            &[],
        )
        .unwrap_err()
        .to_string();
    assert!(error.contains("UTF-8") && !error.contains("hunter2"), "{error}");
    let error = scan(r#"{"data":{"password":"hunter2"},}"#).unwrap_err();
    assert!(!error.contains("hunter2") && !error.contains('\n'), "{error}");
}

fn json_value() -> impl Strategy<Value = Value> {
    let text = any::<String>().prop_map(Value::String);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        text
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::hash_map(any::<String>(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(property_cases(150))]

    /// For any order of keys and any other content, the scan keeps everything but managedFields, and extracts what serde_json parses.
    #[test]
    fn the_scan_agrees_with_a_parser(
        extra in prop::collection::vec(("[a-z\"\\\\ü]{1,6}x", json_value()), 0..4),
        fields in json_value(),
        labels in prop::collection::btree_map("[a-z]{1,5}", any::<String>(), 0..4),
        finalizers in prop::collection::vec(any::<String>(), 0..3),
        (uid, version, generation) in (any::<String>(), "[0-9]{1,9}", proptest::option::of(any::<i64>())),
        order in any::<prop::sample::Index>(),
        pretty in any::<bool>(),
    ) {
        let mut metadata: Vec<(String, Value)> = vec![
            ("name".into(), "n".into()), ("namespace".into(), "default".into()), ("managedFields".into(), fields.clone()),
            ("uid".into(), uid.clone().into()), ("resourceVersion".into(), version.clone().into()),
            ("labels".into(), json!(labels)), ("finalizers".into(), json!(finalizers)),
        ];
        metadata.extend(generation.map(|generation| ("generation".to_owned(), generation.into())));
        let at = order.index(metadata.len());
        metadata.rotate_left(at);
        let write = |entries: &[(String, Value)]| {
            let write = |value: &Value| if pretty { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) }.unwrap();
            let entries: Vec<_> = entries.iter().map(|(key, value)| format!("{}:{}", write(&json!(key)), write(value))).collect();
            format!("{{{}}}", entries.join(if pretty { " ,\n " } else { "," }))
        };
        let mut seen = std::collections::HashSet::new();
        let extra: Vec<_> = extra.into_iter().filter(|(key, _)| seen.insert(key.clone())).collect();
        let rest = write(&extra);
        let body = match (extra.is_empty(), order.index(2)) {
            (true, _) => format!(r#"{{"metadata":{}}}"#, write(&metadata)),
            (_, 0) => format!(r#"{{"metadata":{},{}"#, write(&metadata), &rest[1..]),
            _ => format!(r#"{},"metadata":{}}}"#, &rest[..rest.len() - 1], write(&metadata)),
        };
        let stored = scan(&body).unwrap();
        let mut expected = parsed(body.as_bytes());
        expected["metadata"].as_object_mut().unwrap().remove("managedFields");
        expected["apiVersion"] = "v1".into();
        expected["kind"] = "ConfigMap".into();
        prop_assert_eq!(parsed(&stored.payload.json().unwrap()), expected);
        prop_assert_eq!(stored.defect, None);
        let found = &stored.metadata;
        prop_assert_eq!((found.uid(), found.resource_version(), found.generation()), (&*uid, &*version, generation));
        prop_assert_eq!(found.labels().map(|(k, v)| (k.to_owned(), v.to_owned())).collect::<BTreeMap<_, _>>(), labels);
        prop_assert_eq!(found.finalizers().collect::<Vec<_>>(), finalizers);
    }

    #[test]
    fn scan_does_not_panic_on_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..80), text in r#"[{}\[\]":,\\ntamed1]{0,60}"#) {
        let mut scanner = Scanner::new(&ConfigMap::info());
        let _ = scanner.object(&bytes, &[]);
        let _ = scanner.watch_line(&bytes, &[]);
        let _ = scanner.object(text.as_bytes(), &[]);
        let _ = scanner.watch_line(format!(r#"{{"type":"ADDED","object":{text}}}"#).as_bytes(), &[]);
    }
}
