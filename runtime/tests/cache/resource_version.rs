//! The resource version of the store, and the consistency check.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::cache::{
    SharedInformer,
    list_watch::{ListOptions, ReflectorOptions},
};
use serde_json::json;

use crate::support::{
    log::Log,
    server::{Answer, Server},
    *,
};

fn version(informer: &SharedInformer<ConfigMap>) -> String {
    informer.last_resource_version(None).unwrap()
}

/// client-go: TestThreadSafeStoreRV, TestReflectorResourceVersionUpdate.
#[tokio::test(start_paused = true)]
async fn lists_events_and_bookmarks_advance_the_resource_version() {
    for server in [Server::new(), Server::without_streaming()] {
        server.put(&config_map("a", "1"));
        let (_factory, informer) = informer(&server).await;
        assert_eq!(version(&informer), "1");
        for (act, expected) in [
            (
                Box::new(|server: &Server| server.put(&config_map("b", "1"))) as Box<dyn Fn(&Server)>,
                "2",
            ),
            (Box::new(|server: &Server| server.put(&config_map("b", "2"))), "3"),
            (Box::new(|server: &Server| server.delete("default", "b")), "4"),
            (Box::new(|server: &Server| server.bookmark()), "5"),
        ] {
            act(&server);
            run_until_idle().await;
            assert_eq!(version(&informer), expected);
        }
        server.put_unseen(&config_map("a", "2"));
        server.reset();
        wait_out_backoff().await;
        assert_eq!(version(&informer), "7");
    }
}

/// Events only advance it; a list sets it, also to an older version after the server was restored from a backup.
#[tokio::test(start_paused = true)]
async fn only_a_list_lowers_the_resource_version() {
    let server = Server::new();
    server.set_version(100);
    let (_factory, informer) = informer(&server).await;
    server.put(&config_map("a", "1"));
    server.put(&config_map("b", "1"));
    run_until_idle().await;
    server.hold();
    server.put(&config_map("a", "2"));
    server.put(&config_map("b", "2"));
    server.release_in_reverse();
    run_until_idle().await;
    assert_eq!(contents(&informer.lister()), server.contents());
    assert_eq!(
        (version(&informer), informer.stats().version_errors),
        ("104".into(), 1)
    );
    server.set_version(9);
    server.cut();
    server.answer_watches([Answer::Fail(crate::support::server::status(410, "Expired"))]);
    wait_out_backoff().await;
    assert_eq!(version(&informer), "9");
}

#[tokio::test(start_paused = true)]
async fn each_namespace_has_its_own_resource_version() {
    let server = Server::new();
    let object = |namespace: &str| json!({"metadata": {"name": "a", "namespace": namespace}});
    server.put(&object("one"));
    let factory = server.factory();
    factory.set_namespaces(vec!["one".into(), "two".into()]);
    let informer = factory.of::<ConfigMap>();
    assert_eq!(informer.last_resource_version(Some("one")), None);
    factory.start();
    factory.wait_for_cache_sync().await;
    server.put(&object("two"));
    run_until_idle().await;
    let of = |namespace| informer.last_resource_version(Some(namespace));
    assert_eq!(
        (of("one").as_deref(), of("two").as_deref()),
        (Some("1"), Some("2"))
    );
    assert_eq!((of("three"), informer.last_resource_version(None)), (None, None));
}

/// client-go: TestReflectorWatchHandler's cases of synthetic additions, TestWatchListResourceVersion's of none.
#[tokio::test(start_paused = true)]
async fn watch_resumes_from_the_version_of_a_bookmark() {
    let server = Server::new();
    let (_factory, informer) = informer(&server).await;
    server.put(&config_map("a", "1"));
    server.bookmark();
    tokio::time::sleep(Duration::from_secs(5)).await;
    server.cut();
    run_until_idle().await;
    assert_eq!(server.watch_versions(), ["2"]);
    assert_eq!(version(&informer), "2");
}

fn checking() -> ReflectorOptions {
    ReflectorOptions {
        check_consistency: true,
        ..ReflectorOptions::default()
    }
}

/// client-go: checkWatchListDataConsistencyIfRequested, which panics.
#[tokio::test(start_paused = true)]
async fn consistency_check_compares_with_a_list_at_exactly_the_version() {
    for (server, checked_at) in [(Server::new(), 0), (Server::without_streaming(), 1)] {
        server.put(&config_map("a", "1"));
        let factory = server.factory();
        factory.set_reflector_options(checking());
        let informer = factory.of::<ConfigMap>();
        factory.start();
        factory.wait_for_cache_sync().await;
        let exact = ListOptions {
            resource_version: "1".into(),
            exact: true,
            ..ListOptions::default()
        };
        assert_eq!(server.lists()[checked_at], exact);
        assert_eq!(
            (informer.stats().inconsistencies, informer.stats().failures),
            (0, 0)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn inconsistencies_are_named_and_counted() {
    let log = Log::start();
    let server = Server::new();
    for name in ["same", "newer", "recreated", "gone"] {
        server.put(&config_map(name, "1"));
    }
    let item = |name: &str, version: &str, uid: &str| {
        json!({"metadata": {"name": name, "namespace": "default",
        "resourceVersion": version, "uid": uid}})
    };
    let list = json!({"kind": "ConfigMapList", "metadata": {"resourceVersion": "4"}, "items": [
        item("same", "1", "uid-0"), item("newer", "3", "uid-1"), item("recreated", "3", "other"), item("missing", "2", "uid-7")]});
    server.answer_lists([Answer::body(list.to_string())]);
    let factory = server.factory();
    factory.set_reflector_options(checking());
    let informer = factory.of::<ConfigMap>();
    factory.start();
    factory.wait_for_cache_sync().await;
    assert_eq!(informer.stats().inconsistencies, 4);
    assert_eq!(contents(&informer.lister()), server.contents());
    let lines = log.lines("ERROR");
    assert!(
        lines[0].contains("default/gone, default/missing, default/newer, default/recreated"),
        "{lines:?}"
    );

    // A failed list is not an inconsistency.
    server.answer_lists([Answer::Fail(crate::support::server::status(410, "Expired"))]);
    server.reset();
    wait_out_backoff().await;
    assert_eq!((informer.stats().inconsistencies, informer.stats().lists), (4, 2));
}
