//! The reflector's requests to a server without streaming lists: lists, relists, watches and their backoff.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::cache::list_watch::{ListOptions, ListWatchError};
use serde_json::json;

use crate::support::{
    server::{Answer, Request, Server, refused, status, too_large},
    *,
};

fn list(version: &str, limit: Option<u32>) -> ListOptions {
    ListOptions {
        resource_version: version.into(),
        limit,
        ..ListOptions::default()
    }
}

/// client-go: TestReflectorListAndWatch.
#[tokio::test(start_paused = true)]
async fn lists_at_version_zero_then_watches_from_the_list_version() {
    let server = Server::without_streaming();
    server.put(&config_map("a", "1"));
    server.put(&config_map("b", "1"));
    let (_factory, informer) = informer(&server).await;
    let requests = server.requests();
    let [Request::Stream(_), Request::List(first), Request::Watch(watch)] = &requests[..] else {
        panic!("{requests:?}")
    };
    assert_eq!(*first, list("0", Some(500)));
    assert_eq!(watch.resource_version, "2");
    assert!((300..600).contains(&watch.timeout_seconds));
    server.put(&config_map("b", "2"));
    server.put(&config_map("c", "1"));
    server.delete("default", "a");
    run_until_idle().await;
    assert_eq!(contents(&informer.lister()), pairs(&[("b", "2"), ("c", "1")]));
    assert_eq!(server.requests(), []);
}

/// client-go: TestReflectorWatchHandler, TestReflectorResyncWithResourceVersion.
#[tokio::test(start_paused = true)]
async fn resumes_the_watch_from_the_last_event_or_bookmark() {
    let server = Server::without_streaming();
    server.put(&config_map("a", "0"));
    let (_factory, informer) = informer(&server).await;
    run_until_idle().await;
    server.requests();
    server.put(&config_map("a", "1"));
    tokio::time::sleep(Duration::from_secs(5)).await;
    server.cut();
    run_until_idle().await;
    assert_eq!(server.watch_versions(), ["2"]);
    server.bookmark();
    tokio::time::sleep(Duration::from_secs(5)).await;
    server.cut();
    run_until_idle().await;
    assert_eq!(server.watch_versions(), ["3"]);
    server.put(&config_map("a", "2"));
    run_until_idle().await;
    assert_eq!(contents(&informer.lister()), pairs(&[("a", "2")]));
    assert_eq!(informer.stats().lists, 1);
}

/// client-go: TestReflectorWatchHandler's cases of synthetic additions.
#[tokio::test(start_paused = true)]
async fn unordered_additions_of_a_watch_from_zero_do_not_advance_the_version() {
    let server = Server::without_streaming();
    let (_factory, informer) = informer(&server).await;
    server.put(&config_map("a", "1"));
    server.put(&config_map("b", "1"));
    tokio::time::sleep(Duration::from_secs(5)).await;
    server.cut();
    run_until_idle().await;
    server.put(&config_map("a", "2"));
    tokio::time::sleep(Duration::from_secs(5)).await;
    server.cut();
    run_until_idle().await;
    assert_eq!(server.watch_versions(), ["0", "0", "3"]);
    assert_eq!(contents(&informer.lister()), server.contents());
}

/// client-go: TestReflectorNotPaginatingNotConsistentReads, TestReflectorExpiredExactResourceVersion.
#[tokio::test(start_paused = true)]
async fn relists_unpaged_at_the_last_version_after_410() {
    for answer in [
        Answer::Fail(status(410, "Expired")),
        Answer::Fail(status(410, "Gone")),
        Answer::body(
            r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"old"}}"#
                .to_owned()
                + "\n",
        ),
    ] {
        let server = Server::without_streaming();
        server.put(&config_map("a", "1"));
        server.answer_watches([answer]);
        let (_factory, _informer) = informer(&server).await;
        wait_out_backoff().await;
        assert_eq!(server.lists(), [list("0", Some(500)), list("1", None)]);
    }
}

/// client-go: TestReflectorFullListIfExpired, TestReflectorFullListIfTooLarge.
#[tokio::test(start_paused = true)]
async fn lists_the_latest_version_if_the_requested_one_expired() {
    for error in [status(410, "Expired"), too_large()] {
        let server = Server::without_streaming();
        server.put(&config_map("a", "1"));
        let started = tokio::time::Instant::now();
        server.answer_lists([Answer::Fail(error)]);
        let (_factory, _informer) = informer(&server).await;
        assert!(started.elapsed() < Duration::from_millis(10));
        assert_eq!(server.lists(), [list("0", Some(500)), list("", Some(500))]);
        // Only this once: the next list is at the last version again.
        server.compact();
        server.cut();
        wait_out_backoff().await;
        assert_eq!(server.lists(), [list("1", None)]);
    }
}

/// client-go: TestReflectorFullListIfExpired.
#[tokio::test(start_paused = true)]
async fn lists_unpaged_after_an_expired_continue_token() {
    let server = Server::without_streaming();
    for number in 0..501 {
        server.put(&config_map(&format!("c{number:03}"), "1"));
    }
    server.answer_lists([Answer::Real, Answer::Fail(status(410, "Expired"))]);
    let (_factory, informer) = informer(&server).await;
    let lists = server.lists();
    let second = ListOptions {
        resource_version: String::new(),
        limit: Some(500),
        continue_token: Some("501/500".into()),
        ..ListOptions::default()
    };
    assert_eq!(lists, [list("0", Some(500)), second, list("0", None)]);
    assert_eq!(informer.lister().list().len(), 501);
}

/// client-go: TestReflectorPaginatingNonConsistentReadsIfWatchCacheDisabled.
#[tokio::test(start_paused = true)]
async fn pages_every_list_if_the_server_pages_at_version_zero() {
    let server = Server::without_streaming();
    for number in 0..1001 {
        server.put(&config_map(&format!("c{number:04}"), "1"));
    }
    let (_factory, informer) = informer(&server).await;
    assert_eq!(server.lists().len(), 3);
    assert_eq!(informer.lister().list().len(), 1001);
    server.compact();
    server.cut();
    wait_out_backoff().await;
    let lists = server.lists();
    assert_eq!(lists[0], list("1001", Some(500)));
    assert_eq!(lists.len(), 3);
}

/// client-go: TestNoRelistOnTooManyRequests, TestBackoffOnTooManyRequests.
#[tokio::test(start_paused = true)]
async fn busy_or_restarting_server_is_rewatched_with_backoff_without_a_relist() {
    for answer in [
        Answer::Fail(status(429, "TooManyRequests")),
        Answer::Fail(refused()),
        Answer::body(
            r#"{"type":"ERROR","object":{"kind":"Status","code":429,"reason":"TooManyRequests"}}"#.to_owned()
                + "\n",
        ),
    ] {
        let server = Server::without_streaming();
        server.put(&config_map("a", "1"));
        server.answer_watches([answer.clone(), answer]);
        let (_factory, informer) = informer(&server).await;
        let started = tokio::time::Instant::now();
        let mut watches = Vec::new();
        while watches.len() < 3 {
            tokio::time::sleep(Duration::from_millis(10)).await;
            watches.extend(server.requests().into_iter().filter(|request| match request {
                Request::Watch(options) => options.resource_version == "1",
                Request::List(options) => *options != list("0", Some(500)),
                Request::Stream(_) => false,
            }));
        }
        assert!(
            started.elapsed() >= Duration::from_millis(2400),
            "backed off by {:?}",
            started.elapsed()
        );
        assert!(
            watches.iter().all(|request| matches!(request, Request::Watch(_))),
            "{watches:?}"
        );
        server.put(&config_map("a", "2"));
        run_until_idle().await;
        assert_eq!(contents(&informer.lister()), pairs(&[("a", "2")]));
        assert_eq!(informer.stats().lists, 1);
    }
}

/// client-go: TestReflectorListAndWatchWithErrors, TestReflectorWatchHandlerError.
#[tokio::test(start_paused = true)]
async fn relists_with_backoff_after_other_watch_errors() {
    for answer in [
        Answer::Fail(status(500, "InternalError")),
        Answer::body(
            r#"{"type":"ERROR","object":{"kind":"Status","code":500,"reason":"InternalError"}}"#.to_owned()
                + "\n",
        ),
        // A watch that ends at once without an event.
        Answer::body(""),
    ] {
        let server = Server::without_streaming();
        server.put(&config_map("a", "1"));
        server.answer_watches([answer]);
        let (_factory, informer) = informer(&server).await;
        server.put_unseen(&config_map("b", "1"));
        tokio::time::sleep(Duration::from_millis(790)).await;
        assert_eq!(informer.stats().lists, 1);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!((informer.stats().lists, informer.stats().failures), (2, 1));
        assert_eq!(contents(&informer.lister()), pairs(&[("a", "1"), ("b", "1")]));
    }
}

#[tokio::test(start_paused = true)]
async fn failing_lists_back_off_to_at_most_a_minute() {
    let server = Server::without_streaming();
    server.answer_lists(vec![Answer::Fail(status(500, "InternalError")); 20]);
    let factory = server.factory();
    factory.of::<ConfigMap>();
    let started = tokio::time::Instant::now();
    factory.start();
    factory.wait_for_cache_sync().await;
    // 0.8 + 1.6 + … + 25.6 + 14 × 30 s, each with a jitter of up to its own length.
    let base = Duration::from_millis(50_400 + 14 * 30_000);
    assert!(
        (base..base * 2).contains(&started.elapsed()),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(server.lists().len(), 21);
}

#[tokio::test(start_paused = true)]
async fn dead_connection_is_detected_and_rewatched_without_a_relist() {
    let server = Server::without_streaming();
    server.put(&config_map("a", "1"));
    server.answer_watches([Answer::Silence]);
    let (_factory, informer) = informer(&server).await;
    server.put(&config_map("b", "1"));
    tokio::time::sleep(Duration::from_secs(179)).await;
    assert_eq!(informer.lister().list().len(), 1);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(informer.lister().list().len(), 2);
    assert_eq!((informer.stats().lists, informer.stats().watches), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn stalled_list_is_retried() {
    let server = Server::without_streaming();
    server.put(&config_map("a", "1"));
    server.answer_lists([Answer::Silence]);
    let (_factory, informer) = informer(&server).await;
    assert_eq!(contents(&informer.lister()), pairs(&[("a", "1")]));
    assert_eq!(informer.stats().failures, 1);
}

#[tokio::test(start_paused = true)]
async fn missing_kind_and_unreachable_server_are_retried_with_backoff() {
    let away = ListWatchError::Unreachable {
        message: "no route".into(),
        refused: false,
    };
    for error in [status(404, "NotFound"), away, refused()] {
        let server = Server::without_streaming();
        server.put(&config_map("a", "1"));
        server.answer_lists(vec![Answer::Fail(error); 5]);
        let factory = server.factory();
        let informer = factory.of::<ConfigMap>();
        factory.start();
        run_until_idle().await;
        assert!(!informer.has_synced());
        assert_eq!(factory.unsynced(), [informer.info().clone()]);
        factory.wait_for_cache_sync().await;
        assert_eq!(contents(&informer.lister()), pairs(&[("a", "1")]));
        assert_eq!((informer.stats().failures, factory.unsynced()), (5, vec![]));
    }
}

/// client-go: TestReflectorExpiredExactResourceVersion, TestReflectorFullListIfTooLarge: a relist, not a first list.
#[tokio::test(start_paused = true)]
async fn relist_at_an_expired_or_future_version_lists_the_latest() {
    for error in [status(410, "Expired"), status(410, "Gone"), too_large()] {
        let server = Server::without_streaming();
        server.put(&config_map("a", "1"));
        let (_factory, informer) = informer(&server).await;
        server.put_unseen(&config_map("b", "1"));
        server.answer_lists([Answer::Fail(error)]);
        server.reset();
        wait_out_backoff().await;
        assert_eq!(
            server.lists(),
            [list("0", Some(500)), list("1", None), list("", Some(500))]
        );
        assert_eq!(contents(&informer.lister()), server.contents());
        assert_eq!(informer.stats().failures, 0);
    }
}

/// client-go: TestReflectorResyncWithResourceVersion.
#[tokio::test(start_paused = true)]
async fn relists_at_the_version_of_the_last_list_event_or_bookmark() {
    let server = Server::without_streaming();
    server.put(&config_map("a", "1"));
    let (_factory, informer) = informer(&server).await;
    run_until_idle().await;
    server.put(&config_map("b", "1"));
    server.bookmark();
    run_until_idle().await;
    for version in ["3", "4"] {
        server.requests();
        server.reset();
        wait_out_backoff().await;
        assert_eq!(server.lists(), [list(version, None)]);
    }
    assert_eq!(contents(&informer.lister()), server.contents());
}

/// client-go: TestReflectorReplacesStoreOnUnsafeDelete: an object that the server could not read was force-deleted, so that the watch ends
/// with an error instead of a deletion event; the relist finds the deletion.
#[tokio::test(start_paused = true)]
async fn unsafe_deletion_is_found_by_the_relist_after_the_error() {
    for server in [Server::new(), Server::without_streaming()] {
        for name in ["one", "two", "three"] {
            server.put(&config_map(name, "1"));
        }
        let (_factory, informer) = informer(&server).await;
        let seen = RecordingHandler::default();
        informer.add_event_handler(seen.clone());
        server.put(&config_map("corrupt", "1"));
        run_until_idle().await;
        seen.take();
        server.delete_unseen("default", "corrupt");
        let status = json!({"kind": "Status", "status": "Failure", "code": 500, "reason": "StorageReadError",
            "message": "failed to prepare current and previous objects: corrupt object has been deleted"});
        server.send(&json!({"type": "ERROR", "object": status}).to_string());
        run_until_idle().await;
        assert_eq!(informer.lister().list().len(), 4);
        wait_out_backoff().await;
        assert_eq!(seen.take(), ["delete corrupt=1 unseen"]);
        assert_eq!(contents(&informer.lister()), server.contents());
        assert_eq!(informer.last_resource_version(None).as_deref(), Some("5"));
    }
}

/// client-go: TestReflectorListAndWatchWithErrors: after any failures, each list finds the store as the watches left it.
#[tokio::test(start_paused = true)]
async fn failing_lists_and_watches_lose_nothing() {
    for server in [Server::new(), Server::without_streaming()] {
        let (_factory, informer) = informer(&server).await;
        let seen = RecordingHandler::default();
        informer.add_event_handler(seen.clone());
        server.put(&config_map("foo", "1"));
        server.put(&config_map("bar", "1"));
        run_until_idle().await;
        server.reset();
        wait_out_backoff().await;
        server.delete("default", "foo");
        server.put(&config_map("qux", "1"));
        run_until_idle().await;
        server.answer_streams([Answer::Fail(status(500, "InternalError"))]);
        server.answer_lists([Answer::Fail(status(500, "InternalError"))]);
        server.reset();
        wait_out_backoff().await;
        server.answer_watches([Answer::Fail(status(503, "ServiceUnavailable"))]);
        server.cut();
        wait_out_backoff().await;
        server.put(&config_map("baz", "1"));
        run_until_idle().await;
        assert_eq!(
            seen.take(),
            ["add foo=1", "add bar=1", "delete foo=1", "add qux=1", "add baz=1"]
        );
        assert_eq!(contents(&informer.lister()), server.contents());
        assert_eq!(informer.stats().failures, 2);
    }
}

/// client-go: TestReflectorListExtract: stored items do not share the buffers of their list.
#[tokio::test(start_paused = true)]
async fn list_items_are_complete_and_each_has_its_own_bytes() {
    for server in [Server::new(), Server::without_streaming()] {
        for number in 0..1200 {
            server.put(&config_map(&format!("c{number:04}"), &format!("datum {number}")));
        }
        let (_factory, informer) = informer(&server).await;
        assert_eq!(contents(&informer.lister()), server.contents());
        for number in [0, 499, 500, 1199] {
            let object = informer.lister().object(&name(&format!("c{number:04}"))).unwrap();
            let json: serde_json::Value = serde_json::from_slice(&object.json()).unwrap();
            assert_eq!(json["kind"], "ConfigMap");
            assert_eq!(json["metadata"].get("managedFields"), None);
            assert_eq!(object.metadata().resource_version(), (number + 1).to_string());
        }
    }
}
