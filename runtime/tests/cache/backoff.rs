//! Retries of lists and watches: how often, and with which backoff.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::{
    cache::{
        SharedInformer, SharedInformerFactory,
        list_watch::{Backoff, ListOptions, ListWatchError, ReflectorOptions},
    },
    kube::core::Status,
};
use parking_lot::Mutex;
use serde_json::json;

use crate::support::{
    log::Log,
    server::{Answer, Server, refused, status},
    *,
};

/// A constant backoff that counts its calls.
#[derive(Clone)]
struct ConstantBackoff(Duration, Arc<AtomicUsize>);

impl ConstantBackoff {
    fn new(wait: Duration) -> Self {
        Self(wait, Arc::default())
    }

    fn calls(&self) -> usize {
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

impl Backoff for ConstantBackoff {
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

/// An expired token or revoked permissions: the cache stays unchanged, retries with backoff, and catches up once it may again.
#[tokio::test(start_paused = true)]
async fn revoked_permissions_are_retried_with_backoff_until_restored() {
    const REFUSALS: usize = 20;
    for (code, reason) in [(401, "Unauthorized"), (403, "Forbidden")] {
        let server = Server::new();
        server.put(&config_map("a", "1"));
        let (_factory, informer) = informer_with(&server, ReflectorOptions::default()).await;
        run_until_idle().await;
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
async fn each_429_costs_one_backoff() {
    let server = Server::without_streaming();
    let steady = ConstantBackoff::new(Duration::from_secs(7));
    server.answer_watches([
        Answer::Fail(status(429, "TooManyRequests")),
        error_line(429, "TooManyRequests"),
    ]);
    let before = tokio::time::Instant::now();
    let (_factory, informer) = informer_with(&server, steady.options()).await;
    while informer.stats().watches < 2 {
        run_until_idle().await;
    }
    assert_eq!((steady.calls(), before.elapsed().as_secs()), (2, 14));
    assert_eq!(server.watch_versions().len(), 3);
}

/// client-go: TestNoRelistOnTooManyRequests.
#[tokio::test(start_paused = true)]
async fn busy_server_is_not_relisted() {
    for error in [status(429, "TooManyRequests"), refused()] {
        let server = Server::without_streaming();
        server.answer_watches(vec![Answer::Fail(error); 4]);
        let (_factory, informer) = informer(&server).await;
        tokio::time::sleep(Duration::from_mins(2)).await;
        assert_eq!((informer.stats().lists, informer.stats().watches), (1, 1));
        assert_eq!(server.watch_versions().len(), 5);
    }
}

/// A Retry-After header longer than the backoff is honoured, up to a maximum.
#[tokio::test(start_paused = true)]
async fn retry_after_header_sets_the_delay() {
    for (calls, waited) in [(0, 2), (1, 2), (40, 40), (u32::MAX, 300)] {
        let server = Server::without_streaming();
        server.answer_lists([Answer::Fail(busy(calls))]);
        let before = tokio::time::Instant::now();
        let (_factory, _informer) =
            informer_with(&server, ConstantBackoff::new(Duration::from_secs(2)).options()).await;
        assert_eq!(before.elapsed().as_secs(), waited);
        let before = tokio::time::Instant::now();
        server.answer_streams([Answer::Fail(busy(calls))]);
        server.answer_lists([Answer::Fail(status(500, "never calls"))]);
        server.streaming(crate::support::server::Streaming::Known);
        let (_factory, _informer) =
            informer_with(&server, ConstantBackoff::new(Duration::from_secs(2)).options()).await;
        assert_eq!(before.elapsed().as_secs(), waited);
    }
}

/// client-go: TestRetryInternalError. client-go retries at once, we retry after the backoff.
#[tokio::test(start_paused = true)]
async fn internal_errors_are_retried_for_the_configured_time() {
    for (bound, answers, lists_anew, retries) in [
        (0, vec![error_line(500, "InternalError"); 2], true, 0),
        (30, vec![error_line(500, "InternalError"); 60], true, 31),
        (30, vec![Answer::Fail(status(500, "InternalError")); 60], true, 31),
        (30, vec![error_line(500, "InternalError"); 29], false, 29),
        (30, vec![error_line(500, "StorageReadError"); 2], true, 0),
    ] {
        let server = Server::without_streaming();
        let steady = ConstantBackoff::new(Duration::from_secs(1));
        server.answer_watches(answers);
        let options = ReflectorOptions {
            max_internal_error_retry: Duration::from_secs(bound),
            ..steady.options()
        };
        let (_factory, informer) = informer_with(&server, options).await;
        // The watch that finally fails, and the backoff before the list.
        let calls = retries + usize::from(lists_anew);
        while steady.calls() < calls {
            run_until_idle().await;
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

/// client-go: TestRetryInternalError, "retries on, one call successful": a minute without an internal error resets the retry time.
#[tokio::test(start_paused = true)]
async fn minute_without_internal_errors_resets_their_retry_time() {
    let server = Server::without_streaming();
    server.put(&config_map("a", "1"));
    let mut answers = vec![error_line(500, "InternalError"); 20];
    answers.push(Answer::Real);
    answers.extend(vec![error_line(500, "InternalError"); 20]);
    server.answer_watches(answers);
    let options = ReflectorOptions {
        max_internal_error_retry: Duration::from_secs(30),
        ..ConstantBackoff::new(Duration::from_secs(1)).options()
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
async fn page_size_is_configurable() {
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
    wait_out_backoff().await;
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
    wait_out_backoff().await;
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
    // Not failures: a watch that ends, and an expired version.
    server.cut();
    wait_out_backoff().await;
    server.reset();
    wait_out_backoff().await;
    assert_eq!(seen.lock().len(), 3);
}

/// A user's backoff is called in the informer's task. The informer then reports itself as unhealthy.
#[tokio::test(start_paused = true)]
async fn panicking_backoff_ends_the_informer_with_an_error() {
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
    wait_out_backoff().await;
    let said = log.lines("the informer of ConfigMap panicked: ");
    assert_eq!(said.len(), 1);
    assert!(said[0].contains("no time to lose"));
    assert!(factory.check(informer.info(), Duration::from_secs(30)).is_err());
    factory.shutdown().await;
}
