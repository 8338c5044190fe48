//! Who is told again of what has not changed, and when.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::cache::{HandlerOptions, QueueKind, SharedInformer, SharedInformerFactory};
use std::sync::Arc;
use tokio::time::sleep;

use crate::support::{server::Server, *};

const QUEUES: [QueueKind; 2] = [QueueKind::Batching, QueueKind::DeltaFifo];

fn every(millis: u64) -> HandlerOptions {
    HandlerOptions::default().resync(Duration::from_millis(millis))
}

/// An informer of `a` and `b` that was not started.
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

fn sorted(diary: &Diary) -> Vec<String> {
    let mut lines = diary.take();
    lines.sort();
    lines
}

const ADDED: [&str; 2] = ["add a=1 initial", "add b=1 initial"];
const RESYNCED: [&str; 2] = ["update a=1->1", "update b=1->1"];
const NOTHING: [&str; 0] = [];

/// client-go: TestListenerResyncPeriods.
#[tokio::test(start_paused = true)]
async fn each_handler_resyncs_in_its_own_period() {
    for queue in QUEUES {
        let (server, factory, informer) = two_objects(queue);
        let [never, second, two, three, sunk] = [(); 5].map(|()| Diary::default());
        informer.add_event_handler(never.clone());
        informer.add_event_handler_with(second.clone(), every(1000));
        informer.add_event_handler_with(two.clone(), every(2000));
        informer.add_event_handler_with(three.clone(), every(3000));
        informer.add_sink_with(sunk.sink(), every(3000));
        factory.start();
        settle().await;
        for diary in [&never, &second, &two, &three] {
            assert_eq!(sorted(diary), ADDED);
        }
        sunk.take();
        server.requests();
        for (at, resynced) in [
            (1, [true, false, false]),
            (2, [true, true, false]),
            (3, [true, false, true]),
        ] {
            sleep(Duration::from_secs(1)).await;
            for (diary, resynced) in [&second, &two, &three].into_iter().zip(resynced) {
                assert_eq!(
                    sorted(diary),
                    if resynced { &RESYNCED[..] } else { &[] },
                    "{queue:?}, {at} s"
                );
            }
            assert_eq!(sunk.take().len(), if resynced[2] { 2 } else { 0 });
        }
        assert_eq!(never.take(), NOTHING);
        // It was all told from the store.
        assert!(server.requests().is_empty());
    }
}

/// client-go: TestListenerResyncPeriodsDelayed: there the listeners start late, here the list does.
#[tokio::test(start_paused = true)]
async fn a_resync_before_the_first_list_tells_nothing_and_holds_up_nothing() {
    for queue in QUEUES {
        let (server, factory, informer) = two_objects(queue);
        let (never, second) = (Diary::default(), Diary::default());
        informer.add_event_handler(never.clone());
        informer.add_event_handler_with(second.clone(), every(1000));
        server.answer_streams([server::Answer::Silence]);
        factory.start();
        // A streaming list that stalls is given up for one in pages after half a minute.
        sleep(Duration::from_secs(29)).await;
        assert_eq!((never.take(), second.take()), (vec![], vec![]));
        sleep(Duration::from_secs(181)).await;
        assert_eq!(sorted(&never), ADDED);
        let told = second.take();
        assert_eq!(told.iter().filter(|line| line.starts_with("add")).count(), 2);
        assert!(told.iter().any(|line| line.starts_with("update a=1->1")));
    }
}

/// client-go: AddEventHandlerWithOptions after the start; TestResyncCheckPeriod covers the time before.
#[tokio::test(start_paused = true)]
async fn a_late_handler_resyncs_at_most_as_often_as_it_is_checked() {
    let (_server, factory, informer) = two_objects(QueueKind::Batching);
    let (early, late) = (Diary::default(), Diary::default());
    informer.add_event_handler_with(early.clone(), every(5000));
    factory.start();
    settle().await;
    informer.add_event_handler_with(late.clone(), every(1000));
    settle().await;
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
    // It came two milliseconds after the first check: its five seconds are over at the next.
    sleep(Duration::from_secs(5)).await;
    assert_eq!(sorted(&late), RESYNCED);
}

#[tokio::test(start_paused = true)]
async fn the_first_period_that_is_wanted_after_the_start_begins_the_checks() {
    let (_server, factory, informer) = two_objects(QueueKind::Batching);
    factory.start();
    sleep(Duration::from_secs(100)).await;
    let late = Diary::default();
    informer.add_event_handler_with(late.clone(), every(2000));
    sleep(Duration::from_millis(1900)).await;
    assert_eq!(sorted(&late), ADDED);
    sleep(Duration::from_millis(200)).await;
    assert_eq!(sorted(&late), RESYNCED);
}

/// client-go: TestSharedInformerWatchDisruption: what a relist brings again in the same version is a resync. There, a handler that never
/// resyncs is told of it, too, before the first check.
#[tokio::test(start_paused = true)]
async fn what_a_relist_finds_unchanged_reaches_only_those_who_resync_then() {
    for queue in QUEUES {
        let (server, factory, informer) = two_objects(queue);
        let (never, second, hourly) = (Diary::default(), Diary::default(), Diary::default());
        informer.add_event_handler(never.clone());
        informer.add_event_handler_with(second.clone(), every(1000));
        informer.add_event_handler_with(hourly.clone(), every(3_600_000));
        factory.start();
        sleep(Duration::from_millis(1500)).await;
        for diary in [&never, &second, &hourly] {
            diary.take();
        }
        server.put_unseen(&config_map("b", "2"));
        server.put_unseen(&config_map("c", "1"));
        // Long enough for the backoff, and shorter than a check would be late.
        server.reset();
        tokio::time::timeout(Duration::from_mins(1), async {
            while informer.stats().lists < 2 {
                sleep(Duration::from_millis(10)).await;
            }
        })
        .await
        .unwrap();
        settle().await;
        let changed = ["add c=1", "update b=1->2"];
        assert_eq!(
            (sorted(&never), sorted(&hourly)),
            (
                changed.map(String::from).to_vec(),
                changed.map(String::from).to_vec()
            )
        );
        let told = second.take();
        let after = told.iter().position(|line| line.starts_with("add c")).unwrap();
        let relist = &told[after.saturating_sub(2)..];
        assert!(relist.iter().any(|line| line == "update a=1->1"), "{told:?}");
    }
}

/// client-go: TestDeltaFIFO_UpdateResyncRace, of a whole informer: a resync does not bring back an older state.
#[tokio::test(start_paused = true)]
async fn a_resync_tells_the_newest_state() {
    for queue in QUEUES {
        let (server, factory, informer) = two_objects(queue);
        let seen = Diary::default();
        informer.add_event_handler_with(seen.clone(), every(1000));
        factory.start();
        sleep(Duration::from_millis(999)).await;
        seen.take();
        // Both at the moment of the check.
        sleep(Duration::from_millis(1)).await;
        server.put(&config_map("a", "2"));
        server.delete("default", "b");
        sleep(Duration::from_millis(500)).await;
        seen.take();
        sleep(Duration::from_secs(1)).await;
        assert_eq!(seen.take(), ["update a=2->2"]);
    }
}
