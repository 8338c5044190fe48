//! The end of handlers, and informers that were stopped.

use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::cache::{EventHandler, HandlerOptions, HandlerRegistration, Object, SharedInformer};
use tokio::time::timeout;

use crate::support::{
    server::{Answer, Server, refused},
    *,
};

async fn ends(registration: &HandlerRegistration) -> bool {
    timeout(Duration::from_secs(1), registration.ended())
        .await
        .is_ok()
}

/// Adds a handler and a sink.
fn both(informer: &SharedInformer<ConfigMap>, seen: &RecordingHandler) -> [HandlerRegistration; 2] {
    [
        informer.add_event_handler(seen.clone()),
        informer.add_sink(seen.sink()),
    ]
}

/// client-go: TestShutDownEventHandler_Lifecycles (InformerNeverStarted).
#[tokio::test(start_paused = true)]
async fn removed_handler_of_a_never_started_informer_has_ended() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    let factory = server.factory();
    let (informer, seen) = (factory.of::<ConfigMap>(), RecordingHandler::default());
    for registration in both(&informer, &seen) {
        assert!(!ends(&registration).await);
        registration.remove();
        assert!(ends(&registration).await);
        assert!(!registration.wait_for_sync().await);
    }
    factory.start();
    factory.wait_for_cache_sync().await;
    run_until_idle().await;
    assert!(seen.is_empty());
}

/// client-go: TestShutDownEventHandler_Lifecycles (AddedThenStartedThenShutDown, StartedThenAddedThenShutDown).
#[tokio::test(start_paused = true)]
async fn removed_handler_of_an_idle_informer_ends_at_once() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    let factory = server.factory();
    let (informer, seen) = (factory.of::<ConfigMap>(), RecordingHandler::default());
    let early = both(&informer, &seen);
    factory.start();
    factory.wait_for_cache_sync().await;
    let late = both(&informer, &seen);
    for registration in early.iter().chain(&late) {
        assert!(registration.wait_for_sync().await);
        assert!(!ends(registration).await);
        registration.remove();
        assert!(ends(registration).await);
        registration.remove();
        // The state does not change any more.
        assert!(registration.wait_for_sync().await && registration.has_synced());
    }
}

/// A handler that blocks until it is released.
struct BlockedHandler {
    barrier: Arc<Barrier>,
    calls: Arc<AtomicUsize>,
    has_returned: Arc<AtomicBool>,
}

impl EventHandler<ConfigMap> for BlockedHandler {
    fn on_add(&self, _: &Object<ConfigMap>, _: bool) {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.barrier.wait();
        self.has_returned.store(true, Ordering::SeqCst);
    }
}

/// client-go: TestRemoveEventHandler_AsynchronousPanic, TestRemoveEventHandler_SynchronousShutdown.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn remove_does_not_wait_for_a_running_call_and_ended_does() {
    let server = Server::new();
    let (factory, informer) = informer(&server).await;
    let stuck = BlockedHandler {
        barrier: Arc::new(Barrier::new(2)),
        calls: Arc::default(),
        has_returned: Arc::default(),
    };
    let (barrier, calls, has_returned) = (
        stuck.barrier.clone(),
        stuck.calls.clone(),
        stuck.has_returned.clone(),
    );
    let registration = informer.add_event_handler(stuck);
    server.put(&config_map("a", "1"));
    server.put(&config_map("b", "1"));
    while calls.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    registration.remove();
    assert!(
        timeout(Duration::from_millis(50), registration.ended())
            .await
            .is_err()
    );
    tokio::task::spawn_blocking(move || barrier.wait()).await.unwrap();
    registration.ended().await;
    assert!(has_returned.load(Ordering::SeqCst));
    assert_eq!((calls.load(Ordering::SeqCst), registration.pending()), (1, 0));
    factory.shutdown().await;
}

/// client-go: TestAddOnStoppedSharedInformer (there an error), TestRemoveOnStoppedSharedInformer, TestStateSharedInformer.
#[tokio::test(start_paused = true)]
async fn handler_added_after_the_stop_receives_nothing() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    let (factory, informer) = informer(&server).await;
    let seen = RecordingHandler::default();
    let early = both(&informer, &seen);
    run_until_idle().await;
    assert_eq!(seen.take().len(), 2);
    assert!(!informer.is_stopped());
    factory.shutdown().await;
    assert!(informer.is_stopped());
    let late = both(&informer, &seen);
    let options = HandlerOptions::default()
        .coalesce()
        .resync(Duration::from_secs(1));
    let resyncing = informer.add_event_handler_with(seen.clone(), options);
    for registration in early.iter().chain(&late).chain([&resyncing]) {
        assert!(ends(registration).await);
        registration.remove();
    }
    assert!(early.iter().all(HandlerRegistration::has_synced));
    assert!(!late[0].wait_for_sync().await && !late[1].has_synced());
    factory.start();
    server.put(&config_map("b", "1"));
    wait_out_backoff().await;
    assert!(seen.is_empty() && informer.is_stopped());
    assert_eq!(contents(&informer.lister()), pairs(&[("a", "1")]));
}

/// client-go: TestShutdown. Handlers that were added and never started end too, and are dropped.
#[tokio::test(start_paused = true)]
async fn handler_is_dropped_when_it_ends() {
    struct HoldingHandler(#[expect(dead_code, reason = "held")] Arc<()>);
    impl EventHandler<ConfigMap> for HoldingHandler {}
    let server = Server::new();
    let factory = server.factory();
    let informer = factory.of::<ConfigMap>();
    let held = Arc::new(());
    let add = || {
        let (handler, sink) = (held.clone(), held.clone());
        let handler = informer.add_event_handler(HoldingHandler(handler));
        [handler, informer.add_sink(move |_| drop(Arc::downgrade(&sink)))]
    };
    let removed_before = add();
    removed_before.iter().for_each(HandlerRegistration::remove);
    assert_eq!(Arc::strong_count(&held), 1);
    let [kept, removed] = [add(), add()];
    factory.start();
    factory.wait_for_cache_sync().await;
    removed.iter().for_each(HandlerRegistration::remove);
    run_until_idle().await;
    assert_eq!(Arc::strong_count(&held), 3);
    factory.shutdown().await;
    for registration in kept.iter().chain(&removed) {
        assert!(ends(registration).await);
    }
    let late = add();
    assert_eq!((late.len(), Arc::strong_count(&held)), (2, 1));
}

/// A controller without a watch is unhealthy, although its cache can still be read.
#[tokio::test(start_paused = true)]
async fn missing_watch_is_reported_by_the_health_check() {
    let (server, max_watch_gap) = (Server::new(), Duration::from_mins(1));
    server.answer_streams([Answer::Silence]);
    let factory = server.factory();
    let kind = factory.of::<ConfigMap>().info().clone();
    assert_eq!(factory.check(&kind, max_watch_gap), Ok(()), "not started yet");
    factory.start();
    run_until_idle().await;
    assert_eq!(
        factory.check(&kind, max_watch_gap),
        Err("waiting for the first list of configmaps".to_owned())
    );
    factory.shutdown().await;

    let server = Server::new();
    let (factory, _) = informer(&server).await;
    assert_eq!(factory.check(&kind, max_watch_gap), Ok(()));
    server.answer_watches(vec![Answer::Fail(refused()); 1000]);
    tokio::time::sleep(Duration::from_secs(2)).await;
    server.cut();
    tokio::time::sleep(Duration::from_secs(50)).await;
    assert_eq!(factory.check(&kind, max_watch_gap), Ok(()), "it may be back soon");
    tokio::time::sleep(Duration::from_secs(20)).await;
    let problem = factory.check(&kind, max_watch_gap).unwrap_err();
    assert!(problem.starts_with("no watch of configmaps for 7"), "{problem}");
    factory.shutdown().await;
}
