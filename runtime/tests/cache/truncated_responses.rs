//! Connections that break in the middle of a body: truncated chunked bodies and resets. Complete lines of a watch are applied; an incomplete
//! list is discarded.

use std::{sync::mpsc, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::cache::list_watch::ListWatchError;
use serde_json::json;
use tokio::time::Instant;

use crate::support::{
    log::Log,
    server::{Answer, Request, Server, initial_events_end},
    *,
};

/// Returns a watch line as the scripted server sends it.
fn added(name: &str, version: u64) -> String {
    let mut object = config_map(name, "1");
    object["kind"] = "ConfigMap".into();
    object["apiVersion"] = "v1".into();
    object["metadata"]["uid"] = format!("uid-{}", version - 1).into();
    object["metadata"]["resourceVersion"] = version.to_string().into();
    format!("{}\n", json!({"type": "ADDED", "object": object}))
}

/// client-go: TestReflectorStopWatch and the decoder's errors in TestReflectorWatchHandler: after a broken watch, another one resumes from
/// the last version.
#[tokio::test(start_paused = true)]
async fn broken_watch_resumes_from_the_last_complete_line() {
    let server = Server::without_streaming();
    server.put(&config_map("a", "1"));
    let (b, c) = (added("b", 2), added("c", 3));
    server.answer_watches([Answer::broken_connection(
        [b.as_bytes(), &c.as_bytes()[..40]].concat(),
    )]);
    let (_factory, informer) = informer(&server).await;
    let seen = RecordingHandler::default();
    informer.add_event_handler(seen.clone());
    run_until_idle().await;
    assert_eq!(
        (seen.take().len(), contents(&informer.lister())),
        (2, pairs(&[("a", "1"), ("b", "1")]))
    );
    server.put(&config_map("b", "1"));
    server.put(&config_map("c", "1"));
    wait_out_backoff().await;
    assert_eq!(seen.take(), ["add c=1"]);
    assert_eq!(server.watch_versions(), ["1", "2"]);
    let stats = informer.stats();
    assert_eq!((stats.lists, stats.failures, stats.watch_events), (1, 0, 2));
}

/// client-go's "very short watch": after a watch of less than a second without events, the version is not trusted.
#[tokio::test(start_paused = true)]
async fn watch_that_breaks_at_once_is_a_failure_and_relists() {
    let server = Server::without_streaming();
    server.put(&config_map("a", "1"));
    server.answer_watches([
        Answer::broken_connection(""),
        Answer::broken_connection("{\"type\":\"ADD"),
    ]);
    let (_factory, informer) = informer(&server).await;
    wait_out_backoff().await;
    server.put(&config_map("b", "1"));
    run_until_idle().await;
    assert_eq!(contents(&informer.lister()), server.contents());
    let stats = informer.stats();
    assert_eq!((stats.lists, stats.failures), (3, 2));
}

/// An incomplete list must not replace the store.
#[tokio::test(start_paused = true)]
async fn broken_streaming_list_is_retried_once_then_replaced_by_a_paged_list() {
    let half = format!("{}{}", added("a", 1), &added("b", 2)[..50]);
    for (breaks, lists) in [(1, 0), (2, 1)] {
        let server = Server::new();
        server.put(&config_map("a", "1"));
        server.put(&config_map("b", "1"));
        let (_factory, informer) = informer(&server).await;
        let seen = RecordingHandler::default();
        informer.add_event_handler(seen.clone());
        run_until_idle().await;
        assert_eq!(seen.take().len(), 2);
        server.requests();
        server.answer_streams(vec![Answer::broken_connection(half.clone()); breaks]);
        server.put_unseen(&config_map("c", "1"));
        server.reset();
        wait_out_backoff().await;
        assert_eq!(seen.take(), ["add c=1"], "nothing was taken for deleted");
        let requests = server.requests();
        let asked = |wanted: fn(&Request) -> bool| requests.iter().filter(|request| wanted(request)).count();
        let streams = asked(|request| matches!(request, Request::Stream(_)));
        assert_eq!(streams, 2, "{requests:?}");
        assert_eq!(asked(|request| matches!(request, Request::List(_))), lists);
        assert_eq!(informer.stats().failures, breaks as u64);
    }
}

#[tokio::test(start_paused = true)]
async fn broken_list_is_discarded() {
    let server = Server::without_streaming();
    server.put(&config_map("a", "1"));
    let item = config_map("stranger", "1");
    let torn =
        format!(r#"{{"kind":"ConfigMapList","metadata":{{"resourceVersion":"1"}},"items":[{item},{{"meta"#);
    server.answer_lists([Answer::broken_connection(torn), Answer::broken_connection("")]);
    let log = Log::start();
    let (_factory, informer) = informer(&server).await;
    assert_eq!(contents(&informer.lister()), pairs(&[("a", "1")]));
    assert_eq!((informer.stats().lists, informer.stats().failures), (1, 2));
    assert!(!log.lines("connection reset").is_empty(), "it is said");
}

/// A short watch with events is not refused by the server: it resumes, but with a backoff.
#[tokio::test(start_paused = true)]
async fn short_watches_with_events_cost_a_backoff_each_and_no_relist() {
    const WATCHES: u64 = 8;
    let server = Server::without_streaming();
    server.put(&config_map("a", "1"));
    let lines = (2..2 + WATCHES).map(|version| Answer::body(added(&format!("b{version}"), version)));
    server.answer_watches(lines);
    let (_factory, informer) = informer(&server).await;
    let started = Instant::now();
    while informer.stats().watches <= WATCHES {
        run_until_idle().await;
    }
    assert!(
        started.elapsed() > Duration::from_secs(6),
        "{:?}",
        started.elapsed()
    );
    let expected: Vec<String> = (1..=1 + WATCHES).map(|version| version.to_string()).collect();
    assert_eq!(server.watch_versions(), expected);
    let stats = informer.stats();
    assert_eq!((stats.lists, stats.failures, stats.objects), (1, 0, 9));
}

/// A streaming list that breaks after the last initial event is complete.
#[tokio::test(start_paused = true)]
async fn streaming_list_that_breaks_after_its_bookmark_counts_as_a_list() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    let stream = format!("{}{}\n", added("a", 1), initial_events_end(1));
    server.answer_streams([Answer::broken_connection(stream)]);
    let (_factory, informer) = informer(&server).await;
    assert_eq!((informer.stats().lists, informer.stats().objects), (1, 1));
    server.put(&config_map("b", "1"));
    wait_out_backoff().await;
    assert_eq!(contents(&informer.lister()), server.contents());
}

/// The error handler receives the transport's error unchanged.
#[tokio::test(start_paused = true)]
async fn broken_list_is_passed_to_the_error_handler() {
    let server = Server::without_streaming();
    server.answer_lists([Answer::broken_connection("{")]);
    let factory = server.factory();
    let informer = factory.of::<ConfigMap>();
    let (tell, told) = mpsc::channel();
    informer
        .set_error_handler(move |error| tell.send(matches!(error, ListWatchError::Broken(_))).unwrap())
        .unwrap();
    factory.start();
    factory.wait_for_cache_sync().await;
    assert_eq!(told.try_iter().collect::<Vec<_>>(), [true]);
}
