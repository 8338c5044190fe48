//! Connections that break in the middle of a body: a truncated chunked body, a reset. What came whole counts where each line stands for
//! itself, and nothing where only the whole means something.

use std::{sync::mpsc, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::cache::ListWatchError;
use serde_json::json;
use tokio::time::Instant;

use crate::support::{
    log::Log,
    server::{Answer, Request, Server, initial_events_end},
    *,
};

/// A line of a watch, as the scripted server would send it.
fn added(name: &str, version: u64) -> String {
    let mut object = config_map(name, "1");
    object["kind"] = "ConfigMap".into();
    object["apiVersion"] = "v1".into();
    object["metadata"]["uid"] = format!("uid-{}", version - 1).into();
    object["metadata"]["resourceVersion"] = version.to_string().into();
    format!("{}\n", json!({"type": "ADDED", "object": object}))
}

/// client-go: TestReflectorStopWatch and the decoder's errors in TestReflectorWatchHandler: a watch that breaks is followed by another from
/// the last version.
#[tokio::test(start_paused = true)]
async fn a_watch_that_breaks_goes_on_from_the_last_whole_line() {
    let server = Server::without_streaming();
    server.put(&config_map("a", "1"));
    let (b, c) = (added("b", 2), added("c", 3));
    server.answer_watches([Answer::torn([b.as_bytes(), &c.as_bytes()[..40]].concat())]);
    let (_factory, informer) = informer(&server).await;
    let seen = Diary::default();
    informer.add_event_handler(seen.clone());
    settle().await;
    assert_eq!(
        (seen.take().len(), contents(&informer.lister())),
        (2, pairs(&[("a", "1"), ("b", "1")]))
    );
    server.put(&config_map("b", "1"));
    server.put(&config_map("c", "1"));
    long_after().await;
    assert_eq!(seen.take(), ["add c=1"]);
    assert_eq!(server.watch_versions(), ["1", "2"]);
    let stats = informer.stats();
    assert_eq!((stats.lists, stats.failures, stats.watch_events), (1, 0, 2));
}

/// client-go's "very short watch": who brings nothing within a second is not trusted to go on from that version.
#[tokio::test(start_paused = true)]
async fn a_watch_that_breaks_at_once_is_a_failure_and_lists_anew() {
    let server = Server::without_streaming();
    server.put(&config_map("a", "1"));
    server.answer_watches([Answer::torn(""), Answer::torn("{\"type\":\"ADD")]);
    let (_factory, informer) = informer(&server).await;
    long_after().await;
    server.put(&config_map("b", "1"));
    settle().await;
    assert_eq!(contents(&informer.lister()), server.contents());
    let stats = informer.stats();
    assert_eq!((stats.lists, stats.failures), (3, 2));
}

/// Fewer than all objects are no replacement of what the store has.
#[tokio::test(start_paused = true)]
async fn a_streaming_list_that_breaks_begins_anew_and_is_a_paged_one_when_it_breaks_again() {
    let half = format!("{}{}", added("a", 1), &added("b", 2)[..50]);
    for (breaks, lists) in [(1, 0), (2, 1)] {
        let server = Server::new();
        server.put(&config_map("a", "1"));
        server.put(&config_map("b", "1"));
        let (_factory, informer) = informer(&server).await;
        let seen = Diary::default();
        informer.add_event_handler(seen.clone());
        settle().await;
        assert_eq!(seen.take().len(), 2);
        server.requests();
        server.answer_streams(vec![Answer::torn(half.clone()); breaks]);
        server.put_unseen(&config_map("c", "1"));
        server.reset();
        long_after().await;
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
async fn of_a_list_that_breaks_nothing_counts() {
    let server = Server::without_streaming();
    server.put(&config_map("a", "1"));
    let item = config_map("stranger", "1");
    let torn =
        format!(r#"{{"kind":"ConfigMapList","metadata":{{"resourceVersion":"1"}},"items":[{item},{{"meta"#);
    server.answer_lists([Answer::torn(torn), Answer::torn("")]);
    let log = Log::start();
    let (_factory, informer) = informer(&server).await;
    assert_eq!(contents(&informer.lister()), pairs(&[("a", "1")]));
    assert_eq!((informer.stats().lists, informer.stats().failures), (1, 2));
    assert!(!log.lines("connection reset").is_empty(), "it is said");
}

/// One that brings events is none that a server refuses: it goes on, but not in a busy loop.
#[tokio::test(start_paused = true)]
async fn very_short_watches_with_events_cost_a_backoff_each_and_no_list() {
    const WATCHES: u64 = 8;
    let server = Server::without_streaming();
    server.put(&config_map("a", "1"));
    let lines = (2..2 + WATCHES).map(|version| Answer::body(added(&format!("b{version}"), version)));
    server.answer_watches(lines);
    let (_factory, informer) = informer(&server).await;
    let started = Instant::now();
    while informer.stats().watches <= WATCHES {
        settle().await;
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

/// A stream that has all objects, and then breaks, is a list.
#[tokio::test(start_paused = true)]
async fn a_stream_that_breaks_after_its_bookmark_was_a_list() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    let stream = format!("{}{}\n", added("a", 1), initial_events_end(1));
    server.answer_streams([Answer::torn(stream)]);
    let (_factory, informer) = informer(&server).await;
    assert_eq!((informer.stats().lists, informer.stats().objects), (1, 1));
    server.put(&config_map("b", "1"));
    long_after().await;
    assert_eq!(contents(&informer.lister()), server.contents());
}

/// The source's own error is told to the error handler as it is.
#[tokio::test(start_paused = true)]
async fn a_broken_list_is_told_to_the_error_handler() {
    let server = Server::without_streaming();
    server.answer_lists([Answer::torn("{")]);
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
