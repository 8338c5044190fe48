//! What is tried again, how often, and after how long.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::{
    cache::{Backoff, ListOptions, ListWatchError, ReflectorOptions, SharedInformer, SharedInformerFactory},
    kube::core::Status,
};
use parking_lot::Mutex;
use serde_json::json;

use crate::support::{
    log::Log,
    server::{Answer, Server, refused, status},
    *,
};

/// Always the same wait; counts how often it was asked for.
#[derive(Clone)]
struct Steady(Duration, Arc<AtomicUsize>);

impl Steady {
    fn new(wait: Duration) -> Self {
        Self(wait, Arc::default())
    }

    fn asked(&self) -> usize {
        self.1.load(Ordering::Relaxed)
    }

    fn options(&self) -> ReflectorOptions {
        let steady = self.clone();
        ReflectorOptions {
            backoff: Arc::new(move || Box::new(steady.clone())),
            ..ReflectorOptions::default()
        }
    }
}

impl Backoff for Steady {
    fn next(&mut self) -> Duration {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0
    }
}

async fn informer_with(
    server: &Arc<Server>,
    options: ReflectorOptions,
) -> (SharedInformerFactory, SharedInformer<ConfigMap>) {
    let factory = server.factory();
    factory.set_reflector_options(options);
    let informer = factory.of::<ConfigMap>();
    factory.start();
    factory.wait_for_cache_sync().await;
    (factory, informer)
}

fn error_line(code: u16, reason: &str) -> Answer {
    let status = json!({"kind": "Status", "code": code, "reason": reason, "message": "scripted"});
    Answer::body(format!("{}\n", json!({"type": "ERROR", "object": status})))
}

fn busy(seconds: u32) -> ListWatchError {
    let status = json!({"status": "Failure", "code": 429, "reason": "TooManyRequests", "message": "busy",
        "details": {"retryAfterSeconds": seconds}});
    ListWatchError::Status(Box::new(serde_json::from_value::<Status>(status).unwrap()))
}

/// A token that expired, or rights that were taken away: the cache stays as it was, asks at a growing pace, never in a busy loop, and has
/// everything when it may again.
#[tokio::test(start_paused = true)]
async fn rights_that_are_lost_in_mid_flight_cost_backoffs_until_they_are_back() {
    const REFUSALS: usize = 20;
    for (code, reason) in [(401, "Unauthorized"), (403, "Forbidden")] {
        let server = Server::new();
        server.put(&config_map("a", "1"));
        let (_factory, informer) = informer_with(&server, ReflectorOptions::default()).await;
        settle().await;
        let refusals = || std::iter::repeat_with(|| Answer::Fail(status(code, reason))).take(REFUSALS);
        server.answer_watches(refusals());
        server.answer_streams(refusals());
        server.answer_lists(refusals());
        server.cut();
        server.put(&config_map("b", "1"));
        tokio::time::sleep(Duration::from_mins(1)).await;
        assert_eq!(contents(&informer.lister()), pairs(&[("a", "1")]), "{code}");
        let failures = informer.stats().failures;
        assert!((3..=30).contains(&failures), "{code}: {failures} in a minute");
        tokio::time::sleep(Duration::from_hours(1)).await;
        assert_eq!(contents(&informer.lister()), server.contents(), "{code}");
    }
}

/// client-go: TestBackoffOnTooManyRequests, TestNewReflectorWithCustomBackoff.
#[tokio::test(start_paused = true)]
async fn each_refusal_of_a_busy_server_costs_one_backoff() {
    let server = Server::without_streaming();
    let steady = Steady::new(Duration::from_secs(7));
    server.answer_watches([
        Answer::Fail(status(429, "TooManyRequests")),
        error_line(429, "TooManyRequests"),
    ]);
    let before = tokio::time::Instant::now();
    let (_factory, informer) = informer_with(&server, steady.options()).await;
    while informer.stats().watches < 2 {
        settle().await;
    }
    assert_eq!((steady.asked(), before.elapsed().as_secs()), (2, 14));
    assert_eq!(server.watch_versions().len(), 3);
}

/// client-go: TestNoRelistOnTooManyRequests.
#[tokio::test(start_paused = true)]
async fn a_busy_server_is_not_listed_anew() {
    for error in [status(429, "TooManyRequests"), refused()] {
        let server = Server::without_streaming();
        server.answer_watches(vec![Answer::Fail(error); 4]);
        let (_factory, informer) = informer(&server).await;
        tokio::time::sleep(Duration::from_mins(2)).await;
        assert_eq!((informer.stats().lists, informer.stats().watches), (1, 1));
        assert_eq!(server.watch_versions().len(), 5);
    }
}

/// What the server asks for is waited for, when it is more than the backoff, but no server is waited for without end.
#[tokio::test(start_paused = true)]
async fn the_server_may_say_how_long_to_wait() {
    for (asked, waited) in [(0, 2), (1, 2), (40, 40), (u32::MAX, 300)] {
        let server = Server::without_streaming();
        server.answer_lists([Answer::Fail(busy(asked))]);
        let before = tokio::time::Instant::now();
        let (_factory, _informer) =
            informer_with(&server, Steady::new(Duration::from_secs(2)).options()).await;
        assert_eq!(before.elapsed().as_secs(), waited);
        let before = tokio::time::Instant::now();
        server.answer_streams([Answer::Fail(busy(asked))]);
        server.answer_lists([Answer::Fail(status(500, "never asked"))]);
        server.streaming(crate::support::server::Streaming::Known);
        let (_factory, _informer) =
            informer_with(&server, Steady::new(Duration::from_secs(2)).options()).await;
        assert_eq!(before.elapsed().as_secs(), waited);
    }
}

/// client-go: TestRetryInternalError. Its retries follow each other at once, ours after the backoff.
#[tokio::test(start_paused = true)]
async fn internal_errors_are_put_up_with_for_as_long_as_the_options_say() {
    for (bound, answers, lists_anew, retries) in [
        (0, vec![error_line(500, "InternalError"); 2], true, 0),
        (30, vec![error_line(500, "InternalError"); 60], true, 31),
        (30, vec![Answer::Fail(status(500, "InternalError")); 60], true, 31),
        (30, vec![error_line(500, "InternalError"); 29], false, 29),
        (30, vec![error_line(500, "StorageReadError"); 2], true, 0),
    ] {
        let server = Server::without_streaming();
        let steady = Steady::new(Duration::from_secs(1));
        server.answer_watches(answers);
        let options = ReflectorOptions {
            max_internal_error_retry: Duration::from_secs(bound),
            ..steady.options()
        };
        let (_factory, informer) = informer_with(&server, options).await;
        // The watch that fails for good, and the backoff before the list.
        let asked = retries + usize::from(lists_anew);
        while steady.asked() < asked {
            settle().await;
        }
        tokio::time::sleep(Duration::from_millis(900)).await;
        assert_eq!(informer.stats().lists, 1);
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(
            informer.stats().lists,
            1 + u64::from(lists_anew),
            "{bound} {retries}"
        );
        let watches = 1 + retries + usize::from(lists_anew);
        assert_eq!(server.watch_versions().len(), watches, "{bound} {retries}");
    }
}

/// client-go: TestRetryInternalError, "retries on, one call successful": a minute without one begins a new row of errors.
#[tokio::test(start_paused = true)]
async fn a_minute_without_an_internal_error_is_a_new_beginning() {
    let server = Server::without_streaming();
    server.put(&config_map("a", "1"));
    let mut answers = vec![error_line(500, "InternalError"); 20];
    answers.push(Answer::Truth);
    answers.extend(vec![error_line(500, "InternalError"); 20]);
    server.answer_watches(answers);
    let options = ReflectorOptions {
        max_internal_error_retry: Duration::from_secs(30),
        ..Steady::new(Duration::from_secs(1)).options()
    };
    let (_factory, informer) = informer_with(&server, options).await;
    tokio::time::sleep(Duration::from_secs(81)).await;
    server.cut();
    tokio::time::sleep(Duration::from_secs(21)).await;
    assert_eq!(server.watch_versions().len(), 42);
    assert_eq!((informer.stats().lists, informer.stats().failures), (1, 40));
}

/// client-go: TestReflectorWatchListPageSize.
#[tokio::test(start_paused = true)]
async fn the_size_of_pages_can_be_chosen() {
    let server = Server::without_streaming();
    for number in 0..10 {
        server.put(&config_map(&format!("c{number}"), "1"));
    }
    let options = ReflectorOptions {
        page_size: Some(4),
        ..ReflectorOptions::default()
    };
    let (_factory, informer) = informer_with(&server, options).await;
    let page = |version: &str, token: Option<&str>| ListOptions {
        resource_version: version.into(),
        limit: Some(4),
        continue_token: token.map(Into::into),
        exact: false,
    };
    assert_eq!(
        server.lists(),
        [page("0", None), page("", Some("10/4")), page("", Some("10/8"))]
    );
    assert_eq!(informer.lister().list().len(), 10);
    server.reset();
    long_after().await;
    assert_eq!(server.lists()[0], page("10", None));
}

/// client-go: the watch error handler of TestReflectorListAndWatchInitConnBackoff and SetWatchErrorHandler.
#[tokio::test(start_paused = true)]
async fn the_error_handler_sees_each_failure_and_changes_nothing() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    server.answer_streams([Answer::Fail(refused()), Answer::Fail(status(422, "Invalid"))]);
    server.answer_lists([Answer::Fail(status(500, "InternalError"))]);
    server.answer_watches([Answer::Fail(status(429, "TooManyRequests"))]);
    let factory = server.factory();
    let informer = factory.of::<ConfigMap>();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let writer = seen.clone();
    informer
        .set_error_handler(|_| unreachable!("the last one counts"))
        .unwrap();
    informer
        .set_error_handler(move |error| {
            writer.lock().push(error.to_string());
            panic!("contained");
        })
        .unwrap();
    factory.start();
    factory.wait_for_cache_sync().await;
    long_after().await;
    let error = informer.set_error_handler(|_| {}).unwrap_err();
    assert!(error.to_string().contains("ConfigMap has started"), "{error}");
    assert_eq!(
        *seen.lock(),
        [
            "the API server cannot be reached: connection refused",
            "the API server answers 500 InternalError: scripted",
            "the API server answers 429 TooManyRequests: scripted",
        ]
    );
    assert_eq!(informer.stats().failures, 3);
    assert_eq!(contents(&informer.lister()), pairs(&[("a", "1")]));
    // Nor is it told of what is none: a watch that ends, a version that has expired.
    server.cut();
    long_after().await;
    server.reset();
    long_after().await;
    assert_eq!(seen.lock().len(), 3);
}

/// What users give is called in the informer's task. Nobody is told that all is well.
#[tokio::test(start_paused = true)]
async fn a_backoff_that_panics_ends_the_informer_with_an_error() {
    struct Panics;
    impl Backoff for Panics {
        fn next(&mut self) -> Duration {
            panic!("no time to lose")
        }
    }
    let server = Server::without_streaming();
    let log = Log::start();
    let options = ReflectorOptions {
        backoff: Arc::new(|| Box::new(Panics)),
        ..ReflectorOptions::default()
    };
    let (factory, informer) = informer_with(&server, options).await;
    server.answer_watches(vec![Answer::Fail(status(500, "Broken")); 2]);
    tokio::time::sleep(Duration::from_secs(2)).await;
    server.cut();
    long_after().await;
    let said = log.lines("the informer of ConfigMap panicked: ");
    assert_eq!(said.len(), 1);
    assert!(said[0].contains("no time to lose"));
    assert!(factory.check(informer.info(), Duration::from_secs(30)).is_err());
    factory.shutdown().await;
}
