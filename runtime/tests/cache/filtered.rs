//! Handlers that are told of some objects only.

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
async fn crossing_the_filter_is_an_addition_or_a_deletion() {
    let server = Server::new();
    server.put(&config_map("in", "yes"));
    server.put(&config_map("out", "no"));
    let (_factory, informer) = informer(&server).await;
    let seen = Diary::default();
    informer.add_event_handler(Filtered::new(has_datum("yes"), seen.clone()));
    settle().await;
    assert_eq!(seen.take(), ["add in=yes initial"]);
    for (name, datum, told) in [
        ("out", "still no", None),
        ("out", "yes", Some("add out=yes")),
        ("in", "yes", Some("update in=yes->yes")),
        ("in", "no", Some("delete in=yes")),
        ("in", "no again", None),
        ("new", "yes", Some("add new=yes")),
        ("other", "no", None),
    ] {
        server.put(&config_map(name, datum));
        settle().await;
        assert_eq!(seen.take(), Vec::from_iter(told), "{name} {datum}");
    }
    for (name, told) in [("in", None), ("other", None), ("out", Some("delete out=yes"))] {
        server.delete("default", name);
        settle().await;
        assert_eq!(seen.take(), Vec::from_iter(told), "{name}");
    }
    // A deletion that nobody saw.
    server.delete_unseen("default", "new");
    server.reset();
    long_after().await;
    assert_eq!(seen.take(), ["delete new=yes unseen"]);
}

/// Upstream asks the filter about the last state, and may tell of a deletion without an addition, or the other way round.
#[tokio::test(start_paused = true)]
async fn a_filter_that_changes_its_mind_makes_no_gap() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    server.put(&config_map("b", "1"));
    let (_factory, informer) = informer(&server).await;
    let (seen, open) = (Diary::default(), Arc::new(AtomicBool::new(true)));
    let asked = open.clone();
    informer.add_event_handler(Filtered::new(
        move |_: &Object<ConfigMap>| asked.load(Ordering::Relaxed),
        seen.clone(),
    ));
    settle().await;
    assert_eq!(seen.take().len(), 2);
    open.store(false, Ordering::Relaxed);
    server.delete("default", "a");
    server.put(&config_map("c", "1"));
    server.put(&config_map("b", "2"));
    settle().await;
    assert_eq!(seen.take(), ["delete a=1", "delete b=1"]);
    open.store(true, Ordering::Relaxed);
    server.put(&config_map("b", "3"));
    server.delete("default", "c");
    settle().await;
    assert_eq!(seen.take(), ["add b=3"]);
}

#[tokio::test(start_paused = true)]
async fn a_predicate_or_handler_that_panics_makes_no_gap() {
    struct Panics(Diary);
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
    let seen = Diary::default();
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
    settle().await;
    assert_eq!(
        seen.take(),
        ["add a=1", "delete a=1", "add a=2", "add b=1", "update b=1->2"]
    );
    assert!(registration.has_synced());
}
