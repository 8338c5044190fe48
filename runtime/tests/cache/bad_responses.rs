//! Invalid responses of the API server are retried, counted and logged once.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::{Kind as _, cache::InformerOptions};
use serde_json::json;

use crate::support::{
    log::Log,
    server::{Answer, Request, Server},
    *,
};

/// Skipping such a line would leave the cache wrong.
#[tokio::test(start_paused = true)]
async fn watch_line_without_identifiable_object_ends_the_watch_and_relists() {
    let object =
        r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"default","resourceVersion":"9"}}"#;
    let stranger = object
        .replace("ConfigMap", "Secret")
        .replace(r#""namespace""#, r#""name":"x","namespace""#);
    for line in [
        &*format!(r#"{{"type":"MODIFIED","object":{object}}}"#),
        &*format!(r#"{{"type":"MODIFIED","object":{stranger}}}"#),
        r#"{"type":"MODIFIED","object":{"kind":"ConfigMap","apiVersion":"v1"}}"#,
        r#"{"type":"MODIFIED","object":{"metadata":{"name":"x","name":"y","namespace":"default"}}}"#,
        r#"{"type":"MODIFIED","object":null}"#,
        r#"{"type":"MODIFIED"}"#,
        r#"{"type":"BOOKMARK","object":{"metadata":{}}}"#,
        r#"{"type":"ERROR","object":[]}"#,
        r#"{"type":"NEWS","object":{}}"#,
        r#"{"type":"MODIFIED","object":{"metadata":{"na"#,
        "<html>bad gateway</html>",
        "[]",
    ] {
        let server = Server::new();
        server.put(&config_map("a", "1"));
        let (_factory, informer) = informer(&server).await;
        run_until_idle().await;
        server.put(&config_map("b", "1"));
        server.send(line);
        run_until_idle().await;
        // Events before the line are applied.
        assert_eq!(
            contents(&informer.lister()),
            pairs(&[("a", "1"), ("b", "1")]),
            "{line}"
        );
        server.put_unseen(&config_map("c", "1"));
        tokio::time::sleep(Duration::from_millis(700)).await;
        assert_eq!(
            (informer.stats().lists, informer.stats().failures),
            (1, 1),
            "backs off: {line}"
        );
        wait_out_backoff().await;
        assert_eq!(contents(&informer.lister()), server.contents(), "{line}");
        assert_eq!(informer.stats().lists, 2, "{line}");
    }
}

#[tokio::test(start_paused = true)]
async fn malformed_list_is_retried() {
    let server = Server::without_streaming();
    server.put(&config_map("a", "1"));
    server.answer_lists([
        Answer::body("<html>"),
        Answer::body(
            r#"{"kind":"ConfigMapList","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"a"#,
        ),
        Answer::body(
            r#"{"kind":"ConfigMapList","metadata":{"resourceVersion":"1"},"items":[{"metadata":{}}]}"#,
        ),
        Answer::body(""),
    ]);
    let (_factory, informer) = informer(&server).await;
    assert_eq!(contents(&informer.lister()), pairs(&[("a", "1")]));
    assert_eq!(informer.stats().failures, 4);
}

#[tokio::test(start_paused = true)]
async fn truncated_last_watch_line_is_not_an_event() {
    let server = Server::without_streaming();
    let (_factory, informer) = informer(&server).await;
    run_until_idle().await;
    server.put(&config_map("a", "1"));
    server.send("");
    tokio::time::sleep(Duration::from_secs(2)).await;
    server.answer_watches([Answer::body(r#"{"type":"ADDED","object":{"metadata""#)]);
    server.cut();
    wait_out_backoff().await;
    assert_eq!(contents(&informer.lister()), server.contents());
    assert_eq!(informer.stats().watch_events, 1);
}

/// A server may compress without being asked to.
#[tokio::test(start_paused = true)]
async fn unrequested_gzip_body_is_an_error_and_retried() {
    let gzip = [
        &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3][..],
        &[0xab; 64],
        b"\n",
        &[0x0a, 0xff, 0x00],
    ]
    .concat();
    let server = Server::new();
    server.put(&config_map("a", "1"));
    server.answer_streams([Answer::Body(gzip.clone())]);
    server.answer_lists([Answer::Body(gzip.clone())]);
    let (_factory, informer) = informer(&server).await;
    assert_eq!(informer.stats().failures, 2);
    server.answer_watches([Answer::Body(gzip)]);
    tokio::time::sleep(Duration::from_secs(2)).await;
    server.cut();
    server.put(&config_map("b", "1"));
    wait_out_backoff().await;
    assert_eq!(contents(&informer.lister()), server.contents());
    assert_eq!((informer.stats().failures, informer.stats().lists), (3, 2));
}

#[tokio::test(start_paused = true)]
async fn invalid_utf8_in_lists_and_watches_is_retried() {
    let list = b"{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[{\"metadata\":{\"name\":\"a\xff\",\"namespace\":\"default\"}}]}";
    let line =
        b"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"\xc3\x28\",\"namespace\":\"default\"}}}\n";
    let server = Server::new();
    server.put(&config_map("a", "1"));
    server.answer_streams([Answer::body(*line)]);
    server.answer_lists([Answer::body(*list)]);
    let (_factory, informer) = informer(&server).await;
    assert_eq!(informer.stats().failures, 2);
    server.answer_watches([Answer::body(*line)]);
    tokio::time::sleep(Duration::from_secs(2)).await;
    server.cut();
    wait_out_backoff().await;
    assert_eq!(contents(&informer.lister()), server.contents());
    assert_eq!((informer.stats().failures, informer.stats().lists), (3, 2));
}

/// The connection ends in the middle of a list: the list is discarded.
#[tokio::test(start_paused = true)]
async fn truncated_list_leaves_the_store_unchanged() {
    let server = Server::without_streaming();
    server.put(&config_map("a", "1"));
    server.put(&config_map("b", "1"));
    let (_factory, informer) = informer(&server).await;
    let seen = RecordingHandler::default();
    informer.add_event_handler(seen.clone());
    run_until_idle().await;
    seen.take();
    let list = json!({"items": [{"metadata": {"name": "a", "namespace": "default", "resourceVersion": "1", "uid": "uid-0"}}],
        "kind": "ConfigMapList", "metadata": {"resourceVersion": "9"}})
    .to_string();
    server.answer_lists([
        Answer::body(&list.as_bytes()[..list.len() - 1]),
        Answer::body(&list.as_bytes()[..list.len() / 2]),
    ]);
    server.reset();
    wait_out_backoff().await;
    assert_eq!(seen.take(), [""; 0]);
    assert_eq!(contents(&informer.lister()), server.contents());
    assert_eq!((informer.stats().failures, informer.stats().lists), (2, 2));
}

/// Following a repeated continue token would never end.
#[tokio::test(start_paused = true)]
async fn repeated_continue_token_is_a_failure() {
    let page = r#"{"kind":"ConfigMapList","metadata":{"resourceVersion":"1","continue":"again"},"items":[]}"#;
    let server = Server::without_streaming();
    server.put(&config_map("a", "1"));
    server.answer_lists(vec![Answer::body(page); 3]);
    let (_factory, informer) = informer(&server).await;
    assert_eq!(contents(&informer.lister()), pairs(&[("a", "1")]));
    assert_eq!(informer.stats().failures, 1);
}

/// A list may contain a name twice if a faulty proxy mixes its pages: the last one counts, and handlers receive one event.
#[tokio::test(start_paused = true)]
async fn duplicate_name_in_a_list_is_one_object() {
    let item = |version: &str, datum: &str| {
        json!({"metadata": {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": version},
        "data": {"datum": datum}})
    };
    let list = json!({"kind": "ConfigMapList", "metadata": {"resourceVersion": "3"}, "items": [item("1", "1"), item("2", "2")]});
    let server = Server::without_streaming();
    server.answer_lists([Answer::body(list.to_string())]);
    let factory = server.factory();
    let informer = factory.of::<ConfigMap>();
    let seen = RecordingHandler::default();
    informer.add_event_handler(seen.clone());
    factory.start();
    factory.wait_for_cache_sync().await;
    run_until_idle().await;
    assert_eq!(seen.take(), ["add a=2 initial"]);
}

/// A bad object is logged once, with its name, however often it is delivered.
#[tokio::test(start_paused = true)]
async fn bad_object_is_logged_once_by_name_and_counted_each_time() {
    let whole = concat!(
        r#"{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","#,
        r#""metadata":{"name":"spy","namespace":"shop","labels":{"a":"b"}},"data":{"password":"hunter2"}}}"#
    );
    let with = |from: &str, to: &str| {
        assert!(whole.contains(from), "{from}");
        whole.replace(from, to).into_bytes()
    };
    let invalid = whole.bytes().flat_map(|byte| {
        if byte == b'2' {
            vec![byte, 0xff]
        } else {
            vec![byte]
        }
    });
    for (line, problem) in [
        (
            with(r#""ConfigMap""#, r#""Secret""#),
            "it is no ConfigMap of v1: found \"Secret\"",
        ),
        (invalid.collect(), "it is no UTF-8"),
        (
            with(r#""name":"spy""#, r#""name":"spy","name":"other""#),
            "metadata.name stands twice",
        ),
        (
            with(r#""name":"spy""#, r#""name":"spy","uid":"1","uid":"2""#),
            "metadata.uid stands twice",
        ),
        (with("}}}", "}}"), "torn"),
        (with("}}}", "}}}}"), "expected"),
        (with("ADDED", "NEWS"), "the type of the event is unknown"),
    ] {
        let log = Log::start();
        let server = Server::new();
        server.put(&config_map("a", "1"));
        let (_factory, informer) = informer(&server).await;
        for _ in 0..7 {
            run_until_idle().await;
            server.send(&line);
            tokio::time::sleep(Duration::from_secs(100)).await;
        }
        let lines = log.lines("shop/spy");
        assert!(
            lines.len() == 1 && lines[0].contains(problem),
            "{problem}: {lines:?}"
        );
        assert_eq!(log.lines("hunter2"), [""; 0]);
        assert_eq!(
            (informer.stats().failures, informer.stats().lists),
            (7, 8),
            "{problem}"
        );
        assert_eq!(contents(&informer.lister()), server.contents());
    }
}

/// As for bad data, but the object is stored; it is logged again after it had decoded in between.
#[tokio::test(start_paused = true)]
async fn undecodable_object_is_logged_once_however_often_it_is_written() {
    for (metadata, data, problem) in [
        (r#""uid":"u""#, "5", "invalid type"),
        (
            r#""labels":{},"labels":{}"#,
            "{}",
            "the key metadata.labels stands twice",
        ),
    ] {
        let log = Log::start();
        let server = Server::new();
        server.put(&config_map("a", "1"));
        let (_factory, informer) = informer(&server).await;
        let write = async |version: u64, metadata: &str, data: &str| {
            server.send(&format!(
                r#"{{"type":"MODIFIED","object":{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{"name":"spy","namespace":"shop",{metadata},"resourceVersion":"{version}"}},"data":{data}}}}}"#
            ));
            tokio::time::sleep(Duration::from_secs(100)).await;
            informer.lister().list().filter(Result::is_err).count()
        };
        for version in 101..108 {
            assert_eq!(write(version, metadata, data).await, 1);
        }
        let lines = log.lines("shop/spy");
        assert!(lines.len() == 1 && lines[0].contains(problem), "{lines:?}");
        let stats = informer.stats();
        assert_eq!(
            (stats.decode_errors, stats.failures, stats.lists),
            (7, 0, 1),
            "{problem}"
        );
        assert_eq!(write(108, r#""uid":"u""#, "{}").await, 0);
        assert_eq!(write(109, metadata, data).await, 1);
        assert_eq!(
            (log.lines("shop/spy").len(), informer.stats().decode_errors),
            (2, 8)
        );
        server.reset();
        wait_out_backoff().await;
        assert_eq!(contents(&informer.lister()), server.contents());
    }
}

/// Such versions are used for the next request: repeated events are harmless, skipped ones are not.
#[tokio::test(start_paused = true)]
async fn decreasing_and_non_numeric_versions_are_logged_once_and_counted() {
    let log = Log::start();
    let server = Server::new();
    server.set_version(50);
    let (_factory, informer) = informer(&server).await;
    let object = |version: &str| {
        let mut object = config_map("a", version);
        (object["kind"], object["apiVersion"]) = ("ConfigMap".into(), "v1".into());
        object["metadata"]["resourceVersion"] = version.into();
        json!({"type": "MODIFIED", "object": object}).to_string()
    };
    for version in ["60", "55", "54", "70", "abc", "x", ""] {
        server.send(&object(version));
    }
    run_until_idle().await;
    // Each version is compared with the one before it; a version after a non-numeric one cannot be compared.
    assert_eq!(informer.stats().version_errors, 5);
    assert_eq!(log.lines("goes back from 60").len(), 1);
    assert_eq!(log.lines("resource version").len(), 2);
    assert!(log.lines("is not a number")[0].contains("default/a"));
    assert_eq!(
        (informer.stats().failures, informer.lister().list().len()),
        (0, 1)
    );
    // A server that does not accept its own version is asked for the latest one.
    server.requests();
    tokio::time::sleep(Duration::from_secs(2)).await;
    server.cut();
    wait_out_backoff().await;
    let versions = server.requests().into_iter().map(|request| match request {
        Request::Watch(options) => options.resource_version,
        Request::Stream(version) => version,
        Request::List(options) => options.resource_version,
    });
    assert_eq!(versions.collect::<Vec<_>>(), ["x", "x", "x", "", "50"]);
    assert_eq!(contents(&informer.lister()), server.contents());
}

/// Objects without a resource version cannot be compared: each is delivered as a change. With a version, the second is ignored.
#[tokio::test(start_paused = true)]
async fn object_without_resource_version_is_an_update_each_time() {
    for (version, told) in [("", 3), ("7", 1)] {
        let server = Server::new();
        let (_factory, informer) = informer(&server).await;
        let recorded = RecordingHandler::default();
        informer.add_event_handler(recorded.clone());
        let mut object = config_map("a", "1");
        object["metadata"]["resourceVersion"] = version.into();
        for _ in 0..3 {
            server.send(&json!({"type": "MODIFIED", "object": object}).to_string());
        }
        run_until_idle().await;
        let mut expected = vec!["add a=1", "update a=1->1", "update a=1->1"];
        expected.truncate(told);
        assert_eq!(recorded.take(), expected, "version {version:?}");
    }
}

/// Objects of one megabyte, and one with 64 levels, among many small ones are read unchanged before and after compression.
#[tokio::test(start_paused = true)]
async fn long_and_deep_objects_are_stored_unchanged() {
    let server = Server::new();
    let put_small = |numbers: std::ops::Range<usize>| {
        for number in numbers {
            server.put(&config_map(&format!("small-{number}"), &"some words ".repeat(60)));
        }
    };
    put_small(0..2000);
    let (factory, informer) = informer(&server).await;
    let dynamic = factory.dynamic(ConfigMap::info(), InformerOptions::default());
    let mut deep = config_map("deep", "\u{fc}\"\\");
    for _ in 0..63 {
        deep["nested"] = json!({"more": deep["nested"], "all": [[1, "]}"]]});
    }
    server.put(&deep);
    for long in ["long-1", "long-2"] {
        server.put(&config_map(long, &format!("{long} \\\" ").repeat(80_000)));
    }
    let compare = || {
        for object in ["deep", "long-1", "long-2", "small-7"] {
            let mut expected = server.get("default", object).unwrap();
            expected["metadata"]
                .as_object_mut()
                .unwrap()
                .remove("managedFields");
            expected["kind"] = "ConfigMap".into();
            expected["apiVersion"] = "v1".into();
            let untyped = dynamic.lister().get(&name(object)).unwrap();
            assert_eq!(serde_json::to_value(&*untyped).unwrap(), expected, "{object}");
            expected.as_object_mut().unwrap().remove("nested");
            let typed = informer.lister().get(&name(object)).unwrap();
            assert_eq!(serde_json::to_value(&*typed).unwrap(), expected, "{object}");
        }
    };
    run_until_idle().await;
    compare();
    let before = informer.stats();
    put_small(2000..5000);
    run_until_idle().await;
    compare();
    let after = informer.stats();
    assert_eq!((after.failures, after.decode_errors, after.objects), (0, 0, 5003));
    assert!(
        before.kept_bytes > 950_000,
        "one is stored uncompressed: {before:?}"
    );
    assert!(
        after.kept_bytes < after.bytes / 3,
        "both are compressed: {after:?}"
    );
    assert_eq!(contents(&informer.lister()), server.contents());
}
