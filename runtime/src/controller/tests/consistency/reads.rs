//! Read your writes: a key is not reconciled before the cache shows what it wrote.

use std::{sync::atomic::Ordering, time::Duration};

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

/// Writes in the first call, and asks for another.
macro_rules! writes_first {
    ($world:expr, $write:expr) => {{
        let (client, lister) = ($world.client.clone(), $world.lister());
        let seen = std::sync::Arc::new(Mutex::new(Vec::new()));
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
async fn a_key_waits_until_the_cache_shows_what_it_wrote_and_holds_no_worker() {
    let world = World::new(&["a", "b"]);
    let (script, seen) = writes_first!(world, patch);
    world.factory.start();
    world.factory.wait_for_cache_sync().await;
    world.server.hold();
    let controller = world.run(|_| {}, script).await;
    sleep(seconds(9)).await;
    assert_eq!(controller.count("a"), 1, "the cache shows nothing yet");
    assert_eq!(controller.counts.waits.load(Ordering::Relaxed), 1);
    controller.add("b");
    sleep(millis(1)).await;
    assert_eq!(controller.count("b"), 2, "the only worker is free");
    world.server.release();
    sleep(millis(1)).await;
    assert_eq!(
        controller.count("a"),
        2,
        "it is called as soon as the cache shows it"
    );
    assert_eq!(seen.lock().last().unwrap().as_deref(), Some("1"));
    sleep(seconds(60)).await;
    assert_eq!((controller.count("a"), controller.count("b")), (2, 2));
    assert_eq!(controller.counts.overdue.load(Ordering::Relaxed), 0);
    controller.stop().await;
}

/// Without, the same key reads an old cache: the test above can fail.
#[tokio::test(start_paused = true)]
async fn no_key_waits_where_it_is_turned_off() {
    let world = World::new(&["a"]);
    let (script, seen) = writes_first!(world, patch);
    world.factory.start();
    world.factory.wait_for_cache_sync().await;
    world.server.hold();
    let controller = world
        .run(
            |spec| {
                spec.write_wait(Duration::ZERO);
            },
            script,
        )
        .await;
    sleep(millis(10)).await;
    assert_eq!(controller.count("a"), 2);
    assert_eq!(seen.lock().last().unwrap().as_deref(), Some("0"), "stale");
    controller.stop().await;
}

/// The object's own event never comes: only the version counts.
#[tokio::test(start_paused = true)]
async fn a_bookmark_says_as_much_as_an_event() {
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
async fn what_was_deleted_must_be_gone() {
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

/// Its end may be hours away.
#[tokio::test(start_paused = true)]
async fn a_deletion_timestamp_is_as_good_as_gone() {
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

/// The object that the patch's answer shows has a deletion timestamp already: the cache must lose it.
#[tokio::test(start_paused = true)]
async fn taking_off_the_last_finalizer_is_a_deletion() {
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
async fn what_no_informer_lists_is_not_waited_for() {
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
async fn a_kind_that_no_informer_lists_is_not_waited_for() {
    let world = World::new(&["a"]);
    let secrets = TypedClient::<Secret, (Create,)>::new(world.connection.clone());
    let script = move |_, call: usize| {
        let secrets = secrets.clone();
        async move {
            if call > 1 {
                return Ok(Action::await_change());
            }
            // A name that an informer of another kind lists.
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
async fn after_the_bound_it_waits_on_and_the_third_time_it_runs_on_an_old_cache() {
    let world = World::new(&["a"]);
    let (script, seen) = writes_first!(world, patch);
    world.factory.start();
    world.factory.wait_for_cache_sync().await;
    world.server.hold();
    let log = Log::start();
    let controller = world.run(|_| {}, script).await;
    sleep(seconds(29)).await;
    assert_eq!(controller.count("a"), 1);
    assert_eq!(log.lines("waiting on").len(), 2);
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
async fn the_bound_is_an_option() {
    let world = World::new(&["a"]);
    let (script, _) = writes_first!(world, patch);
    world.factory.start();
    world.factory.wait_for_cache_sync().await;
    world.server.hold();
    let bounded = |spec: &mut ControllerBuilder| {
        spec.write_wait(seconds(1))
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
async fn versions_without_an_order_are_not_waited_for_and_one_warning_says_so() {
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
    assert_eq!(log.lines("no decimal numbers").len(), 1);
    controller.stop().await;
}

/// As when the server was restored from a backup: what was written is gone, and its version comes a second time.
#[tokio::test(start_paused = true)]
async fn versions_that_go_backwards_drop_what_was_noted() {
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
    assert_eq!(controller.count("a"), 2, "the version is not waited for any more");
    assert_eq!(controller.counts.overdue.load(Ordering::Relaxed), 0);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn tasks_count_when_they_are_spawned_through_the_context() {
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
        // What nobody wrote is foreign: its event wakes.
        assert_eq!(
            controller.count("a"),
            if is_attributed { 2 } else { 3 },
            "{is_attributed}"
        );
        controller.stop().await;
    }
}

/// A task that goes on after reconcile returned.
#[tokio::test(start_paused = true)]
async fn a_late_write_holds_back_the_next_call() {
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
async fn dry_runs_and_writes_without_a_change_are_not_waited_for() {
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

/// Another informer of the kind is behind: the operator may read from it, too.
#[tokio::test(start_paused = true)]
async fn every_informer_of_the_operator_must_show_it() {
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
