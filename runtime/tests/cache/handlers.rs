//! Handlers and sinks: added late, removed, and panicking.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::cache::{Change, Deleted, EventHandler, HandlerRegistration, Metadata, Object};

use crate::support::{log::Log, server::Server, *};

/// client-go: TestSharedInformerInitializationRace, TestAddWhileActive.
#[tokio::test(start_paused = true)]
async fn late_handler_receives_the_store_first() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    let (_factory, informer) = informer(&server).await;
    server.put(&config_map("b", "1"));
    run_until_idle().await;
    let (seen, in_line) = (RecordingHandler::default(), RecordingHandler::default());
    let registration = informer.add_event_handler(seen.clone());
    let sink = informer.add_sink(in_line.sink());
    assert!(!registration.has_synced());
    run_until_idle().await;
    assert!(registration.has_synced() && sink.has_synced());
    server.put(&config_map("b", "2"));
    server.put(&config_map("c", "1"));
    run_until_idle().await;
    let mut lines = seen.take();
    lines[..2].sort();
    assert_eq!(
        lines,
        ["add a=1 initial", "add b=1 initial", "update b=1->2", "add c=1"]
    );
    assert_eq!(in_line.take()[2..], ["update b", "add c"]);
}

#[tokio::test(start_paused = true)]
async fn handler_has_synced_after_the_first_list() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    let factory = server.factory();
    let informer = factory.of::<ConfigMap>();
    let seen = RecordingHandler::default();
    let registration = informer.add_event_handler(seen.clone());
    run_until_idle().await;
    assert!(!registration.has_synced() && !informer.has_synced());
    factory.start();
    while !registration.has_synced() {
        tokio::task::yield_now().await;
    }
    assert!(informer.has_synced());
    assert_eq!(seen.take(), ["add a=1 initial"]);
}

/// client-go: TestRemoveWhileActive, TestRemoveOnStoppedSharedInformer.
#[tokio::test(start_paused = true)]
async fn removed_handler_receives_nothing_more() {
    let server = Server::new();
    let (factory, informer) = informer(&server).await;
    let (seen, sunk, kept) = (
        RecordingHandler::default(),
        RecordingHandler::default(),
        RecordingHandler::default(),
    );
    let registrations = [
        informer.add_event_handler(seen.clone()),
        informer.add_sink(sunk.sink()),
    ];
    informer.add_sink(kept.sink());
    server.put(&config_map("a", "1"));
    run_until_idle().await;
    for registration in registrations.iter().chain(&registrations) {
        registration.remove();
    }
    server.put(&config_map("a", "2"));
    run_until_idle().await;
    assert_eq!(
        (seen.take(), sunk.take()),
        (vec!["add a=1".to_owned()], vec!["add a".to_owned()])
    );
    assert_eq!(kept.take(), ["add a", "update a"]);
    factory.shutdown().await;
    registrations[0].remove();
}

#[tokio::test(start_paused = true)]
async fn handler_may_remove_itself() {
    struct Once(Arc<OnceLock<HandlerRegistration>>, Arc<AtomicUsize>);
    impl EventHandler<ConfigMap> for Once {
        fn on_add(&self, _: &Object<ConfigMap>, _: bool) {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.get().unwrap().remove();
        }
    }
    let server = Server::new();
    let (_factory, informer) = informer(&server).await;
    let (slot, calls) = (Arc::new(OnceLock::new()), Arc::new(AtomicUsize::new(0)));
    slot.set(informer.add_event_handler(Once(slot.clone(), calls.clone())))
        .unwrap();
    for name in ["a", "b"] {
        server.put(&config_map(name, "1"));
    }
    run_until_idle().await;
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

/// client-go: TestEventPanics.
#[tokio::test(start_paused = true)]
async fn panic_skips_one_change_of_that_handler_only() {
    struct Panics(RecordingHandler);
    impl EventHandler<ConfigMap> for Panics {
        fn on_add(&self, object: &Object<ConfigMap>, _: bool) {
            assert_ne!(object.name().name(), "bad-add", "boom at the addition");
            self.0.on_add(object, false);
        }
        fn on_update(&self, old: &Object<ConfigMap>, new: &Object<ConfigMap>) {
            assert_ne!(new.name().name(), "bad-update", "boom at the update");
            self.0.on_update(old, new);
        }
        fn on_delete(&self, deleted: &Deleted<ConfigMap>) {
            assert_ne!(deleted.object.name().name(), "bad-delete", "boom at the deletion");
            self.0.on_delete(deleted);
        }
    }
    let log = Log::start();
    let server = Server::new();
    let (_factory, informer) = informer(&server).await;
    let (handler, sink, other) = (
        RecordingHandler::default(),
        RecordingHandler::default(),
        RecordingHandler::default(),
    );
    let registration = informer.add_event_handler(Panics(handler.clone()));
    let write = sink.sink();
    informer.add_sink(move |change| {
        let panics = match change {
            Change::Added { .. } => "bad-add",
            Change::Updated { .. } => "bad-update",
            Change::Deleted { .. } => "bad-delete",
        };
        assert_ne!(change.name().name(), panics, "boom in line");
        write(change);
    });
    informer.add_sink(other.sink());
    for name in ["bad-add", "bad-update", "bad-delete"] {
        server.put(&config_map(name, "1"));
        server.put(&config_map(name, "2"));
        server.delete("default", name);
    }
    server.put(&config_map("good", "1"));
    run_until_idle().await;
    assert_eq!(
        handler.take(),
        [
            "update bad-add=1->2",
            "delete bad-add=2",
            "add bad-update=1",
            "delete bad-update=2",
            "add bad-delete=1",
            "update bad-delete=1->2",
            "add good=1"
        ]
    );
    assert_eq!((sink.take().len(), other.take().len()), (7, 10));
    for place in ["the addition", "the update", "the deletion"] {
        let lines = log.lines(&format!("boom at {place}"));
        let is_told = |line: &String| {
            line.starts_with("ERROR") && line.contains("Panics of the ConfigMap informer panicked")
        };
        assert!(lines.len() == 1 && lines.iter().all(is_told), "{lines:?}");
    }
    assert_eq!(log.lines("boom in line").len(), 3);
    assert_eq!((registration.pending(), informer.lister().list().len()), (0, 1));
}

/// Store first, then notify: client-go: TestHammerController.
#[tokio::test(start_paused = true)]
async fn handler_finds_the_delivered_object_or_a_newer_one_in_the_lister() {
    let server = Server::new();
    let factory = server.factory();
    let informer = factory.of::<ConfigMap>();
    let (lister, delivered) = (informer.lister(), Arc::new(AtomicUsize::new(0)));
    let counted = delivered.clone();
    informer.add_sink(move |change| {
        let version = |metadata: &Metadata| metadata.resource_version().parse::<u64>().unwrap();
        match change {
            Change::Added { new, .. } | Change::Updated { new, .. } => {
                let found = lister.object(new.name());
                assert!(found.is_none_or(|found| version(found.metadata()) >= version(new)));
            }
            Change::Deleted { old, .. } => {
                assert!(
                    lister
                        .object(old.name())
                        .is_none_or(|found| version(found.metadata()) > version(old))
                );
            }
        }
        counted.fetch_add(1, Ordering::Relaxed);
    });
    factory.start();
    factory.wait_for_cache_sync().await;
    for round in 0..50 {
        server.put(&config_map("a", &round.to_string()));
        server.put(&config_map(&format!("b{}", round % 3), &round.to_string()));
        if round % 5 == 0 {
            server.delete("default", "a");
        }
        if round % 7 == 0 {
            run_until_idle().await;
        }
    }
    run_until_idle().await;
    // A failed assertion in the sink would be caught as a panic, so that errors are collected instead.
    assert_eq!(delivered.load(Ordering::Relaxed), 110);
}

/// client-go: TestSharedInformerInitializationRace.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn handler_added_during_start_misses_nothing() {
    for _ in 0..50 {
        let server = Server::new();
        server.put(&config_map("a", "1"));
        let factory = server.factory();
        let (informer, seen) = (factory.of::<ConfigMap>(), RecordingHandler::default());
        let (adding, written) = (informer.clone(), seen.clone());
        let adding = tokio::spawn(async move { adding.add_event_handler(written) });
        factory.start();
        let registration = adding.await.unwrap();
        assert!(
            tokio::time::timeout(Duration::from_mins(1), registration.wait_for_sync())
                .await
                .unwrap()
        );
        assert_eq!(seen.take(), ["add a=1 initial"]);
        factory.shutdown().await;
    }
}

/// client-go: TestEventPanics; there, such a handler never syncs (kubernetes#129024).
#[tokio::test(start_paused = true)]
async fn handler_that_always_panics_still_syncs() {
    struct Panics;
    impl EventHandler<ConfigMap> for Panics {
        fn on_add(&self, _: &Object<ConfigMap>, _: bool) {
            panic!("boom");
        }
    }
    let server = Server::new();
    for name in ["a", "b"] {
        server.put(&config_map(name, "1"));
    }
    let (_factory, informer) = informer(&server).await;
    let registration = informer.add_event_handler(Panics);
    assert!(registration.wait_for_sync().await);
}

/// client-go: TestSharedInformerMultipleRegistration, TestRemovingRemovedSharedInformer.
#[tokio::test(start_paused = true)]
async fn same_handler_may_be_added_twice_and_removed_separately() {
    let server = Server::new();
    let (_factory, informer) = informer(&server).await;
    let seen = RecordingHandler::default();
    let registrations = [
        informer.add_event_handler(seen.clone()),
        informer.add_event_handler(seen.clone()),
    ];
    for (name, delivered) in [("a", 2), ("b", 1), ("c", 0)] {
        server.put(&config_map(name, "1"));
        run_until_idle().await;
        assert_eq!(seen.take().len(), delivered);
        if let Some(registration) = registrations.get(2 - delivered) {
            registration.remove();
            registration.remove();
        }
    }
}
