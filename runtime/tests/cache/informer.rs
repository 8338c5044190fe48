//! A whole informer under concurrent changes, on real threads, with both queues.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::cache::{
    Deleted, EventHandler, HandlerOptions, HandlerRegistration, IndexKey, IndexSpec, IndexType, Object,
    SharedInformer, list_watch::QueueKind,
};
use serde_json::json;
use tokio::{task::JoinSet, time::timeout};

use crate::{
    event_checker::EventChecker,
    support::{server::Server, *},
};

const QUEUES: [QueueKind; 2] = [QueueKind::Batching, QueueKind::DeltaFifo];
const PATIENCE: Duration = Duration::from_mins(1);

fn add_checkers(informer: &SharedInformer<ConfigMap>) -> Vec<(EventChecker, HandlerRegistration)> {
    let options = HandlerOptions::default();
    [
        options,
        options.coalesce(),
        options.resync(Duration::from_secs(1)),
    ]
    .map(|options| {
        let checker = EventChecker::default();
        (checker.clone(), informer.add_event_handler_with(checker, options))
    })
    .into()
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    let waited = timeout(PATIENCE, async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    assert!(waited.await.is_ok(), "{what} did not come");
}

/// client-go: TestHammerController, TestSharedInformerInitializationRace, TestAddWhileActive, TestRemoveWhileActive.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn handlers_are_added_and_removed_while_threads_change_objects() {
    for queue in QUEUES {
        let server = Server::new();
        let factory = server.factory();
        factory.set_queue(queue);
        let informer = factory.of::<ConfigMap>();
        let mut tasks = JoinSet::new();
        for thread in 0..3 {
            let server = server.clone();
            tasks.spawn(async move {
                for round in 0..300 {
                    // Each thread has its own objects, and some are shared by all.
                    let name = format!(
                        "o{}",
                        if round % 3 == 0 {
                            100
                        } else {
                            thread * 10 + round % 7
                        }
                    );
                    match round % 5 {
                        4 => server.delete("default", &name),
                        3 => server.put_unseen(&config_map(&name, &format!("{thread}.{round}"))),
                        _ => server.put(&config_map(&name, &format!("{thread}.{round}"))),
                    }
                    tokio::task::yield_now().await;
                }
            });
        }
        let mut coming = JoinSet::new();
        for task in 0..4 {
            let informer = informer.clone();
            coming.spawn(async move {
                let mut kept = Vec::new();
                for round in 0..20 {
                    let checkers = add_checkers(&informer);
                    tokio::task::yield_now().await;
                    if round % 2 == task % 2 {
                        kept.extend(checkers);
                    } else {
                        for (_, registration) in &checkers {
                            registration.remove();
                        }
                    }
                }
                kept
            });
        }
        factory.start();
        tasks.join_all().await;
        let checkers: Vec<_> = coming.join_all().await.into_iter().flatten().collect();
        // The relist delivers changes without watch events.
        server.reset();
        let truth = server.contents();
        until("the truth", || contents(&informer.lister()) == truth).await;
        assert_eq!(checkers.len(), 4 * 10 * 3);
        for (checker, registration) in &checkers {
            assert!(timeout(PATIENCE, registration.wait_for_sync()).await.unwrap());
            until("the truth at a handler", || {
                checker.contents().as_ref() == Ok(&truth)
            })
            .await;
        }
        factory.shutdown().await;
    }
}

/// Deletes each object when its update arrives.
struct Deletes {
    server: Arc<Server>,
    seen: RecordingHandler,
}

impl EventHandler<ConfigMap> for Deletes {
    fn on_update(&self, old: &Object<ConfigMap>, new: &Object<ConfigMap>) {
        self.seen.on_update(old, new);
        self.server.delete("default", new.name().name());
    }
    fn on_delete(&self, deleted: &Deleted<ConfigMap>) {
        self.seen.on_delete(deleted);
    }
}

/// client-go: TestUpdate.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn update_has_the_previous_state_as_old_before_its_deletion() {
    for queue in QUEUES {
        let server = Server::new();
        let factory = server.factory();
        factory.set_queue(queue);
        let informer = factory.of::<ConfigMap>();
        let seen = RecordingHandler::default();
        informer.add_event_handler(Deletes {
            server: server.clone(),
            seen: seen.clone(),
        });
        factory.start();
        factory.wait_for_cache_sync().await;
        until("the watch", || informer.stats().watches == 1).await;
        let before = informer.stats().watch_events;
        let names: Vec<String> = (0..9).map(|number| format!("o{number}")).collect();
        let mut writers = JoinSet::new();
        for name in names.clone() {
            let server = server.clone();
            writers.spawn(async move {
                server.put(&config_map(&name, "from"));
                server.put(&config_map(&name, "to"));
            });
        }
        writers.join_all().await;
        until("the last deletion", || {
            informer.stats().watch_events == before + 27
                && informer.lister().list().len() == 0
                // A stored object may not have been delivered to the handler yet.
                && seen.len() == 2 * names.len()
        })
        .await;
        factory.shutdown().await;
        let mut lines = seen.take();
        lines.sort();
        let mut expected: Vec<String> = names
            .iter()
            .flat_map(|name| [format!("delete {name}=to"), format!("update {name}=from->to")])
            .collect();
        expected.sort();
        assert_eq!(lines, expected, "{queue:?}");
    }
}

/// client-go: TestProcessDeltasInBatch: there, an index error fails the object's transaction; here the object is stored and delivered, and
/// only that index lacks it.
#[tokio::test(start_paused = true)]
async fn object_that_an_index_refuses_does_not_affect_its_batch() {
    const DATUM: IndexSpec = IndexSpec {
        name: "datum",
        path: "data.datum",
        value_type: IndexType::String,
    };
    for queue in QUEUES {
        let server = Server::new();
        let factory = server.factory();
        factory.set_queue(queue);
        let informer = factory.of::<ConfigMap>();
        informer.add_index(&DATUM).unwrap();
        let seen = RecordingHandler::default();
        informer.add_sink(seen.sink());
        factory.start();
        factory.wait_for_cache_sync().await;
        run_until_idle().await;
        server.put(&config_map("a", "x"));
        server.put(&json!({"metadata": {"namespace": "default", "name": "b"}, "data": {"datum": 5}}));
        server.put(&config_map("c", "x"));
        run_until_idle().await;
        assert_eq!(seen.take(), ["add a", "add b", "add c"]);
        let indexed = informer
            .lister()
            .index_keys("datum", IndexKey::from("x"))
            .unwrap();
        assert_eq!(
            (indexed, informer.stats().index_errors),
            (vec![name("a"), name("c")], 1)
        );
    }
}
