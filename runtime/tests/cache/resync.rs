//! Resync periods: which handlers receive unchanged objects again, and when.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::cache::{HandlerOptions, SharedInformer, SharedInformerFactory, list_watch::QueueKind};
use std::sync::Arc;
use tokio::time::sleep;

use crate::support::{server::Server, *};

const QUEUES: [QueueKind; 2] = [QueueKind::Batching, QueueKind::DeltaFifo];

fn every(millis: u64) -> HandlerOptions {
    HandlerOptions::default().resync(Duration::from_millis(millis))
}

/// Returns an informer of the objects `a` and `b` that is not started.
fn two_objects(queue: QueueKind) -> (Arc<Server>, SharedInformerFactory, SharedInformer<ConfigMap>) {
    let server = Server::new();
    for name in ["a", "b"] {
        server.put(&config_map(name, "1"));
    }
    let factory = server.factory();
    factory.set_queue(queue);
    let informer = factory.of();
    (server, factory, informer)
}

fn sorted(recorded: &RecordingHandler) -> Vec<String> {
    let mut lines = recorded.take();
    lines.sort();
    lines
}

const ADDED: [&str; 2] = ["add a=1 initial", "add b=1 initial"];
const RESYNCED: [&str; 2] = ["update a=1->1", "update b=1->1"];
const NOTHING: [&str; 0] = [];

/// client-go: TestListenerResyncPeriods.
#[tokio::test(start_paused = true)]
async fn each_handler_has_its_own_resync_period() {
    for queue in QUEUES {
        let (server, factory, informer) = two_objects(queue);
        let [never, second, two, three, sunk] = [(); 5].map(|()| RecordingHandler::default());
        informer.add_event_handler(never.clone());
        informer.add_event_handler_with(second.clone(), every(1000));
        informer.add_event_handler_with(two.clone(), every(2000));
        informer.add_event_handler_with(three.clone(), every(3000));
        informer.add_sink_with(sunk.sink(), every(3000));
        factory.start();
        run_until_idle().await;
        for recorded in [&never, &second, &two, &three] {
            assert_eq!(sorted(recorded), ADDED);
        }
        sunk.take();
        server.requests();
        for (at, resynced) in [
            (1, [true, false, false]),
            (2, [true, true, false]),
            (3, [true, false, true]),
        ] {
            sleep(Duration::from_secs(1)).await;
            for (recorded, resynced) in [&second, &two, &three].into_iter().zip(resynced) {
                assert_eq!(
                    sorted(recorded),
                    if resynced { &RESYNCED[..] } else { &[] },
                    "{queue:?}, {at} s"
                );
            }
            assert_eq!(sunk.take().len(), if resynced[2] { 2 } else { 0 });
        }
        assert_eq!(never.take(), NOTHING);
        // All of it came from the store, without a request.
        assert!(server.requests().is_empty());
    }
}

/// client-go: TestListenerResyncPeriodsDelayed: there the listeners start late, here the list does.
#[tokio::test(start_paused = true)]
async fn resync_before_the_first_list_delivers_nothing_and_blocks_nothing() {
    for queue in QUEUES {
        let (server, factory, informer) = two_objects(queue);
        let (never, second) = (RecordingHandler::default(), RecordingHandler::default());
        informer.add_event_handler(never.clone());
        informer.add_event_handler_with(second.clone(), every(1000));
        server.answer_streams([server::Answer::Silence]);
        factory.start();
        // A stalled streaming list is replaced by a paged one after 30 seconds.
        sleep(Duration::from_secs(29)).await;
        assert_eq!((never.take(), second.take()), (vec![], vec![]));
        sleep(Duration::from_secs(181)).await;
        assert_eq!(sorted(&never), ADDED);
        let lines = second.take();
        assert_eq!(lines.iter().filter(|line| line.starts_with("add")).count(), 2);
        assert!(lines.iter().any(|line| line.starts_with("update a=1->1")));
    }
}

/// client-go: AddEventHandlerWithOptions after the start; TestResyncCheckPeriod covers the time before.
#[tokio::test(start_paused = true)]
async fn late_handler_resync_period_is_raised_to_the_check_period() {
    let (_server, factory, informer) = two_objects(QueueKind::Batching);
    let (early, late) = (RecordingHandler::default(), RecordingHandler::default());
    informer.add_event_handler_with(early.clone(), every(5000));
    factory.start();
    run_until_idle().await;
    informer.add_event_handler_with(late.clone(), every(1000));
    run_until_idle().await;
    assert_eq!(
        (sorted(&early), sorted(&late)),
        (ADDED.map(String::from).to_vec(), ADDED.map(String::from).to_vec())
    );
    sleep(Duration::from_millis(4900)).await;
    assert_eq!((early.take(), late.take()), (vec![], vec![]));
    sleep(Duration::from_millis(100)).await;
    assert_eq!(
        (sorted(&early), late.take()),
        (RESYNCED.map(String::from).to_vec(), vec![])
    );
    // It was added two milliseconds after the first check: its five seconds end before the next one.
    sleep(Duration::from_secs(5)).await;
    assert_eq!(sorted(&late), RESYNCED);
}

#[tokio::test(start_paused = true)]
async fn first_resync_period_after_the_start_becomes_the_check_period() {
    let (_server, factory, informer) = two_objects(QueueKind::Batching);
    factory.start();
    sleep(Duration::from_secs(100)).await;
    let late = RecordingHandler::default();
    informer.add_event_handler_with(late.clone(), every(2000));
    sleep(Duration::from_millis(1900)).await;
    assert_eq!(sorted(&late), ADDED);
    sleep(Duration::from_millis(200)).await;
    assert_eq!(sorted(&late), RESYNCED);
}

/// client-go: TestSharedInformerWatchDisruption: an unchanged object of a relist is a resync event. There, a handler without a resync
/// period receives it too, before the first check.
#[tokio::test(start_paused = true)]
async fn unchanged_objects_of_a_relist_reach_only_resyncing_handlers() {
    for queue in QUEUES {
        let (server, factory, informer) = two_objects(queue);
        let (never, second, hourly) = (
            RecordingHandler::default(),
            RecordingHandler::default(),
            RecordingHandler::default(),
        );
        informer.add_event_handler(never.clone());
        informer.add_event_handler_with(second.clone(), every(1000));
        informer.add_event_handler_with(hourly.clone(), every(3_600_000));
        factory.start();
        sleep(Duration::from_millis(1500)).await;
        for recorded in [&never, &second, &hourly] {
            recorded.take();
        }
        server.put_unseen(&config_map("b", "2"));
        server.put_unseen(&config_map("c", "1"));
        // Longer than the backoff, shorter than the check period.
        server.reset();
        tokio::time::timeout(Duration::from_mins(1), async {
            while informer.stats().lists < 2 {
                sleep(Duration::from_millis(10)).await;
            }
        })
        .await
        .unwrap();
        run_until_idle().await;
        let changed = ["add c=1", "update b=1->2"];
        assert_eq!(
            (sorted(&never), sorted(&hourly)),
            (
                changed.map(String::from).to_vec(),
                changed.map(String::from).to_vec()
            )
        );
        let lines = second.take();
        let after = lines.iter().position(|line| line.starts_with("add c")).unwrap();
        let relist = &lines[after.saturating_sub(2)..];
        assert!(relist.iter().any(|line| line == "update a=1->1"), "{lines:?}");
    }
}

/// client-go: TestDeltaFIFO_UpdateResyncRace, for a whole informer: a resync does not deliver an older state.
#[tokio::test(start_paused = true)]
async fn resync_delivers_the_latest_state() {
    for queue in QUEUES {
        let (server, factory, informer) = two_objects(queue);
        let seen = RecordingHandler::default();
        informer.add_event_handler_with(seen.clone(), every(1000));
        factory.start();
        sleep(Duration::from_millis(999)).await;
        seen.take();
        // Both at the time of the check.
        sleep(Duration::from_millis(1)).await;
        server.put(&config_map("a", "2"));
        server.delete("default", "b");
        sleep(Duration::from_millis(500)).await;
        seen.take();
        sleep(Duration::from_secs(1)).await;
        assert_eq!(seen.take(), ["update a=2->2"]);
    }
}

/// client-go: NewSharedInformerFactoryWithOptions, WithCustomResyncConfig.
#[tokio::test(start_paused = true)]
async fn handler_without_resync_period_uses_that_of_its_informer_or_factory() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    for (own, resyncs) in [(None, 1), (Some(Duration::from_secs(10)), 3)] {
        let factory = server.factory();
        factory.set_resync(Some(Duration::from_secs(30)));
        let informer = factory.of::<ConfigMap>();
        if own.is_some() {
            informer.set_resync(own);
        }
        let seen = RecordingHandler::default();
        informer.add_event_handler(seen.clone());
        factory.start();
        sleep(Duration::from_secs(35)).await;
        let updates = seen
            .take()
            .iter()
            .filter(|line| line.starts_with("update a=1->1"))
            .count();
        assert_eq!(updates, resyncs);
        factory.shutdown().await;
    }
}
