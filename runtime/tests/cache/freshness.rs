//! `wait_until_current`: a new leader waits until its caches are as current as a quorum read.

use std::{sync::Arc, time::Duration};

use kubewright::cache::{SharedInformerFactory, list_watch::ListOptions};
use serde_json::json;
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

use crate::support::{
    log::Log,
    server::{Answer, Request, Server, status},
    *,
};

fn wait(factory: &SharedInformerFactory) -> JoinHandle<Duration> {
    let (factory, began) = (factory.clone(), Instant::now());
    tokio::spawn(async move {
        factory.wait_until_current().await;
        began.elapsed()
    })
}

fn bookmark(version: &str) -> String {
    let metadata = json!({"resourceVersion": version});
    let bookmark = json!({"type": "BOOKMARK", "object": {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata}});
    format!("{bookmark}\n")
}

fn modified(name: &str, version: &str) -> String {
    let mut object = config_map(name, "2");
    object["metadata"]["resourceVersion"] = version.into();
    object["metadata"]["uid"] = "uid-0".into();
    object["kind"] = "ConfigMap".into();
    object["apiVersion"] = "v1".into();
    format!("{}\n", json!({"type": "MODIFIED", "object": object}))
}

/// Returns a server with two objects and a synced informer; the recorded requests are cleared.
async fn server() -> (Arc<Server>, SharedInformerFactory) {
    server_of(&["b", "a"]).await
}

async fn server_of(names: &[&str]) -> (Arc<Server>, SharedInformerFactory) {
    let server = Server::new();
    for name in names {
        server.put(&config_map(name, "1"));
    }
    let (factory, _) = informer(&server).await;
    server.requests();
    (server, factory)
}

#[tokio::test(start_paused = true)]
async fn current_cache_costs_one_list_of_one_object() {
    let (server, factory) = server().await;
    assert_eq!(wait(&factory).await.unwrap(), Duration::ZERO);
    let list = ListOptions {
        limit: Some(1),
        ..ListOptions::default()
    };
    assert_eq!(
        server.requests(),
        [Request::List(list)],
        "without a version: a quorum"
    );
}

#[tokio::test(start_paused = true)]
async fn events_in_flight_are_waited_for() {
    let (server, factory) = server().await;
    server.hold();
    server.put(&config_map("a", "2"));
    let waiting = wait(&factory);
    sleep(Duration::from_secs(2)).await;
    assert!(!waiting.is_finished());
    server.release();
    assert!(waiting.await.unwrap() < Duration::from_millis(2100));
}

#[tokio::test(start_paused = true)]
async fn idle_kind_is_confirmed_by_the_bookmark_of_a_short_watch() {
    let (server, factory) = server().await;
    // Other kinds changed.
    server.set_version(50);
    server.answer_watches([Answer::body(bookmark("49")), Answer::body(bookmark("50"))]);
    assert!(
        wait(&factory).await.unwrap() < Duration::from_secs(3),
        "at the second watch"
    );
    let requests = server.requests();
    let [Request::List(_), Request::Watch(first), Request::Watch(second)] = &requests[..] else {
        panic!("{requests:?}");
    };
    assert_eq!(first, second);
    assert_eq!((&*first.resource_version, first.timeout_seconds), ("2", 3));
}

/// As for an operator in a new cluster.
#[tokio::test(start_paused = true)]
async fn kind_with_at_most_one_object_is_confirmed_at_once() {
    for names in [&[][..], &["a"]] {
        let (server, factory) = server_of(names).await;
        server.set_version(50);
        assert_eq!(wait(&factory).await.unwrap(), Duration::ZERO);
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn single_object_in_another_version_is_waited_for() {
    for is_there in [true, false] {
        let (server, factory) = server_of(if is_there { &["a"] } else { &[] }).await;
        server.hold();
        server.put(&config_map("a", "2"));
        server.answer_watches(vec![Answer::Silence; 100]);
        let waiting = wait(&factory);
        sleep(Duration::from_secs(2)).await;
        assert!(!waiting.is_finished());
        server.release();
        sleep(Duration::from_millis(30)).await;
        assert!(waiting.is_finished());
    }
}

#[tokio::test(start_paused = true)]
async fn change_seen_by_the_short_watch_is_waited_for_without_timeout() {
    let (server, factory) = server().await;
    server.hold();
    server.set_version(9);
    server.put(&config_map("a", "2"));
    server.set_version(50);
    server.answer_watches([Answer::Open(modified("a", "10") + &bookmark("50"))]);
    let waiting = wait(&factory);
    sleep(Duration::from_mins(2)).await;
    assert!(!waiting.is_finished());
    server.release();
    sleep(Duration::from_millis(30)).await;
    assert!(waiting.is_finished(), "at version 10 it has all up to 50");
}

#[tokio::test(start_paused = true)]
async fn api_server_without_bookmarks_is_waited_for_30_seconds() {
    let (server, factory) = server().await;
    server.set_version(50);
    server.answer_watches(vec![Answer::Silence; 100]);
    let log = Log::start();
    let waited = wait(&factory).await.unwrap();
    assert!((30..40).contains(&waited.as_secs()), "{waited:?}");
    assert_eq!(log.lines("cannot tell within").len(), 1);
    assert!(server.requests().len() < 20);
}

/// As those of an API server that is being stopped.
#[tokio::test(start_paused = true)]
async fn watches_that_end_at_once_are_not_repeated_without_a_pause() {
    let (server, factory) = server().await;
    server.set_version(50);
    server.answer_watches(vec![Answer::body(""); 100]);
    let waited = wait(&factory).await.unwrap();
    assert!((30..40).contains(&waited.as_secs()), "{waited:?}");
    assert!(server.requests().len() < 40);
}

#[tokio::test(start_paused = true)]
async fn kind_that_is_not_served_any_more_is_not_waited_for() {
    for (code, reason) in [(404, "NotFound"), (403, "Forbidden")] {
        let (server, factory) = server().await;
        server.answer_lists([Answer::Fail(status(code, reason))]);
        assert_eq!(wait(&factory).await.unwrap(), Duration::ZERO);
    }
}

#[tokio::test(start_paused = true)]
async fn failed_quorum_list_is_retried_with_backoff() {
    let (server, factory) = server().await;
    let answers = [
        Answer::Fail(status(500, "InternalError")),
        Answer::Never,
        Answer::body("<html>Please log in</html>"),
        Answer::Fail(status(401, "Unauthorized")),
    ];
    server.answer_lists(answers);
    let log = Log::start();
    let waited = wait(&factory).await.unwrap();
    // Backoffs of 0.5, 1, 2 and 4 seconds, and the timeout of ten seconds of an unanswered request.
    assert_eq!(waited, Duration::from_millis(17_500));
    assert_eq!(log.lines("cannot check whether the cache is up to date").len(), 4);
}

#[tokio::test(start_paused = true)]
async fn non_numeric_versions_are_not_waited_for() {
    let (server, factory) = server().await;
    server.answer_lists([Answer::body(
        r#"{"metadata":{"resourceVersion":"v7"},"items":[]}"#,
    )]);
    let log = Log::start();
    assert_eq!(wait(&factory).await.unwrap(), Duration::ZERO);
    assert_eq!(log.lines("is not a number").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn freshness_wait_ends_at_shutdown() {
    let (server, factory) = server().await;
    server.answer_lists(vec![Answer::Never; 10]);
    let waiting = wait(&factory);
    sleep(Duration::from_secs(1)).await;
    factory.shutdown().await;
    waiting.await.unwrap();
}
