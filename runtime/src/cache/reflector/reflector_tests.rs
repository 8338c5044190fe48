//! The reflector with a fake store that records deltas.

use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Node;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::*;
use crate::{
    ApiResource, Kind as _,
    cache::{
        ListOptions, WatchOptions, fifo::Delta, index::Index, metadata::Metadata, object::StoredObject,
        scan::ScannedObject, stats::Counters, watch_health::WatchHealth,
    },
};

/// Answers each list and watch with the next body; then never again.
#[derive(Default)]
struct ScriptedSource {
    lists: Mutex<Vec<String>>,
    watches: Mutex<Vec<String>>,
    watched_versions: Mutex<Vec<String>>,
}

fn answer(bodies: &Mutex<Vec<String>>) -> BoxFuture<'_, Result<ByteStream, ListWatchError>> {
    let next = bodies.lock().pop();
    Box::pin(async {
        let Some(body) = next else {
            return std::future::pending().await;
        };
        // The connection stays open.
        let first = futures::stream::iter([Ok(Bytes::from(body))]);
        Ok(first.chain(futures::stream::pending()).boxed())
    })
}

impl ListerWatcher for ScriptedSource {
    fn list(&self, _: ListOptions) -> BoxFuture<'_, Result<ByteStream, ListWatchError>> {
        let next = self.lists.lock().pop();
        Box::pin(async {
            let Some(body) = next else {
                return std::future::pending().await;
            };
            Ok(futures::stream::iter([Ok(Bytes::from(body))]).boxed())
        })
    }

    fn watch(&self, options: WatchOptions) -> BoxFuture<'_, Result<ByteStream, ListWatchError>> {
        self.watched_versions.lock().push(options.resource_version);
        answer(&self.watches)
    }
}

struct FakeStore {
    info: ApiResource,
    objects: Mutex<Vec<Arc<StoredObject>>>,
    /// The applied deltas, a line for each call.
    applied: Mutex<Vec<String>>,
    counters: Counters,
    watch_health: Arc<WatchHealth>,
    failures: Mutex<Vec<String>>,
}

impl FakeStore {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            info: Node::info(),
            objects: Mutex::default(),
            applied: Mutex::default(),
            counters: Counters::default(),
            watch_health: Arc::default(),
            failures: Mutex::default(),
        })
    }
}

fn describe(object: &StoredObject) -> String {
    let metadata = &object.metadata;
    format!("{}@{}", metadata.name().name(), metadata.resource_version())
}

impl ReflectorStore for FakeStore {
    fn info(&self) -> &ApiResource {
        &self.info
    }

    fn scanner(&self) -> Scanner {
        Scanner::new(&self.info)
    }

    fn indexes(&self) -> Vec<Arc<Index>> {
        Vec::new()
    }

    fn find_version(&self, metadata: &Metadata) -> Option<Arc<StoredObject>> {
        let objects = self.objects.lock();
        let found = objects.iter().find(|stored| {
            stored.metadata.name() == metadata.name() && metadata.is_version_of(&stored.metadata)
        });
        found.cloned()
    }

    fn prefetch(&self, _: u64) {}

    fn encode(&self, object: ScannedObject<'_>, indexes: &[Arc<Index>]) -> Arc<StoredObject> {
        Arc::new(object.into_raw(indexes))
    }

    async fn apply(&self, deltas: impl IntoIterator<Item = Delta> + Send) {
        let described = deltas.into_iter().map(|delta| match delta {
            Delta::Upserted(object) => format!("+{}", describe(&object)),
            Delta::Deleted(object) => format!("-{}", describe(&object)),
            Delta::Bookmark { version, .. } => format!("<{version}"),
            Delta::Replaced { version, objects, .. } => {
                let listed: Vec<_> = objects.iter().map(|object| describe(object)).collect();
                *self.objects.lock() = objects;
                format!("[{}]@{version}", listed.join(" "))
            }
            other => panic!("no delta of a reflector: {other:?}"),
        });
        let described: Vec<_> = described.collect();
        self.applied.lock().push(described.join(" "));
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn watch_health(&self) -> &Arc<WatchHealth> {
        &self.watch_health
    }

    fn report_failure(&self, error: &ListWatchError) {
        self.failures.lock().push(error.to_string());
    }
}

fn node(name: &str, uid: &str, version: &str) -> Value {
    json!({"metadata": {"name": name, "uid": uid, "resourceVersion": version}})
}

fn list_body(version: &str, items: &[Value]) -> String {
    json!({"metadata": {"resourceVersion": version}, "items": items}).to_string()
}

fn watch_body(events: &[(&str, Value)]) -> String {
    let lines = events.iter().map(|(event_type, object)| {
        let line = json!({"type": event_type, "object": object});
        format!("{line}\n")
    });
    lines.collect()
}

fn reflector(store: &Arc<FakeStore>, source: ScriptedSource) -> (Reflector<FakeStore>, Arc<ScriptedSource>) {
    let source = Arc::new(source);
    let options = ReflectorOptions {
        streaming_lists: false,
        ..ReflectorOptions::default()
    };
    (
        Reflector::new(store.clone(), source.clone(), None, options),
        source,
    )
}

#[tokio::test(start_paused = true)]
async fn list_becomes_one_replacement_and_the_watch_continues_at_its_version() {
    let store = FakeStore::new();
    let bookmark = json!({"kind": "Node", "apiVersion": "v1", "metadata": {"resourceVersion": "9"}});
    let events = [
        ("ADDED", node("c", "c", "6")),
        ("DELETED", node("a", "a", "7")),
        ("BOOKMARK", bookmark),
    ];
    let (reflector, source) = reflector(
        &store,
        ScriptedSource {
            lists: Mutex::new(vec![list_body("5", &[node("a", "a", "3"), node("b", "b", "4")])]),
            watches: Mutex::new(vec![watch_body(&events)]),
            ..ScriptedSource::default()
        },
    );
    timeout(Duration::from_secs(1), reflector.run())
        .await
        .unwrap_err();
    assert_eq!(*store.applied.lock(), ["[a@3 b@4]@5", "+c@6 -a@7 <9"]);
    assert_eq!(*source.watched_versions.lock(), ["5"]);
}

#[tokio::test(start_paused = true)]
async fn events_that_arrived_together_are_applied_in_batches_of_256() {
    let store = FakeStore::new();
    let events: Vec<_> = (0..300)
        .map(|number| {
            (
                "ADDED",
                node(&format!("n{number}"), "u", &(number + 10).to_string()),
            )
        })
        .collect();
    // Each line is a chunk of its own.
    let lines = events.iter().map(|event| watch_body(std::slice::from_ref(event)));
    let chunks: Vec<_> = lines.map(|line| Ok(Bytes::from(line))).collect();
    let (mut reflector, _) = reflector(&store, ScriptedSource::default());
    let body = futures::stream::iter(chunks)
        .chain(futures::stream::pending())
        .boxed();
    reflector.source = Arc::new(OneWatch(Mutex::new(Some(body))));
    let watched = timeout(Duration::from_secs(1), reflector.watch_until_expired(None)).await;
    assert!(watched.is_err(), "the watch goes on");
    let sizes: Vec<_> = store
        .applied
        .lock()
        .iter()
        .map(|batch| batch.matches('+').count())
        .collect();
    assert_eq!(sizes, [256, 44]);
}

struct OneWatch(Mutex<Option<ByteStream>>);

impl ListerWatcher for OneWatch {
    fn list(&self, _: ListOptions) -> BoxFuture<'_, Result<ByteStream, ListWatchError>> {
        Box::pin(std::future::pending())
    }

    fn watch(&self, _: WatchOptions) -> BoxFuture<'_, Result<ByteStream, ListWatchError>> {
        let body = self.0.lock().take();
        Box::pin(async { body.ok_or(ListWatchError::VeryShortWatch) })
    }
}

#[tokio::test(start_paused = true)]
async fn bad_event_is_reported_and_events_before_it_are_applied() {
    let store = FakeStore::new();
    let events = [("ADDED", node("c", "c", "6")), ("UNKNOWN", node("d", "d", "7"))];
    let (reflector, _) = reflector(
        &store,
        ScriptedSource {
            lists: Mutex::new(vec![list_body("5", &[])]),
            watches: Mutex::new(vec![watch_body(&events)]),
            ..ScriptedSource::default()
        },
    );
    timeout(Duration::from_millis(100), reflector.run())
        .await
        .unwrap_err();
    assert_eq!(*store.applied.lock(), ["[]@5", "+c@6 <6"]);
    assert_eq!(store.failures.lock().len(), 1);
}

/// Otherwise a relist would hold everything twice for a moment.
#[tokio::test(start_paused = true)]
async fn relist_reuses_stored_objects_of_the_same_version() {
    let store = FakeStore::new();
    let relist = [node("a", "a", "3"), node("b", "b", "5"), node("c", "x", "4")];
    let first = [node("a", "a", "3"), node("b", "b", "4"), node("c", "c", "4")];
    let lists = vec![list_body("6", &relist), list_body("5", &first)];
    let (mut reflector, _) = reflector(
        &store,
        ScriptedSource {
            lists: Mutex::new(lists),
            ..ScriptedSource::default()
        },
    );
    reflector.list().await.unwrap();
    let before = store.objects.lock().clone();
    reflector.list().await.unwrap();
    let after = store.objects.lock().clone();
    let reused: Vec<_> = before
        .iter()
        .zip(&after)
        .map(|(old, new)| Arc::ptr_eq(old, new))
        .collect();
    assert_eq!(
        reused,
        [true, false, false],
        "same version, other version, other uid"
    );
}
