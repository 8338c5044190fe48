//! Filtered handlers.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::cache::{EventHandler, Filtered, Object};

use crate::support::{server::Server, *};

fn has_datum(datum: &'static str) -> impl Fn(&Object<ConfigMap>) -> bool {
    move |object| entry(&object.decode().unwrap()).1 == datum
}

/// client-go: TestTypedFilteringResourceEventHandler.
#[tokio::test(start_paused = true)]
async fn object_that_crosses_the_filter_is_added_or_deleted() {
    let server = Server::new();
    server.put(&config_map("in", "yes"));
    server.put(&config_map("out", "no"));
    let (_factory, informer) = informer(&server).await;
    let seen = RecordingHandler::default();
    informer.add_event_handler(Filtered::new(has_datum("yes"), seen.clone()));
    run_until_idle().await;
    assert_eq!(seen.take(), ["add in=yes initial"]);
    for (name, datum, delivered) in [
        ("out", "still no", None),
        ("out", "yes", Some("add out=yes")),
        ("in", "yes", Some("update in=yes->yes")),
        ("in", "no", Some("delete in=yes")),
        ("in", "no again", None),
        ("new", "yes", Some("add new=yes")),
        ("other", "no", None),
    ] {
        server.put(&config_map(name, datum));
        run_until_idle().await;
        assert_eq!(seen.take(), Vec::from_iter(delivered), "{name} {datum}");
    }
    for (name, delivered) in [("in", None), ("other", None), ("out", Some("delete out=yes"))] {
        server.delete("default", name);
        run_until_idle().await;
        assert_eq!(seen.take(), Vec::from_iter(delivered), "{name}");
    }
    // A deletion that the watch missed.
    server.delete_unseen("default", "new");
    server.reset();
    wait_out_backoff().await;
    assert_eq!(seen.take(), ["delete new=yes unseen"]);
}

/// client-go calls the filter with the last state, and may deliver a deletion without an addition, or the reverse.
#[tokio::test(start_paused = true)]
async fn changing_predicate_result_keeps_events_consistent() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    server.put(&config_map("b", "1"));
    let (_factory, informer) = informer(&server).await;
    let (seen, open) = (RecordingHandler::default(), Arc::new(AtomicBool::new(true)));
    let asked = open.clone();
    informer.add_event_handler(Filtered::new(
        move |_: &Object<ConfigMap>| asked.load(Ordering::Relaxed),
        seen.clone(),
    ));
    run_until_idle().await;
    assert_eq!(seen.take().len(), 2);
    open.store(false, Ordering::Relaxed);
    server.delete("default", "a");
    server.put(&config_map("c", "1"));
    server.put(&config_map("b", "2"));
    run_until_idle().await;
    assert_eq!(seen.take(), ["delete a=1", "delete b=1"]);
    open.store(true, Ordering::Relaxed);
    server.put(&config_map("b", "3"));
    server.delete("default", "c");
    run_until_idle().await;
    assert_eq!(seen.take(), ["add b=3"]);
}

#[tokio::test(start_paused = true)]
async fn panicking_predicate_or_handler_keeps_events_consistent() {
    struct Panics(RecordingHandler);
    impl EventHandler<ConfigMap> for Panics {
        fn on_add(&self, object: &Object<ConfigMap>, is_in_initial_list: bool) {
            self.0.on_add(object, is_in_initial_list);
            assert_ne!(object.name().name(), "b", "boom");
        }
        fn on_update(&self, old: &Object<ConfigMap>, new: &Object<ConfigMap>) {
            self.0.on_update(old, new);
        }
        fn on_delete(&self, deleted: &kubewright::cache::Deleted<ConfigMap>) {
            self.0.on_delete(deleted);
        }
    }
    let server = Server::new();
    let (_factory, informer) = informer(&server).await;
    let seen = RecordingHandler::default();
    let predicate = |object: &Object<ConfigMap>| {
        assert_ne!(entry(&object.decode().unwrap()).1, "bad", "boom");
        true
    };
    let registration = informer.add_event_handler(Filtered::new(predicate, Panics(seen.clone())));
    for (name, datum) in [
        ("a", "1"),
        ("a", "bad"),
        ("a", "2"),
        ("b", "1"),
        ("b", "2"),
        ("c", "bad"),
    ] {
        server.put(&config_map(name, datum));
    }
    server.delete("default", "c");
    run_until_idle().await;
    assert_eq!(
        seen.take(),
        ["add a=1", "delete a=1", "add a=2", "add b=1", "update b=1->2"]
    );
    assert!(registration.has_synced());
}
