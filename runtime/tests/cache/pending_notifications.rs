//! Slow handlers: their pending notifications.

use std::sync::{
    Arc, Barrier,
    atomic::{AtomicUsize, Ordering},
};

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::cache::{Deleted, EventHandler, HandlerOptions, Object};

use crate::{
    event_checker::EventChecker,
    support::{log, server::Server, *},
};

/// A handler that blocks in its first call until it is released, and records its events.
struct BlockedHandler {
    seen: RecordingHandler,
    barrier: Arc<Barrier>,
    calls: AtomicUsize,
}

impl BlockedHandler {
    fn new(seen: &RecordingHandler) -> (Self, Arc<Barrier>) {
        let barrier = Arc::new(Barrier::new(2));
        let stuck = Self {
            seen: seen.clone(),
            barrier: barrier.clone(),
            calls: AtomicUsize::new(0),
        };
        (stuck, barrier)
    }

    fn wait(&self) {
        if self.calls.fetch_add(1, Ordering::SeqCst) == 0 {
            self.barrier.wait();
        }
    }
}

impl EventHandler<ConfigMap> for BlockedHandler {
    fn on_add(&self, object: &Object<ConfigMap>, is_in_initial_list: bool) {
        self.seen.on_add(object, is_in_initial_list);
        self.wait();
    }
    fn on_update(&self, old: &Object<ConfigMap>, new: &Object<ConfigMap>) {
        self.seen.on_update(old, new);
    }
    fn on_delete(&self, deleted: &Deleted<ConfigMap>) {
        self.seen.on_delete(deleted);
    }
}

async fn until(condition: impl Fn() -> bool) {
    while !condition() {
        tokio::task::yield_now().await;
    }
}

/// client-go: BenchmarkAddWithSlowHandlers measures it; here a blocked handler delays no other handler, and misses nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn blocked_handler_delays_no_other_and_receives_all_or_coalesced_changes() {
    let server = Server::new();
    let (factory, informer) = informer(&server).await;
    let [all, newest, quick] = [(); 3].map(|()| RecordingHandler::default());
    let ((stuck, first), (merging, second)) = (BlockedHandler::new(&all), BlockedHandler::new(&newest));
    let all_registration = informer.add_event_handler(stuck);
    let newest_registration = informer.add_event_handler_with(merging, HandlerOptions::default().coalesce());
    informer.add_sink(quick.sink());
    let before = informer.stats().watch_events;
    server.put(&config_map("first", "1"));
    until(|| !all.is_empty() && !newest.is_empty()).await;
    for datum in ["1", "2", "3"] {
        server.put(&config_map("kept", datum));
        server.put(&config_map("gone", datum));
    }
    server.put(&config_map("first", "2"));
    server.put(&config_map("first", "3"));
    server.delete("default", "gone");
    server.delete("default", "first");
    server.put(&config_map("first", "4"));
    until(|| informer.stats().watch_events == before + 12).await;
    until(|| all_registration.pending() == 11).await;
    // The addition of `kept`; the deletion and the addition of `first`; `gone` was added and deleted.
    assert_eq!(newest_registration.pending(), 3);
    assert_eq!(informer.stats().pending, 14);
    assert_eq!(quick.take().len(), 12);
    for barrier in [first, second] {
        tokio::task::spawn_blocking(move || barrier.wait()).await.unwrap();
    }
    until(|| informer.stats().pending == 0).await;
    factory.shutdown().await;
    assert_eq!(
        newest.take(),
        ["add first=1", "add kept=3", "delete first=3", "add first=4"]
    );
    assert_eq!(
        all.take(),
        [
            "add first=1",
            "add kept=1",
            "add gone=1",
            "update kept=1->2",
            "update gone=1->2",
            "update kept=2->3",
            "update gone=2->3",
            "update first=1->2",
            "update first=2->3",
            "delete gone=3",
            "delete first=3",
            "add first=4"
        ]
    );
}

/// client-go: TestSingleFileCounting. A handler has synced only after it has received the whole initial list.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn handler_has_synced_after_it_returned_from_the_last_initial_object() {
    for options in [HandlerOptions::default(), HandlerOptions::default().coalesce()] {
        let server = Server::new();
        for name in ["a", "b"] {
            server.put(&config_map(name, "1"));
        }
        let factory = server.factory();
        let (informer, seen) = (factory.of::<ConfigMap>(), RecordingHandler::default());
        let (stuck, barrier) = BlockedHandler::new(&seen);
        let registration = informer.add_event_handler_with(stuck, options);
        factory.start();
        factory.wait_for_cache_sync().await;
        until(|| !seen.is_empty()).await;
        // The informer has synced, and the handler is in its first call.
        server.put(&config_map("b", "2"));
        until(|| contents(&informer.lister())["b"] == "2").await;
        assert!(!registration.has_synced());
        tokio::task::spawn_blocking(move || barrier.wait()).await.unwrap();
        assert!(registration.wait_for_sync().await);
        assert!(seen.take()[1].starts_with("add b="));
        factory.shutdown().await;
    }
}

/// A handler that blocks in its first call until it is released, and checks that its events are consistent.
struct SlowHandler {
    checker: EventChecker,
    barrier: Arc<Barrier>,
    calls: AtomicUsize,
}

impl EventHandler<ConfigMap> for SlowHandler {
    fn on_add(&self, object: &Object<ConfigMap>, is_in_initial_list: bool) {
        if self.calls.fetch_add(1, Ordering::SeqCst) == 0 {
            self.barrier.wait();
        }
        self.checker.on_add(object, is_in_initial_list);
    }
    fn on_update(&self, old: &Object<ConfigMap>, new: &Object<ConfigMap>) {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.checker.on_update(old, new);
    }
    fn on_delete(&self, deleted: &Deleted<ConfigMap>) {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.checker.on_delete(deleted);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn handler_with_10000_pending_changes_is_warned_about_by_name_and_misses_nothing() {
    const CHANGES: usize = 10_200;
    log::start_everywhere();
    let server = Server::new();
    let (factory, informer) = informer(&server).await;
    let (checker, barrier) = (EventChecker::default(), Arc::new(Barrier::new(2)));
    let handler = SlowHandler {
        checker: checker.clone(),
        barrier: barrier.clone(),
        calls: AtomicUsize::new(0),
    };
    let registration = informer.add_event_handler(handler);
    let warnings = || log::everywhere("SlowHandler");
    for number in 0..CHANGES {
        let name = format!("o{}", number % 50);
        if number % 7 == 6 && number >= 100 && server.get("default", &name).is_some() {
            server.delete("default", &name);
        } else {
            server.put(&config_map(&name, &number.to_string()));
        }
        if number == 9_000 {
            until(|| registration.pending() == 9_000).await;
            assert_eq!(warnings(), [""; 0]);
        }
    }
    // The first change is being delivered.
    until(|| registration.pending() == CHANGES - 1).await;
    let lines = warnings();
    assert!(
        lines.len() == 1
            && lines[0].starts_with("WARN")
            && lines[0].contains("of the ConfigMap informer has 10000 pending changes"),
        "{lines:?}"
    );
    tokio::task::spawn_blocking(move || barrier.wait()).await.unwrap();
    until(|| registration.pending() == 0).await;
    factory.shutdown().await;
    assert_eq!(checker.contents(), Ok(server.contents()));
    assert_eq!(warnings().len(), 1);
}

/// client-go's informer metrics: queued items and processing latency.
#[tokio::test(start_paused = true)]
async fn batches_are_counted() {
    let server = Server::new();
    let (_factory, informer) = informer(&server).await;
    assert_eq!(informer.stats().batches, 1);
    server.put(&config_map("a", "1"));
    run_until_idle().await;
    let stats = informer.stats();
    assert_eq!((stats.batches, stats.queued, stats.pending), (2, 0, 0));
}
