//! The events of a relist, with both delta queues.

use kubewright::cache::{Change, Metadata, SharedInformer, list_watch::QueueKind};
use parking_lot::Mutex;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;

use crate::support::{server::Server, *};

/// Records each change, with its datum and the datum that the store has at that time.
fn record(informer: &SharedInformer<ConfigMap>) -> Arc<Mutex<Vec<String>>> {
    let history: Arc<Mutex<Vec<String>>> = Arc::default();
    let (written, lister) = (history.clone(), informer.lister());
    informer.add_sink(move |change| {
        let version = |metadata: &Metadata| metadata.resource_version().to_owned();
        let stored = lister.object(change.name());
        let stored = stored.map_or("none".into(), |stored| version(stored.metadata()));
        let (action, version) = match change {
            Change::Added { new, .. } => ("add", version(new)),
            Change::Updated { new, .. } => ("update", version(new)),
            Change::Deleted { old, .. } => ("delete", version(old)),
        };
        let name = change.name().name();
        written
            .lock()
            .push(format!("{action} {name}@{version}, stored {stored}"));
    });
    history
}

/// Changes without watch events, and the events that the relist delivers for them.
struct Case {
    initial: &'static [&'static str],
    put: &'static [&'static str],
    deleted: &'static [&'static str],
    /// Deletions first, in no particular order.
    history: &'static [&'static str],
}

const CASES: [Case; 4] = [
    Case {
        initial: &[],
        put: &["a"],
        deleted: &[],
        history: &["add a@1, stored 1"],
    },
    Case {
        initial: &["a", "c"],
        put: &[],
        deleted: &["a", "c"],
        history: &["delete a@1, stored none", "delete c@2, stored none"],
    },
    Case {
        initial: &["a", "b", "c"],
        put: &["a", "b", "d"],
        deleted: &["c"],
        history: &[
            "delete c@3, stored none",
            "update a@4, stored 4",
            "update b@5, stored 5",
            "add d@6, stored 6",
        ],
    },
    // Nothing has changed: no event.
    Case {
        initial: &["a"],
        put: &[],
        deleted: &[],
        history: &[],
    },
];

/// client-go: TestReplaceEvents, which compares the atomic and the other mode of one queue.
#[tokio::test(start_paused = true)]
async fn relist_delivers_the_same_events_with_both_queues() {
    for case in CASES {
        for queue in [QueueKind::Batching, QueueKind::DeltaFifo] {
            let server = Server::new();
            for name in case.initial {
                server.put(&config_map(name, "1"));
            }
            let factory = server.factory();
            factory.set_queue(queue);
            let informer = factory.of::<ConfigMap>();
            let history = record(&informer);
            factory.start();
            factory.wait_for_cache_sync().await;
            history.lock().clear();
            for name in case.put {
                server.put_unseen(&config_map(name, "2"));
            }
            for name in case.deleted {
                server.delete_unseen("default", name);
            }
            server.reset();
            wait_out_backoff().await;
            let mut history = std::mem::take(&mut *history.lock());
            match queue {
                // Deletions come first, then the list in its order.
                QueueKind::Batching => history[..case.deleted.len()].sort(),
                // The list comes first.
                QueueKind::DeltaFifo => {
                    history[case.history.len() - case.deleted.len()..].sort();
                    history.rotate_right(case.deleted.len());
                }
            }
            assert_eq!(history, case.history, "{queue:?}");
            assert_eq!(contents(&informer.lister()), server.contents());
            assert_eq!(informer.stats().lists, 2);
        }
    }
}

/// With the batching queue, a reader sees a relist completely or not at all.
#[tokio::test(start_paused = true)]
async fn relist_changes_the_store_atomically_only_with_the_batching_queue() {
    for (queue, sizes) in [
        (QueueKind::Batching, vec![3, 3, 3]),
        (QueueKind::DeltaFifo, vec![1, 2, 3]),
    ] {
        let server = Server::new();
        for name in ["a", "b", "c"] {
            server.put(&config_map(name, "1"));
        }
        let factory = server.factory();
        factory.set_queue(queue);
        let informer = factory.of::<ConfigMap>();
        let (lister, seen) = (informer.lister(), Arc::new(Mutex::new(Vec::new())));
        let written = seen.clone();
        informer.add_sink(move |_| written.lock().push(lister.list().len()));
        factory.start();
        factory.wait_for_cache_sync().await;
        assert_eq!(*seen.lock(), sizes, "{queue:?}");
    }
}
