//! Handlers that are behind: what is kept for them.

use std::sync::{
    Arc, Barrier,
    atomic::{AtomicUsize, Ordering},
};

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::cache::{Deleted, EventHandler, HandlerOptions, Object};

use crate::{
    mirror::Mirror,
    support::{log, server::Server, *},
};

/// Is stuck in its first call until it is let go, and writes down what it is told.
struct Stuck {
    seen: Diary,
    barrier: Arc<Barrier>,
    calls: AtomicUsize,
}

impl Stuck {
    fn new(seen: &Diary) -> (Self, Arc<Barrier>) {
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

impl EventHandler<ConfigMap> for Stuck {
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

/// client-go: BenchmarkAddWithSlowHandlers measures it; here a handler that is stuck holds up nobody, and misses nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_stuck_handler_holds_up_nobody_and_is_told_all_or_the_newest() {
    let server = Server::new();
    let (factory, informer) = informer(&server).await;
    let [all, newest, quick] = [(); 3].map(|()| Diary::default());
    let ((stuck, first), (merging, second)) = (Stuck::new(&all), Stuck::new(&newest));
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
    // Of `kept` the addition, of `first` the deletion and the addition; `gone` came and went.
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

/// Nothing of the initial list may be missing when the handler says that it has synced: client-go: TestSingleFileCounting.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_handler_has_synced_when_it_has_returned_from_the_last_object_of_the_first_list() {
    for options in [HandlerOptions::default(), HandlerOptions::default().coalesce()] {
        let server = Server::new();
        for name in ["a", "b"] {
            server.put(&config_map(name, "1"));
        }
        let factory = server.factory();
        let (informer, seen) = (factory.of::<ConfigMap>(), Diary::default());
        let (stuck, barrier) = Stuck::new(&seen);
        let registration = informer.add_event_handler_with(stuck, options);
        factory.start();
        factory.wait_for_cache_sync().await;
        until(|| !seen.is_empty()).await;
        // The informer has synced, the handler is in its first call.
        server.put(&config_map("b", "2"));
        until(|| contents(&informer.lister())["b"] == "2").await;
        assert!(!registration.has_synced());
        tokio::task::spawn_blocking(move || barrier.wait()).await.unwrap();
        assert!(registration.wait_for_sync().await);
        assert!(seen.take()[1].starts_with("add b="));
        factory.shutdown().await;
    }
}

/// Is stuck in its first call until it is let go; then holds its life to be without gaps.
struct LeftBehind {
    mirror: Mirror,
    barrier: Arc<Barrier>,
    calls: AtomicUsize,
}

impl EventHandler<ConfigMap> for LeftBehind {
    fn on_add(&self, object: &Object<ConfigMap>, is_in_initial_list: bool) {
        if self.calls.fetch_add(1, Ordering::SeqCst) == 0 {
            self.barrier.wait();
        }
        self.mirror.on_add(object, is_in_initial_list);
    }
    fn on_update(&self, old: &Object<ConfigMap>, new: &Object<ConfigMap>) {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.mirror.on_update(old, new);
    }
    fn on_delete(&self, deleted: &Deleted<ConfigMap>) {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.mirror.on_delete(deleted);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_handler_that_is_ten_thousand_changes_behind_is_warned_of_by_name_and_misses_nothing() {
    const CHANGES: usize = 10_200;
    log::start_everywhere();
    let server = Server::new();
    let (factory, informer) = informer(&server).await;
    let (mirror, barrier) = (Mirror::default(), Arc::new(Barrier::new(2)));
    let handler = LeftBehind {
        mirror: mirror.clone(),
        barrier: barrier.clone(),
        calls: AtomicUsize::new(0),
    };
    let registration = informer.add_event_handler(handler);
    let warnings = || log::everywhere("LeftBehind");
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
    // The first is the one that it is told of.
    until(|| registration.pending() == CHANGES - 1).await;
    let told = warnings();
    assert!(
        told.len() == 1
            && told[0].starts_with("WARN")
            && told[0].contains("of the ConfigMap informer is behind by 10000 changes"),
        "{told:?}"
    );
    tokio::task::spawn_blocking(move || barrier.wait()).await.unwrap();
    until(|| registration.pending() == 0).await;
    factory.shutdown().await;
    assert_eq!(mirror.contents(), Ok(server.contents()));
    assert_eq!(warnings().len(), 1);
}

/// client-go's informer metrics: queued items and processing latency.
#[tokio::test(start_paused = true)]
async fn batches_are_counted() {
    let server = Server::new();
    let (_factory, informer) = informer(&server).await;
    assert_eq!(informer.stats().batches, 1);
    server.put(&config_map("a", "1"));
    settle().await;
    let stats = informer.stats();
    assert_eq!((stats.batches, stats.queued, stats.pending), (2, 0, 0));
}
