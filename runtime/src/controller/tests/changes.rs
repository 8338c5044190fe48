//! Enqueue handler: the keys and the priority of a change.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use futures::{FutureExt, StreamExt, future::BoxFuture, stream};
use k8s_openapi::api::{
    apps::v1::{Deployment, ReplicaSet},
    core::v1::ConfigMap,
};
use kube::core::Status;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{
    super::{enqueue::priority, owner_mapping::owner_keys, *},
    Calls, Scripted, deployment, factory, millis, name,
};
use crate::{
    Kind,
    cache::{
        ByteStream, Change, ListOptions, ListWatchError, ListerWatcher, Object, SharedInformerFactory,
        WatchOptions,
    },
    workqueue::Priority,
};

/// The metadata of an owned object, as the cache has it.
fn owned(resource_version: &str, owner: Option<(&str, &str, &str)>) -> Object<ConfigMap> {
    let references: Vec<_> = owner
        .into_iter()
        .map(|(api_version, kind, name)| {
            json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": name, "controller": true})
        })
        .collect();
    let informer = factory().of::<ConfigMap>();
    informer
        .seed(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned", "namespace": "default",
            "uid": "1", "resourceVersion": resource_version, "ownerReferences": references}}))
        .unwrap();
    informer.lister().object(&name("default/owned")).unwrap()
}

/// controller-runtime: WithLowPriorityWhenUnchanged, which its handlers have by default.
#[tokio::test]
async fn initial_list_and_resyncs_have_low_priority() {
    let (one, two) = (owned("1", None), owned("2", None));
    let added = |is_in_initial_list| Change::Added {
        new: one.metadata(),
        is_in_initial_list,
    };
    let updated = |new| Change::Updated {
        old: one.metadata(),
        new,
    };
    let deleted = Change::Deleted {
        old: one.metadata(),
        final_state_known: false,
    };
    for (change, expected) in [
        (added(true), Priority::LOW),
        (added(false), Priority::NORMAL),
        (updated(one.metadata()), Priority::LOW),
        (updated(two.metadata()), Priority::NORMAL),
        (deleted, Priority::NORMAL),
    ] {
        assert_eq!(priority(&change), expected, "{change:?}");
    }
}

#[tokio::test]
async fn change_enqueues_the_old_and_the_new_controller_owner() {
    let by = |version, owner| owned(version, Some(("apps/v1", "Deployment", owner)));
    let keys = |change: &Change<'_>| {
        owner_keys(change, &Deployment::info())
            .map(|key| key.to_string())
            .collect::<Vec<_>>()
    };
    let (one, same, two) = (by("1", "one"), by("2", "one"), by("3", "two"));
    let (orphan, foreign) = (owned("4", None), owned("5", Some(("v1", "Node", "n"))));
    let updated = |old: &Object<ConfigMap>, new: &Object<ConfigMap>| {
        keys(&Change::Updated {
            old: old.metadata(),
            new: new.metadata(),
        })
    };
    assert_eq!(
        keys(&Change::Added {
            new: one.metadata(),
            is_in_initial_list: true
        }),
        ["default/one"]
    );
    assert_eq!(
        keys(&Change::Deleted {
            old: one.metadata(),
            final_state_known: false
        }),
        ["default/one"]
    );
    assert_eq!(updated(&one, &same), ["default/one"]);
    assert_eq!(updated(&one, &two), ["default/one", "default/two"]);
    assert_eq!(updated(&one, &orphan), ["default/one"]);
    assert_eq!(updated(&orphan, &one), ["default/one"]);
    assert_eq!(updated(&orphan, &foreign), [""; 0]);
    assert_eq!(
        updated(&one, &by("1", "two")),
        [""; 0],
        "an equal resource version is a resync"
    );
}

/// Answers lists with `list`, and sends watch events from a channel.
struct ScriptedListWatch {
    list: Value,
    watch: Mutex<Option<mpsc::UnboundedReceiver<Value>>>,
}

impl ListerWatcher for ScriptedListWatch {
    fn list(&self, _: ListOptions) -> BoxFuture<'_, Result<ByteStream, ListWatchError>> {
        let list = Bytes::from(self.list.to_string());
        async { Ok(stream::iter([Ok(list)]).boxed()) }.boxed()
    }

    fn watch(&self, options: WatchOptions) -> BoxFuture<'_, Result<ByteStream, ListWatchError>> {
        if options.send_initial_events {
            let status = Status::failure("no streaming lists", "Invalid").with_code(422);
            return async { Err(ListWatchError::Status(Box::new(status))) }.boxed();
        }
        let events = self.watch.lock().take();
        async {
            let lines = stream::unfold(events, |mut events| async {
                let event = match &mut events {
                    Some(events) => events.recv().await?,
                    None => std::future::pending().await,
                };
                Some((Ok(Bytes::from(format!("{event}\n"))), events))
            });
            Ok(lines.boxed())
        }
        .boxed()
    }
}

/// A controller of Deployments with ReplicaSets and ConfigMaps, and what the API server sends. One Deployment is in the first list.
struct Sources {
    informers: SharedInformerFactory,
    events: HashMap<&'static str, mpsc::UnboundedSender<Value>>,
    builder: ControllerBuilder,
    calls: Calls,
}

impl Sources {
    fn new() -> Self {
        let mut events = HashMap::new();
        let mut sources = HashMap::new();
        for (kind, api_version) in [
            ("Deployment", "apps/v1"),
            ("ReplicaSet", "apps/v1"),
            ("ConfigMap", "v1"),
        ] {
            let (sender, receiver) = mpsc::unbounded_channel();
            let items = if kind == "Deployment" {
                vec![deployment("listed")]
            } else {
                Vec::new()
            };
            let list = json!({"apiVersion": api_version, "kind": format!("{kind}List"),
                              "metadata": {"resourceVersion": "10"}, "items": items});
            let source: Arc<dyn ListerWatcher> = Arc::new(ScriptedListWatch {
                list,
                watch: Mutex::new(Some(receiver)),
            });
            sources.insert(kind, source);
            events.insert(kind, sender);
        }
        let informers = SharedInformerFactory::from_sources(move |kind, _, _| sources[&*kind.kind].clone());
        let calls = Calls::new();
        let script = |_: String, _: usize| async { Ok(Action::await_change()) }.boxed();
        let scripted = Scripted {
            calls: calls.clone(),
            script,
        };
        let mut builder = ControllerBuilder::new("test".to_owned(), scripted);
        builder
            .reconciles(&informers.of::<Deployment>())
            .owns(&informers.of::<ReplicaSet>())
            .watches(&informers.of::<ConfigMap>(), |change| {
                vec![change.name().sibling("mapped")]
            });
        Self {
            informers,
            events,
            builder,
            calls,
        }
    }
}

fn send(events: &HashMap<&str, mpsc::UnboundedSender<Value>>, kind: &str, event: &str, object: &Value) {
    events[kind]
        .send(json!({"type": event, "object": object}))
        .unwrap();
}

/// A Deployment that was changed to a version.
fn changed(name: &str, version: &str) -> Value {
    let mut changed = deployment(name);
    changed["metadata"]["resourceVersion"] = json!(version);
    changed
}

/// A ReplicaSet of the Deployment `owner`.
fn owned_replica_set(version: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {
        "name": "r", "namespace": "default", "uid": "2", "resourceVersion": version, "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "Deployment", "name": "owner", "uid": "3", "controller": true}]}})
}

#[tokio::test(start_paused = true)]
async fn changes_of_all_sources_enqueue_the_primary_key() {
    let Sources {
        informers,
        events,
        builder,
        calls,
    } = Sources::new();
    let runner = ControllerRunner::new(builder, Arc::new(NoMetrics)).unwrap();
    informers.start();
    let stop = CancellationToken::new();
    let run = tokio::spawn(runner.run(stop.clone(), millis(0)));
    sleep(millis(100)).await;
    assert_eq!(calls.of("default/listed").len(), 1);

    send(&events, "Deployment", "DELETED", &changed("listed", "11"));
    send(&events, "ReplicaSet", "ADDED", &owned_replica_set("12"));
    send(
        &events,
        "ConfigMap",
        "ADDED",
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": "c", "namespace": "shop", "uid": "4", "resourceVersion": "13"}}),
    );
    sleep(millis(100)).await;
    assert_eq!(calls.of("default/listed").len(), 2, "a deletion enqueues the key");
    assert_eq!(calls.of("default/owner").len(), 1);
    assert_eq!(calls.of("shop/mapped").len(), 1);
    stop.cancel();
    run.await.unwrap();
    informers.shutdown().await;
}

/// A replica that waits for the lease must not collect the keys of objects that come and go.
#[tokio::test(start_paused = true)]
async fn standby_enqueues_nothing_and_then_what_exists() {
    let Sources {
        informers,
        events,
        builder,
        calls,
    } = Sources::new();
    let runner = ControllerRunner::standby(builder, Arc::new(NoMetrics)).unwrap();
    informers.start();
    for number in 0..100 {
        let name = format!("gone-{number}");
        send(
            &events,
            "Deployment",
            "ADDED",
            &changed(&name, &format!("{}", 20 + 2 * number)),
        );
        send(
            &events,
            "Deployment",
            "DELETED",
            &changed(&name, &format!("{}", 21 + 2 * number)),
        );
    }
    send(&events, "Deployment", "ADDED", &changed("new", "300"));
    send(&events, "ReplicaSet", "ADDED", &owned_replica_set("301"));
    sleep(millis(100)).await;
    assert!(runner.not_synced().is_empty());
    assert_eq!(runner.queue().len(), 0);

    let stop = CancellationToken::new();
    let run = tokio::spawn(runner.run(stop.clone(), millis(0)));
    sleep(millis(100)).await;
    for key in ["default/listed", "default/new", "default/owner"] {
        assert_eq!(calls.of(key).len(), 1, "{key}");
    }
    assert!(calls.of("default/gone-1").is_empty());
    send(&events, "Deployment", "DELETED", &changed("new", "302"));
    sleep(millis(100)).await;
    assert_eq!(
        calls.of("default/new").len(),
        2,
        "changes are enqueued from then on"
    );
    stop.cancel();
    run.await.unwrap();
    informers.shutdown().await;
}
