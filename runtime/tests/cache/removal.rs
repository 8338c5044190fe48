//! Informers that are removed from their factory while others run (controller-runtime's `RemoveInformer`).

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::cache::{InformerOptions, SharedInformer, SharedInformerFactory};
use tokio::time::timeout;

use crate::support::{server::Server, *};

fn in_default(factory: &SharedInformerFactory) -> SharedInformer<ConfigMap> {
    factory.with(InformerOptions {
        namespaces: Some(vec!["default".to_owned()]),
        ..InformerOptions::default()
    })
}

/// controller-runtime: "should be able to remove an informer", in `pkg/cache/cache_test.go`.
#[tokio::test(start_paused = true)]
async fn removed_informer_ends_its_watch_and_its_handlers() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    let factory = server.factory();
    let (kept, removed) = (factory.of::<ConfigMap>(), in_default(&factory));
    let (seen, still_seen) = (RecordingHandler::default(), RecordingHandler::default());
    let handlers = [
        removed.add_event_handler(seen.clone()),
        removed.add_sink(seen.sink()),
    ];
    kept.add_sink(still_seen.sink());
    factory.start();
    factory.wait_for_cache_sync().await;
    run_until_idle().await;
    assert_eq!((server.open_watches(), factory.duplicates().len()), (2, 1));
    assert_eq!((seen.take().len(), still_seen.take().len()), (2, 1));

    assert!(factory.remove(&removed));
    for handler in handlers {
        timeout(Duration::from_secs(1), handler.ended()).await.unwrap();
    }
    server.put(&config_map("b", "1"));
    run_until_idle().await;
    assert_eq!((server.open_watches(), factory.duplicates()), (1, vec![]));
    assert_eq!((factory.informers().len(), factory.stats().len()), (1, 1));
    assert_eq!(
        (seen.take().len(), still_seen.take()),
        (0, vec!["add b".to_owned()])
    );
    assert!(removed.is_stopped() && !kept.is_stopped());
    assert_eq!(
        contents(&removed.lister()),
        pairs(&[("a", "1")]),
        "listers keep the last state"
    );
    assert_eq!(contents(&kept.lister()), server.contents());
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn informer_that_was_never_started_can_be_removed() {
    let server = Server::new();
    let factory = server.factory();
    let removed = in_default(&factory);
    let sink = removed.add_sink(|_| {});
    assert!(factory.remove(&removed) && !factory.remove(&removed));
    timeout(Duration::from_secs(1), sink.ended()).await.unwrap();
    factory.start();
    factory.wait_for_cache_sync().await;
    run_until_idle().await;
    assert!(server.requests().is_empty() && removed.is_stopped());
}

#[tokio::test(start_paused = true)]
async fn informer_of_another_factory_is_not_removed() {
    let server = Server::new();
    let (factory, informer) = informer(&server).await;
    assert!(!server.factory().remove(&informer));
    assert!(!informer.is_stopped());
    factory.shutdown().await;
    assert!(factory.remove(&informer), "also after the shutdown");
}

#[tokio::test(start_paused = true)]
async fn same_options_make_a_fresh_informer_after_the_removal() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    let (factory, first) = informer(&server).await;
    assert!(factory.remove(&first));
    server.put(&config_map("b", "1"));
    let second = factory.of::<ConfigMap>();
    assert!(!second.has_synced(), "it was not started");
    factory.start();
    factory.wait_for_cache_sync().await;
    assert_eq!(contents(&second.lister()), server.contents());
    assert_eq!(contents(&first.lister()), pairs(&[("a", "1")]));
    factory.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn informers_on_their_own_thread_are_removed() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    let factory = server.factory();
    for _ in 0..50 {
        let informer = factory.of::<ConfigMap>();
        factory.start();
        factory.wait_for_cache_sync().await;
        assert!(factory.remove(&informer));
        while !informer.is_stopped() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    assert_eq!((server.open_watches(), factory.informers().len()), (0, 0));
    factory.shutdown().await;
}
