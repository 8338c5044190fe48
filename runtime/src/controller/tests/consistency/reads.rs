//! Reading own writes: a key is reconciled only after the cache shows its writes.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures::FutureExt as _;
use k8s_openapi::api::core::v1::Secret;
use kube::core::ObjectMeta;
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::sleep;

use super::{
    super::{super::*, millis},
    support::{log::Log, name},
    world::{World, cached, datum},
};
use crate::{
    cache::InformerOptions,
    client::{ApplyOptions, Create, DeleteParams, TypedClient},
    workqueue::ItemExponential,
};

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A script that writes in the first call, and requeues.
macro_rules! writes_first {
    ($world:expr, $write:expr) => {{
        let (client, lister) = ($world.client.clone(), $world.lister());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let calls = seen.clone();
        let script = move |key: String, call: usize| {
            let (client, name) = (client.clone(), key.parse().unwrap());
            calls.lock().push(cached(&lister, &key));
            async move {
                if call == 1 && key == "default/a" {
                    $write(client, name).await;
                    return Ok(Action::requeue());
                }
                Ok(Action::await_change())
            }
            .boxed()
        };
        (script, seen)
    }};
}

async fn patch(client: super::world::Client, name: crate::NamespacedName) {
    client.patch(&name, &datum("1")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn key_is_parked_until_the_cache_shows_its_writes() {
    let world = World::new(&["a", "b"]);
    let (script, seen) = writes_first!(world, patch);
    world.factory.start();
    world.factory.wait_for_cache_sync().await;
    world.server.hold();
    let kinds = Arc::new(Mutex::new(Vec::new()));
    let observed = kinds.clone();
    let register = |builder: &mut ControllerBuilder| {
        builder.on_write_wait(move |kind| observed.lock().push(kind.kind.to_string()));
    };
    let controller = world.run(register, script).await;
    sleep(seconds(9)).await;
    assert_eq!(controller.count("a"), 1, "the cache shows nothing yet");
    assert_eq!(controller.counts.waits.load(Ordering::Relaxed), 1);
    assert_eq!(*kinds.lock(), ["ConfigMap"]);
    controller.add("b");
    sleep(millis(1)).await;
    assert_eq!(controller.count("b"), 2, "the only worker is free");
    world.server.release();
    sleep(millis(1)).await;
    assert_eq!(controller.count("a"), 2, "called as soon as the cache shows it");
    assert_eq!(seen.lock().last().unwrap().as_deref(), Some("1"));
    sleep(seconds(60)).await;
    assert_eq!((controller.count("a"), controller.count("b")), (2, 2));
    assert_eq!(controller.counts.overdue.load(Ordering::Relaxed), 0);
    controller.stop().await;
}

/// Proves that the test above can fail.
#[tokio::test(start_paused = true)]
async fn key_does_not_wait_without_write_wait() {
    let world = World::new(&["a"]);
    let (script, seen) = writes_first!(world, patch);
    world.factory.start();
    world.factory.wait_for_cache_sync().await;
    world.server.hold();
    let controller = world
        .run(
            |builder| {
                builder.write_wait(Duration::ZERO);
            },
            script,
        )
        .await;
    sleep(millis(10)).await;
    assert_eq!(controller.count("a"), 2);
    assert_eq!(seen.lock().last().unwrap().as_deref(), Some("0"), "stale");
    controller.stop().await;
}

/// The write's event never arrives: the resource version suffices.
#[tokio::test(start_paused = true)]
async fn bookmark_ends_the_wait() {
    let world = World::new(&["a"]);
    let (script, _) = writes_first!(world, patch);
    world.quirks.lock().unseen = true;
    let controller = world.run(|_| {}, script).await;
    sleep(seconds(5)).await;
    assert_eq!(controller.count("a"), 1);
    world.server.bookmark();
    sleep(millis(1)).await;
    assert_eq!(controller.count("a"), 2);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn deleted_object_must_be_gone() {
    let world = World::new(&["a", "b"]);
    let (script, _) = writes_first!(
        world,
        async |client: super::world::Client, _: crate::NamespacedName| {
            client.delete(&name("b"), &DeleteParams::default()).await.unwrap();
        }
    );
    world.factory.start();
    world.factory.wait_for_cache_sync().await;
    world.server.hold();
    let controller = world.run(|_| {}, script).await;
    sleep(seconds(5)).await;
    assert_eq!(controller.count("a"), 1);
    assert!(world.lister().get(&name("b")).is_ok());
    world.server.release();
    sleep(millis(1)).await;
    assert_eq!(controller.count("a"), 2);
    assert!(world.lister().get(&name("b")).is_err());
    controller.stop().await;
}

/// The object can exist for hours with it.
#[tokio::test(start_paused = true)]
async fn deletion_timestamp_ends_the_wait_for_a_deletion() {
    let world = World::new(&["a"]);
    world
        .server
        .put(&json!({"metadata": {"namespace": "default", "name": "b", "finalizers": ["demo.dev/x"]}}));
    let (script, _) = writes_first!(
        world,
        async |client: super::world::Client, _: crate::NamespacedName| {
            client.delete(&name("b"), &DeleteParams::default()).await.unwrap();
        }
    );
    world.factory.start();
    world.factory.wait_for_cache_sync().await;
    world.server.hold();
    let controller = world.run(|_| {}, script).await;
    sleep(seconds(5)).await;
    assert_eq!(controller.count("a"), 1);
    world.server.release();
    sleep(millis(1)).await;
    assert_eq!(controller.count("a"), 2);
    assert!(
        world
            .lister()
            .object(&name("b"))
            .unwrap()
            .metadata()
            .is_deleting()
    );
    controller.stop().await;
}

/// The patched object had a deletion timestamp before: the wait ends when the cache does not hold it any more.
#[tokio::test(start_paused = true)]
async fn removal_of_the_last_finalizer_is_a_deletion() {
    let world = World::new(&["a"]);
    world.server.put(
        &json!({"metadata": {"namespace": "default", "name": "b", "finalizers": ["demo.dev/x"],
        "deletionTimestamp": "2026-01-01T00:00:00Z"}}),
    );
    let (script, _) = writes_first!(
        world,
        async |client: super::world::Client, _: crate::NamespacedName| {
            let patch = crate::client::PatchBody::Merge(json!({"metadata": {"finalizers": []}}));
            client.patch(&name("b"), &patch).await.unwrap();
        }
    );
    world.factory.start();
    world.factory.wait_for_cache_sync().await;
    world.server.hold();
    let controller = world.run(|_| {}, script).await;
    sleep(seconds(5)).await;
    assert_eq!(controller.count("a"), 1);
    world.server.release();
    sleep(millis(1)).await;
    assert_eq!(controller.count("a"), 2);
    assert!(world.lister().object(&name("b")).is_none());
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn key_does_not_wait_for_objects_that_no_informer_lists() {
    let world = World::new(&["a"]);
    let config_map = |namespace: &str| k8s_openapi::api::core::v1::ConfigMap {
        metadata: ObjectMeta {
            name: Some("new".into()),
            namespace: Some(namespace.into()),
            ..ObjectMeta::default()
        },
        ..k8s_openapi::api::core::v1::ConfigMap::default()
    };
    let only = |options| {
        let factory = world.server.factory();
        let informer = factory.with::<k8s_openapi::api::core::v1::ConfigMap>(options);
        (factory, informer)
    };
    for (options, namespace) in [
        (
            InformerOptions {
                namespaces: Some(vec!["default".into()]),
                ..InformerOptions::default()
            },
            "elsewhere",
        ),
        (
            InformerOptions {
                label_selector: Some("app=web".into()),
                ..InformerOptions::default()
            },
            "default",
        ),
        (
            InformerOptions {
                field_selector: Some("metadata.name=a".into()),
                ..InformerOptions::default()
            },
            "default",
        ),
    ] {
        let (factory, informer) = only(options.clone());
        let restricted = World {
            server: world.server.clone(),
            quirks: world.quirks.clone(),
            uncovered: world.uncovered.clone(),
            connection: world.connection.clone(),
            client: world.client.clone(),
            factory,
            informer,
        };
        let (script, _) = writes_first!(
            restricted,
            async |client: super::world::Client, _: crate::NamespacedName| {
                client.create(&config_map(namespace)).await.unwrap();
            }
        );
        restricted.factory.start();
        restricted.factory.wait_for_cache_sync().await;
        restricted.server.hold();
        let controller = restricted.run(|_| {}, script).await;
        sleep(millis(10)).await;
        assert_eq!(controller.count("a"), 2, "{options:?}");
        restricted.server.release();
        restricted.server.delete(namespace, "new");
        controller.stop().await;
        restricted.factory.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn key_does_not_wait_for_a_kind_without_informer() {
    let world = World::new(&["a"]);
    let secrets = TypedClient::<Secret, (Create,)>::new(world.connection.clone());
    let script = move |_, call: usize| {
        let secrets = secrets.clone();
        async move {
            if call > 1 {
                return Ok(Action::await_change());
            }
            // An informer of another kind lists an object with this name.
            let secret = json!({"metadata": {"namespace": "default", "name": "a"}});
            secrets.create(&serde_json::from_value(secret).unwrap()).await?;
            Ok(Action::requeue())
        }
        .boxed()
    };
    let controller = world.run(|_| {}, script).await;
    sleep(millis(10)).await;
    assert_eq!(controller.count("a"), 2);
    assert_eq!(controller.counts.waits.load(Ordering::Relaxed), 0);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn wait_times_out_and_after_the_third_time_reads_an_old_cache() {
    let world = World::new(&["a"]);
    let (script, seen) = writes_first!(world, patch);
    world.factory.start();
    world.factory.wait_for_cache_sync().await;
    world.server.hold();
    let log = Log::start();
    let controller = world.run(|_| {}, script).await;
    sleep(seconds(29)).await;
    assert_eq!(controller.count("a"), 1);
    assert_eq!(log.lines("waiting again with backoff").len(), 2);
    sleep(seconds(2)).await;
    assert_eq!(controller.count("a"), 2);
    assert_eq!(seen.lock().last().unwrap().as_deref(), Some("0"));
    let stale = log.lines("reconciling with an old cache");
    assert_eq!(stale.len(), 1);
    assert!(
        stale[0].contains("ConfigMap default/a") && stale[0].contains("key=default/a"),
        "{stale:?}"
    );
    assert_eq!(controller.counts.overdue.load(Ordering::Relaxed), 3);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn write_wait_is_an_option() {
    let world = World::new(&["a"]);
    let (script, _) = writes_first!(world, patch);
    world.factory.start();
    world.factory.wait_for_cache_sync().await;
    world.server.hold();
    let bounded = |builder: &mut ControllerBuilder| {
        builder
            .write_wait(seconds(1))
            .rate_limiter(ItemExponential::new(millis(1), millis(1)));
    };
    let controller = world.run(bounded, script).await;
    sleep(millis(2900)).await;
    assert_eq!(controller.count("a"), 1);
    sleep(millis(200)).await;
    assert_eq!(controller.count("a"), 2);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn key_does_not_wait_for_versions_without_order_and_logs_it_once() {
    let world = World::new(&["a"]);
    let (script, _) = writes_first!(
        world,
        async |client: super::world::Client, name: crate::NamespacedName| {
            client.patch(&name, &datum("1")).await.unwrap();
            client.patch(&name, &datum("2")).await.unwrap();
        }
    );
    world.quirks.lock().prefix = "v";
    world.factory.start();
    world.factory.wait_for_cache_sync().await;
    world.server.hold();
    let log = Log::start();
    let controller = world.run(|_| {}, script).await;
    sleep(millis(10)).await;
    assert_eq!(controller.count("a"), 2);
    assert_eq!(log.lines("not decimal numbers").len(), 1);
    controller.stop().await;
}

/// The server was restored from a backup: the write is lost, and its resource version is assigned again.
#[tokio::test(start_paused = true)]
async fn rewound_versions_end_the_wait() {
    let world = World::new(&["a"]);
    world.server.set_version(1000);
    world.server.bookmark();
    let (script, _) = writes_first!(world, patch);
    world.factory.start();
    world.factory.wait_for_cache_sync().await;
    world.server.hold();
    let controller = world.run(|_| {}, script).await;
    sleep(seconds(2)).await;
    assert_eq!(controller.count("a"), 1);
    world.server.set_version(10);
    world.server.reset();
    sleep(seconds(3)).await;
    assert_eq!(
        controller.count("a"),
        2,
        "the key does not wait for the version any more"
    );
    assert_eq!(controller.counts.overdue.load(Ordering::Relaxed), 0);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn writes_of_tasks_spawned_through_the_context_are_own_writes() {
    for is_attributed in [true, false] {
        let world = World::new(&["a"]);
        let (script, _) = writes_first!(
            world,
            async |client: super::world::Client, name: crate::NamespacedName| {
                let write = async move { patch(client, name).await };
                let written = if is_attributed {
                    Context::current().spawn(write)
                } else {
                    tokio::spawn(write)
                };
                written.await.unwrap();
            }
        );
        world.factory.start();
        world.factory.wait_for_cache_sync().await;
        world.server.hold();
        let controller = world.run(|_| {}, script).await;
        sleep(seconds(1)).await;
        assert_eq!(
            controller.count("a"),
            if is_attributed { 1 } else { 2 },
            "{is_attributed}"
        );
        world.server.release();
        sleep(seconds(1)).await;
        // Otherwise the write is foreign, and its event enqueues.
        assert_eq!(
            controller.count("a"),
            if is_attributed { 2 } else { 3 },
            "{is_attributed}"
        );
        controller.stop().await;
    }
}

/// The task outlives the reconcile.
#[tokio::test(start_paused = true)]
async fn late_write_delays_the_next_call() {
    let world = World::new(&["a"]);
    let (script, _) = writes_first!(
        world,
        async |client: super::world::Client, name: crate::NamespacedName| {
            Context::current().spawn(async move {
                sleep(millis(2)).await;
                patch(client, name).await;
            });
        }
    );
    world.factory.start();
    world.factory.wait_for_cache_sync().await;
    world.server.hold();
    let controller = world.run(|_| {}, script).await;
    sleep(seconds(1)).await;
    assert_eq!(
        controller.count("a"),
        1,
        "the retry was due after 5 ms, the write came after 2 ms"
    );
    world.server.release();
    sleep(millis(1)).await;
    assert_eq!(controller.count("a"), 2);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn key_does_not_wait_for_dry_runs_and_writes_that_change_nothing() {
    let world = World::new(&["a"]);
    let (script, _) = writes_first!(
        world,
        async |client: super::world::Client, name: crate::NamespacedName| {
            client.patch(&name, &datum("0")).await.unwrap();
            let applied = json!({"metadata": {"name": "a", "namespace": "default"}, "data": {"datum": "1"}});
            client
                .apply_with(&applied, &ApplyOptions::new().dry_run())
                .await
                .unwrap();
        }
    );
    world.factory.start();
    world.factory.wait_for_cache_sync().await;
    world.server.hold();
    let controller = world.run(|_| {}, script).await;
    sleep(millis(10)).await;
    assert_eq!(controller.count("a"), 2);
    controller.stop().await;
}

/// A second informer of the kind is behind; the operator can read from it as well.
#[tokio::test(start_paused = true)]
async fn key_waits_for_every_informer_of_the_kind() {
    let world = World::new(&["a"]);
    let behind = super::support::server::Server::new();
    behind.put(&super::support::config_map("a", "0"));
    let (near, far) = (world.server.clone(), behind.clone());
    let factory = crate::cache::SharedInformerFactory::from_sources(move |_, namespace, options| {
        if options.label_selector.is_some() {
            far.source(namespace)
        } else {
            near.source(namespace)
        }
    });
    let informer = factory.of();
    let second = factory.with::<k8s_openapi::api::core::v1::ConfigMap>(InformerOptions {
        label_selector: Some("!old".into()),
        ..InformerOptions::default()
    });
    let world = World {
        factory,
        informer,
        ..world
    };
    let (script, _) = writes_first!(world, patch);
    let controller = world.run(|_| {}, script).await;
    sleep(seconds(1)).await;
    assert_eq!(controller.count("a"), 1);
    behind.set_version(100);
    behind.bookmark();
    sleep(millis(1)).await;
    assert_eq!(controller.count("a"), 2);
    drop(second);
    controller.stop().await;
}
