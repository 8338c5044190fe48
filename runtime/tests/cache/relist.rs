//! Which requests the reflector sends to a server without streaming lists, and when.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::cache::{ListOptions, ListWatchError};
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
async fn lists_at_zero_then_watches_from_the_lists_version() {
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
    settle().await;
    assert_eq!(contents(&informer.lister()), pairs(&[("b", "2"), ("c", "1")]));
    assert_eq!(server.requests(), []);
}

/// client-go: TestReflectorWatchHandler, TestReflectorResyncWithResourceVersion.
#[tokio::test(start_paused = true)]
async fn goes_on_after_a_watch_from_the_last_event_or_bookmark() {
    let server = Server::without_streaming();
    server.put(&config_map("a", "0"));
    let (_factory, informer) = informer(&server).await;
    settle().await;
    server.requests();
    server.put(&config_map("a", "1"));
    tokio::time::sleep(Duration::from_secs(5)).await;
    server.cut();
    settle().await;
    assert_eq!(server.watch_versions(), ["2"]);
    server.bookmark();
    tokio::time::sleep(Duration::from_secs(5)).await;
    server.cut();
    settle().await;
    assert_eq!(server.watch_versions(), ["3"]);
    server.put(&config_map("a", "2"));
    settle().await;
    assert_eq!(contents(&informer.lister()), pairs(&[("a", "2")]));
    assert_eq!(informer.stats().lists, 1);
}

/// client-go: TestReflectorWatchHandler's cases of synthetic additions.
#[tokio::test(start_paused = true)]
async fn the_unordered_additions_of_a_watch_from_zero_do_not_move_the_version() {
    let server = Server::without_streaming();
    let (_factory, informer) = informer(&server).await;
    server.put(&config_map("a", "1"));
    server.put(&config_map("b", "1"));
    tokio::time::sleep(Duration::from_secs(5)).await;
    server.cut();
    settle().await;
    server.put(&config_map("a", "2"));
    tokio::time::sleep(Duration::from_secs(5)).await;
    server.cut();
    settle().await;
    assert_eq!(server.watch_versions(), ["0", "0", "3"]);
    assert_eq!(contents(&informer.lister()), server.contents());
}

/// client-go: TestReflectorNotPaginatingNotConsistentReads, TestReflectorExpiredExactResourceVersion.
#[tokio::test(start_paused = true)]
async fn relists_at_the_last_version_unpaged_when_a_watch_has_expired() {
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
        long_after().await;
        assert_eq!(server.lists(), [list("0", Some(500)), list("1", None)]);
    }
}

/// client-go: TestReflectorFullListIfExpired, TestReflectorFullListIfTooLarge.
#[tokio::test(start_paused = true)]
async fn lists_the_newest_at_once_when_the_version_cannot_be_listed() {
    for error in [status(410, "Expired"), too_large()] {
        let server = Server::without_streaming();
        server.put(&config_map("a", "1"));
        let started = tokio::time::Instant::now();
        server.answer_lists([Answer::Fail(error)]);
        let (_factory, _informer) = informer(&server).await;
        assert!(started.elapsed() < Duration::from_millis(10));
        assert_eq!(server.lists(), [list("0", Some(500)), list("", Some(500))]);
        // It was an exception: the next list is at the last version again.
        server.compact();
        server.cut();
        long_after().await;
        assert_eq!(server.lists(), [list("1", None)]);
    }
}

/// client-go: TestReflectorFullListIfExpired.
#[tokio::test(start_paused = true)]
async fn lists_unpaged_when_a_later_page_has_expired() {
    let server = Server::without_streaming();
    for number in 0..501 {
        server.put(&config_map(&format!("c{number:03}"), "1"));
    }
    server.answer_lists([Answer::Truth, Answer::Fail(status(410, "Expired"))]);
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
async fn pages_every_list_of_a_server_that_pages_at_zero() {
    let server = Server::without_streaming();
    for number in 0..1001 {
        server.put(&config_map(&format!("c{number:04}"), "1"));
    }
    let (_factory, informer) = informer(&server).await;
    assert_eq!(server.lists().len(), 3);
    assert_eq!(informer.lister().list().len(), 1001);
    server.compact();
    server.cut();
    long_after().await;
    let lists = server.lists();
    assert_eq!(lists[0], list("1001", Some(500)));
    assert_eq!(lists.len(), 3);
}

/// client-go: TestNoRelistOnTooManyRequests, TestBackoffOnTooManyRequests.
#[tokio::test(start_paused = true)]
async fn waits_and_watches_on_without_a_list_when_the_server_is_busy_or_restarts() {
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
        settle().await;
        assert_eq!(contents(&informer.lister()), pairs(&[("a", "2")]));
        assert_eq!(informer.stats().lists, 1);
    }
}

/// client-go: TestReflectorListAndWatchWithErrors, TestReflectorWatchHandlerError.
#[tokio::test(start_paused = true)]
async fn relists_with_backoff_after_any_other_error_of_a_watch() {
    for answer in [
        Answer::Fail(status(500, "InternalError")),
        Answer::body(
            r#"{"type":"ERROR","object":{"kind":"Status","code":500,"reason":"InternalError"}}"#.to_owned()
                + "\n",
        ),
        // Ends at once, without an event.
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
    // 0.8 + 1.6 + … + 25.6 + 14 × 30 s, each stretched by up to once its length.
    let base = Duration::from_millis(50_400 + 14 * 30_000);
    assert!(
        (base..base * 2).contains(&started.elapsed()),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(server.lists().len(), 21);
}

#[tokio::test(start_paused = true)]
async fn notices_a_dead_connection_and_watches_on_without_a_list() {
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
async fn a_list_that_stalls_is_tried_again() {
    let server = Server::without_streaming();
    server.put(&config_map("a", "1"));
    server.answer_lists([Answer::Silence]);
    let (_factory, informer) = informer(&server).await;
    assert_eq!(contents(&informer.lister()), pairs(&[("a", "1")]));
    assert_eq!(informer.stats().failures, 1);
}

#[tokio::test(start_paused = true)]
async fn waits_for_a_kind_that_is_not_installed_and_for_a_server_that_is_away() {
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
        settle().await;
        assert!(!informer.has_synced());
        assert_eq!(factory.unsynced(), [informer.info().clone()]);
        factory.wait_for_cache_sync().await;
        assert_eq!(contents(&informer.lister()), pairs(&[("a", "1")]));
        assert_eq!((informer.stats().failures, factory.unsynced()), (5, vec![]));
    }
}

/// client-go: TestReflectorExpiredExactResourceVersion, TestReflectorFullListIfTooLarge: a relist, not a first list.
#[tokio::test(start_paused = true)]
async fn a_relist_whose_version_is_gone_or_not_there_yet_lists_the_newest() {
    for error in [status(410, "Expired"), status(410, "Gone"), too_large()] {
        let server = Server::without_streaming();
        server.put(&config_map("a", "1"));
        let (_factory, informer) = informer(&server).await;
        server.put_unseen(&config_map("b", "1"));
        server.answer_lists([Answer::Fail(error)]);
        server.reset();
        long_after().await;
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
    settle().await;
    server.put(&config_map("b", "1"));
    server.bookmark();
    settle().await;
    for version in ["3", "4"] {
        server.requests();
        server.reset();
        long_after().await;
        assert_eq!(server.lists(), [list(version, None)]);
    }
    assert_eq!(contents(&informer.lister()), server.contents());
}

/// client-go: TestReflectorReplacesStoreOnUnsafeDelete: an object that the server could not read was deleted by force, so that the watch
/// ends with an error instead of a deletion; the list brings it.
#[tokio::test(start_paused = true)]
async fn an_unsafe_deletion_is_found_by_the_list_after_the_error() {
    for server in [Server::new(), Server::without_streaming()] {
        for name in ["one", "two", "three"] {
            server.put(&config_map(name, "1"));
        }
        let (_factory, informer) = informer(&server).await;
        let seen = Diary::default();
        informer.add_event_handler(seen.clone());
        server.put(&config_map("corrupt", "1"));
        settle().await;
        seen.take();
        server.delete_unseen("default", "corrupt");
        let status = json!({"kind": "Status", "status": "Failure", "code": 500, "reason": "StorageReadError",
            "message": "failed to prepare current and previous objects: corrupt object has been deleted"});
        server.send(&json!({"type": "ERROR", "object": status}).to_string());
        settle().await;
        assert_eq!(informer.lister().list().len(), 4);
        long_after().await;
        assert_eq!(seen.take(), ["delete corrupt=1 unseen"]);
        assert_eq!(contents(&informer.lister()), server.contents());
        assert_eq!(informer.last_resource_version(None).as_deref(), Some("5"));
    }
}

/// client-go: TestReflectorListAndWatchWithErrors: whatever fails in between, each list finds the store as the watches left it.
#[tokio::test(start_paused = true)]
async fn lists_and_watches_that_fail_lose_nothing() {
    for server in [Server::new(), Server::without_streaming()] {
        let (_factory, informer) = informer(&server).await;
        let seen = Diary::default();
        informer.add_event_handler(seen.clone());
        server.put(&config_map("foo", "1"));
        server.put(&config_map("bar", "1"));
        settle().await;
        server.reset();
        long_after().await;
        server.delete("default", "foo");
        server.put(&config_map("qux", "1"));
        settle().await;
        server.answer_streams([Answer::Fail(status(500, "InternalError"))]);
        server.answer_lists([Answer::Fail(status(500, "InternalError"))]);
        server.reset();
        long_after().await;
        server.answer_watches([Answer::Fail(status(503, "ServiceUnavailable"))]);
        server.cut();
        long_after().await;
        server.put(&config_map("baz", "1"));
        settle().await;
        assert_eq!(
            seen.take(),
            ["add foo=1", "add bar=1", "delete foo=1", "add qux=1", "add baz=1"]
        );
        assert_eq!(contents(&informer.lister()), server.contents());
        assert_eq!(informer.stats().failures, 2);
    }
}

/// client-go: TestReflectorListExtract: every item of a list is an object of its own, whatever its list's buffers.
#[tokio::test(start_paused = true)]
async fn the_items_of_a_list_are_all_there_each_with_its_own_bytes() {
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
