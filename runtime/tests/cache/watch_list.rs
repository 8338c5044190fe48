//! Streaming lists (WatchList): their requests, when the store is replaced, and the fallback to paged lists.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::cache::{
    SharedInformer, SharedInformerFactory,
    list_watch::{ListOptions, ListWatchError, ReflectorOptions},
};
use serde_json::{Value, json};

use crate::support::{
    log::Log,
    server::{Answer, Request, Server, Streaming, initial_events_end, refused, status, too_large},
    *,
};

fn event(kind: &str, name: &str, version: u64, datum: &str) -> String {
    let mut object: Value = config_map(name, datum);
    object["kind"] = "ConfigMap".into();
    object["apiVersion"] = "v1".into();
    object["metadata"]["uid"] = name.into();
    object["metadata"]["resourceVersion"] = version.to_string().into();
    json!({"type": kind, "object": object}).to_string()
}

fn lines(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}

fn plain_bookmark(version: u64) -> String {
    initial_events_end(version).replace(r#""true""#, r#""false""#)
}

/// Starts an informer without waiting for the cache sync.
fn started(server: &std::sync::Arc<Server>) -> (SharedInformerFactory, SharedInformer<ConfigMap>) {
    let factory = server.factory();
    let informer = factory.of::<ConfigMap>();
    factory.start();
    (factory, informer)
}

fn stream(version: &str) -> Request {
    Request::Stream(version.into())
}

fn first_list() -> Request {
    Request::List(ListOptions {
        resource_version: "0".into(),
        limit: Some(500),
        ..ListOptions::default()
    })
}

fn watch_from(request: &Request) -> &str {
    match request {
        Request::Watch(options) => &options.resource_version,
        other => panic!("{other:?} is no watch"),
    }
}

/// client-go: TestWatchList, "the reflector won't be synced if the bookmark event has been received" (that is: has not);
/// TestWatchListResourceVersion, without and with an event.
#[tokio::test(start_paused = true)]
async fn store_is_empty_until_the_initial_events_end_bookmark() {
    for body in [String::new(), lines(&[event("ADDED", "a", 1, "1")])] {
        let server = Server::new();
        server.answer_streams([Answer::Open(body)]);
        let (_factory, informer) = started(&server);
        tokio::time::sleep(Duration::from_secs(29)).await;
        assert!(!informer.has_synced());
        assert_eq!(informer.lister().list().len(), 0);
        assert_eq!(informer.last_resource_version(None), None);
        assert_eq!(server.requests(), [stream("")]);
    }
}

/// client-go: TestWatchList, "the reflector uses the old LIST/WATCH semantics if the UseWatchList is turned off";
/// TestNewReflectorWithDisablementWatchList.
#[tokio::test(start_paused = true)]
async fn lists_and_watches_if_streaming_lists_are_disabled() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    let factory = server.factory();
    factory.set_reflector_options(ReflectorOptions {
        streaming_lists: false,
        ..ReflectorOptions::default()
    });
    let informer = factory.of::<ConfigMap>();
    factory.start();
    factory.wait_for_cache_sync().await;
    run_until_idle().await;
    assert_eq!(contents(&informer.lister()), pairs(&[("a", "1")]));
    let requests = server.requests();
    assert_eq!((&requests[0], requests.len()), (&first_list(), 2));
    assert_eq!(watch_from(&requests[1]), "1");
}

/// client-go: TestWatchList, "returning any other error than apierrors.NewInvalid forces fallback".
#[tokio::test(start_paused = true)]
async fn permanent_refusal_falls_back_to_a_list_at_once_and_is_retried_later() {
    for error in [
        status(403, "Forbidden"),
        status(500, "InternalError"),
        status(404, "NotFound"),
        status(410, "Expired"),
    ] {
        let server = Server::new();
        server.put(&config_map("a", "1"));
        server.answer_streams([Answer::Fail(error.clone())]);
        let before = tokio::time::Instant::now();
        let (_factory, informer) = informer(&server).await;
        assert!(before.elapsed() < Duration::from_millis(10));
        run_until_idle().await;
        server.put(&config_map("b", "2"));
        run_until_idle().await;
        assert_eq!(contents(&informer.lister()), server.contents());
        let requests = server.requests();
        assert_eq!(requests[..2], [stream(""), first_list()], "{error}");
        assert_eq!((watch_from(&requests[2]), requests.len()), ("1", 3));
        assert_eq!(informer.stats().failures, 0);
        // The next relist tries a streaming list again.
        server.reset();
        wait_out_backoff().await;
        assert_eq!(server.streams(), ["2"]);
    }
}

/// client-go: TestWatchList, "the reflector can fall back to old LIST/WATCH semantics when a server doesn't support streaming".
/// client-go tries a streaming list at every relist; we do after an hour.
#[tokio::test(start_paused = true)]
async fn server_without_streaming_lists_is_not_retried_for_an_hour() {
    for error in [status(422, "Invalid"), status(400, "BadRequest")] {
        let server = Server::new();
        server.put(&config_map("a", "1"));
        server.answer_streams([Answer::Fail(error)]);
        let (_factory, informer) = informer(&server).await;
        let requests = server.requests();
        assert_eq!(requests[..2], [stream(""), first_list()]);
        server.reset();
        tokio::time::sleep(Duration::from_mins(50)).await;
        assert_eq!(server.streams(), [""; 0]);
        assert_eq!((informer.stats().lists, informer.stats().failures), (2, 0));
        tokio::time::sleep(Duration::from_mins(11)).await;
        server.reset();
        wait_out_backoff().await;
        assert_eq!(server.streams(), ["2"]);
        assert_eq!(informer.stats().lists, 3);
    }
}

/// client-go: TestWatchList, "prove that the reflector is synced after receiving a bookmark event"; TestWatchListResourceVersion, "non empty
/// resource version with bookmark event and initial events annotation".
#[tokio::test(start_paused = true)]
async fn bookmark_makes_the_list_visible_atomically_and_the_watch_continues() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    server.put(&config_map("b", "1"));
    let (_factory, informer) = started(&server);
    let seen = RecordingHandler::default();
    informer.add_event_handler(seen.clone());
    informer.wait_for_sync().await;
    assert_eq!(informer.last_resource_version(None).as_deref(), Some("2"));
    server.put(&config_map("b", "2"));
    server.delete("default", "a");
    run_until_idle().await;
    assert_eq!(
        seen.take(),
        [
            "add a=1 initial",
            "add b=1 initial",
            "update b=1->2",
            "delete a=1"
        ]
    );
    assert_eq!(server.requests(), [stream("")]);
    let stats = informer.stats();
    assert_eq!((stats.lists, stats.watches, stats.failures), (1, 1, 0));
}

/// client-go: TestWatchList, "check if Updates and Deletes events are propagated during streaming (until the bookmark is received)".
#[tokio::test(start_paused = true)]
async fn last_initial_event_of_a_name_wins() {
    let server = Server::new();
    server.answer_streams([Answer::Open(lines(&[
        event("ADDED", "a", 1, "1"),
        event("ADDED", "b", 2, "1"),
        event("MODIFIED", "a", 3, "2"),
        event("ADDED", "c", 4, "1"),
        event("DELETED", "c", 5, "1"),
        event("ADDED", "b", 6, "2"),
        event("DELETED", "nobody", 7, "1"),
        event("ADDED", "d", 8, "1"),
        event("DELETED", "d", 9, "1"),
        event("ADDED", "d", 10, "2"),
        initial_events_end(10),
        // In the same chunk as the bookmark: part of the watch that follows.
        event("MODIFIED", "d", 11, "3"),
    ]))]);
    let (_factory, informer) = started(&server);
    let seen = RecordingHandler::default();
    informer.add_event_handler(seen.clone());
    informer.wait_for_sync().await;
    run_until_idle().await;
    assert_eq!(
        seen.take(),
        [
            "add a=2 initial",
            "add b=2 initial",
            "add d=2 initial",
            "update d=2->3"
        ]
    );
    assert_eq!(informer.last_resource_version(None).as_deref(), Some("11"));
}

/// client-go: TestWatchList, "checks if the reflector retries 429".
#[tokio::test(start_paused = true)]
async fn busy_server_is_asked_for_the_streaming_list_again() {
    let error =
        json!({"type": "ERROR", "object": {"kind": "Status", "code": 429, "reason": "TooManyRequests"}});
    for answer in [
        Answer::Fail(status(429, "TooManyRequests")),
        Answer::Fail(refused()),
        Answer::body(lines(&[event("ADDED", "gone", 1, "1"), error.to_string()])),
    ] {
        let server = Server::new();
        server.put(&config_map("a", "1"));
        server.answer_streams([answer.clone(), answer]);
        let before = tokio::time::Instant::now();
        let (_factory, informer) = informer(&server).await;
        assert!(before.elapsed() >= Duration::from_millis(2400));
        assert_eq!(contents(&informer.lister()), pairs(&[("a", "1")]));
        assert_eq!(server.requests(), [stream(""), stream(""), stream("")]);
        assert_eq!(informer.stats().failures, 2);
    }
}

/// client-go: TestWatchList, "check if stopping a watcher before sync results in creating a new watch-list request". client-go repeats
/// that without end; we list after the second time.
#[tokio::test(start_paused = true)]
async fn streaming_list_that_ends_early_is_retried_once() {
    let torn = Answer::body(lines(&[event("ADDED", "gone", 1, "1")]));
    let server = Server::new();
    server.put(&config_map("a", "1"));
    server.answer_streams([torn.clone()]);
    let (_factory, first) = informer(&server).await;
    assert_eq!(contents(&first.lister()), pairs(&[("a", "1")]));
    assert_eq!(server.requests(), [stream(""), stream("")]);
    assert_eq!(first.stats().failures, 1);

    server.answer_streams([torn.clone(), torn]);
    let (_factory, second) = informer(&server).await;
    assert_eq!(contents(&second.lister()), pairs(&[("a", "1")]));
    assert_eq!(server.requests()[..3], [stream(""), stream(""), first_list()]);
    assert_eq!(second.stats().failures, 2);
}

/// client-go: TestWatchList, "stopping a watcher after synchronization results in creating a new watch request".
#[tokio::test(start_paused = true)]
async fn watch_after_the_streaming_list_resumes_from_the_last_event() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    let (_factory, informer) = informer(&server).await;
    server.put(&config_map("b", "1"));
    tokio::time::sleep(Duration::from_secs(5)).await;
    server.cut();
    server.put(&config_map("c", "1"));
    run_until_idle().await;
    assert_eq!(contents(&informer.lister()), server.contents());
    let requests = server.requests();
    assert_eq!(
        (&requests[0], watch_from(&requests[1]), requests.len()),
        (&stream(""), "2", 2)
    );
    assert_eq!(informer.stats().lists, 1);
}

/// client-go: TestWatchList, "expiring an established watcher results in returning an error from the reflector".
#[tokio::test(start_paused = true)]
async fn expired_watch_is_followed_by_a_streaming_list_from_the_last_version() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    let (_factory, informer) = informer(&server).await;
    server.put(&config_map("b", "1"));
    tokio::time::sleep(Duration::from_secs(5)).await;
    server.put_unseen(&config_map("c", "1"));
    server.compact();
    server.cut();
    wait_out_backoff().await;
    assert_eq!(contents(&informer.lister()), server.contents());
    let requests = server.requests();
    assert_eq!(
        (watch_from(&requests[1]), &requests[2], requests.len()),
        ("2", &stream("2"), 3)
    );
    assert_eq!((informer.stats().lists, informer.stats().failures), (2, 0));
}

/// client-go: TestWatchList, "prove that the reflector is checking the value of the initialEventsEnd annotation".
#[tokio::test(start_paused = true)]
async fn other_annotation_values_do_not_end_the_initial_events() {
    let server = Server::new();
    server.answer_streams([Answer::Open(lines(&[
        event("ADDED", "a", 1, "1"),
        plain_bookmark(2),
    ]))]);
    let (_factory, informer) = started(&server);
    tokio::time::sleep(Duration::from_secs(29)).await;
    assert!(!informer.has_synced());
    assert_eq!(server.requests(), [stream("")]);
}

/// client-go: the same rule as for lists, in watchList.
#[tokio::test(start_paused = true)]
async fn streams_the_latest_version_if_the_requested_one_is_unavailable() {
    for error in [status(410, "Expired"), too_large()] {
        let server = Server::new();
        server.put(&config_map("a", "1"));
        let (_factory, informer) = informer(&server).await;
        server.answer_streams([Answer::Fail(error)]);
        server.reset();
        wait_out_backoff().await;
        assert_eq!(server.requests(), [stream(""), stream("1"), stream("")]);
        assert_eq!((informer.stats().lists, informer.stats().failures), (2, 0));
        // Only this once.
        server.reset();
        wait_out_backoff().await;
        assert_eq!(server.streams(), ["2"]);
    }
}

/// As older API servers do, and some that are not a kube-apiserver. client-go waits without end, and warns.
#[tokio::test(start_paused = true)]
async fn server_that_ignores_send_initial_events_is_listed_after_30_seconds() {
    let log = Log::start();
    let server = Server::new();
    server.streaming(Streaming::Ignored);
    server.put(&config_map("a", "1"));
    let (factory, informer) = started(&server);
    tokio::time::sleep(Duration::from_secs(21)).await;
    assert_eq!(
        log.lines("the streaming list has stalled").len(),
        2,
        "warns every ten seconds"
    );
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(informer.has_synced());
    assert_eq!(server.requests()[..2], [stream(""), first_list()]);
    server.reset();
    wait_out_backoff().await;
    assert_eq!((server.streams().len(), informer.stats().lists), (0, 2));
    factory.shutdown().await;
}

/// A busy server is never silent, so that a timeout without data does not help.
#[tokio::test(start_paused = true)]
async fn busy_server_that_ignores_send_initial_events_is_listed_after_two_bookmarks() {
    let server = Server::new();
    server.streaming(Streaming::Ignored);
    let (_factory, informer) = started(&server);
    for second in 0..120_u32 {
        server.put(&config_map("a", &second.to_string()));
        if second % 60 == 59 {
            assert!(!informer.has_synced());
            server.bookmark();
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert!(informer.has_synced());
    assert_eq!(contents(&informer.lister()), server.contents());
}

/// A proxy may buffer the response head until there is a body.
#[tokio::test(start_paused = true)]
async fn server_that_does_not_answer_the_streaming_list_is_listed_after_30_seconds() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    server.answer_streams([Answer::Never]);
    let before = tokio::time::Instant::now();
    let (_factory, _informer) = informer(&server).await;
    assert_eq!(before.elapsed().as_secs(), 30);
    assert_eq!(server.requests()[..2], [stream(""), first_list()]);
}

#[tokio::test(start_paused = true)]
async fn unreachable_server_is_not_asked_for_a_list() {
    let away = ListWatchError::Unreachable {
        message: "no route".into(),
        refused: false,
    };
    let server = Server::new();
    server.answer_streams(vec![Answer::Fail(away); 3]);
    let (_factory, informer) = informer(&server).await;
    assert_eq!(server.requests(), vec![stream(""); 4]);
    assert_eq!(informer.stats().failures, 3);
}

/// Bad data among the initial events causes a list.
#[tokio::test(start_paused = true)]
async fn unreadable_streaming_list_is_followed_by_a_list() {
    for bad in [
        "<html>",
        r#"{"type":"ADDED","object":{"metadata":{}}}"#,
        r#"{"type":"BOOKMARK","object":{"metadata":{}}}"#,
    ] {
        let server = Server::new();
        server.put(&config_map("a", "1"));
        server.answer_streams([Answer::Open(lines(&[event("ADDED", "gone", 1, "1"), bad.into()]))]);
        let (_factory, informer) = informer(&server).await;
        assert_eq!(contents(&informer.lister()), pairs(&[("a", "1")]));
        assert_eq!(server.requests()[..2], [stream(""), first_list()]);
        assert_eq!(informer.stats().failures, 1);
    }
}

/// A bad line after the initial events ends the watch, as in any watch; the list remains valid.
#[tokio::test(start_paused = true)]
async fn bad_line_after_the_bookmark_does_not_undo_the_list() {
    let server = Server::new();
    server.answer_streams([Answer::Open(lines(&[
        event("ADDED", "a", 1, "1"),
        initial_events_end(1),
        event("ADDED", "b", 2, "1"),
        "{}".into(),
    ]))]);
    let (_factory, informer) = informer(&server).await;
    run_until_idle().await;
    assert_eq!(contents(&informer.lister()), pairs(&[("a", "1"), ("b", "1")]));
    assert_eq!((informer.stats().lists, informer.stats().failures), (1, 1));
}
