//! `OwnEvents::Ignore`: events of a key's own writes do not enqueue it, all other events do. It is the behaviour of `OwnEvents` before
//! `ReconcileOnce` was the default; the exceptions hold for that as well.

use std::{sync::atomic::Ordering, time::Duration};

use futures::FutureExt as _;
use serde_json::json;
use tokio::time::sleep;

use super::{
    super::{super::*, millis},
    support::{config_map, name},
    world::{Controller, World, datum},
};
use crate::{cache::Change, client::PatchBody};

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn ignore(builder: &mut ControllerBuilder) {
    builder.own_events(OwnEvents::Ignore);
}

/// Runs a controller that writes a new datum in each reconcile of `a`, and ignores own events unless `register` sets that.
async fn always_writing(world: &World, register: impl FnOnce(&mut ControllerBuilder)) -> Controller {
    let register = |builder: &mut ControllerBuilder| {
        ignore(builder);
        register(builder);
    };
    let client = world.client.clone();
    let script = move |key: String, call: usize| {
        let (client, name) = (client.clone(), key.parse().unwrap());
        async move {
            if key == "default/a" {
                match client.patch(&name, &datum(&format!("own-{call}"))).await {
                    Err(error) if error.is_not_found() => {}
                    written => drop(written?),
                }
            }
            Ok(Action::await_change())
        }
        .boxed()
    };
    world.run(register, script).await
}

#[tokio::test(start_paused = true)]
async fn controller_that_writes_in_each_reconcile_goes_quiet() {
    let world = World::new(&["a"]);
    let controller = always_writing(&world, |_| {}).await;
    sleep(seconds(10)).await;
    assert_eq!(
        controller.count("a"),
        1,
        "the initial list enqueues, its own event does not"
    );
    assert_eq!(controller.counts.own_events.load(Ordering::Relaxed), 1);
    world.foreign("a", "foreign");
    sleep(seconds(10)).await;
    assert_eq!(controller.count("a"), 2, "a foreign change enqueues");
    assert_eq!(world.datum("a"), "own-2");
    sleep(seconds(10)).await;
    assert_eq!(controller.count("a"), 2);
    controller.stop().await;
}

/// Proves that the test above can fail.
#[tokio::test(start_paused = true)]
async fn controller_that_writes_in_each_reconcile_never_goes_quiet_if_own_events_enqueue() {
    let world = World::new(&["a"]);
    world.quirks.lock().delay = millis(10);
    let controller = always_writing(&world, |builder| {
        builder.own_events(OwnEvents::Enqueue);
    })
    .await;
    sleep(seconds(10)).await;
    assert!(controller.count("a") > 900, "{}", controller.count("a"));
    controller.stop().await;
}

/// The status has a value that differs each time, such as a timestamp.
#[tokio::test(start_paused = true)]
async fn controller_that_writes_status_in_each_reconcile_goes_quiet() {
    for own_events in [OwnEvents::Ignore, OwnEvents::Enqueue] {
        let world = World::new(&["a"]);
        world.quirks.lock().delay = millis(10);
        let client = world.client.clone();
        let script = move |key: String, call: usize| {
            let (client, name) = (client.clone(), key.parse().unwrap());
            async move {
                let status = PatchBody::Merge(json!({"status": {"calls": call}}));
                client.patch_status(&name, &status).await?;
                Ok(Action::await_change())
            }
            .boxed()
        };
        let register = |builder: &mut ControllerBuilder| {
            builder.own_events(own_events);
        };
        let controller = world.run(register, script).await;
        let status = || world.server.get("default", "a").unwrap()["status"]["calls"].clone();
        assert_eq!((controller.count("a"), status()), (1, json!(1)));
        sleep(seconds(10)).await;
        if own_events == OwnEvents::Ignore {
            assert_eq!(controller.count("a"), 1, "no reconcile in ten seconds");
            world.foreign("a", "foreign");
            sleep(seconds(10)).await;
            assert_eq!((controller.count("a"), status()), (2, json!(2)));
        } else {
            assert!(controller.count("a") > 900, "{}", controller.count("a"));
        }
        controller.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn event_that_overtakes_the_answer_is_an_own_event() {
    let world = World::new(&["a"]);
    world.quirks.lock().delay = millis(100);
    let controller = always_writing(&world, |_| {}).await;
    sleep(seconds(10)).await;
    assert_eq!(
        controller.count("a"),
        1,
        "the event came while the answer was on its way"
    );
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn foreign_change_during_a_reconcile_enqueues_after_it() {
    let world = World::new(&["a"]);
    world.quirks.lock().delay = millis(100);
    let controller = always_writing(&world, |_| {}).await;
    sleep(millis(50)).await;
    // After its own write, before the answer to it.
    world.foreign("a", "foreign");
    sleep(seconds(10)).await;
    assert_eq!(controller.count("a"), 2);
    assert_eq!(world.datum("a"), "own-2");
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn write_with_lost_answer_is_foreign() {
    let world = World::new(&["a"]);
    world.quirks.lock().lose_next = true;
    let client = world.client.clone();
    let script = move |key: String, call: usize| {
        let (client, name) = (client.clone(), key.parse().unwrap());
        async move {
            if call == 1 {
                // The error is ignored: only the event enqueues the key.
                client.patch(&name, &datum("lost")).await.unwrap_err();
            }
            Ok(Action::await_change())
        }
        .boxed()
    };
    let controller = world.run(ignore, script).await;
    sleep(seconds(1)).await;
    assert_eq!(controller.count("a"), 2);
    controller.stop().await;
}

/// The watch missed the write, and a relist finds it. Other changes may have been missed with it.
#[tokio::test(start_paused = true)]
async fn changes_found_by_a_relist_enqueue() {
    for streaming in [true, false] {
        let world = World::new(&["a"]);
        if !streaming {
            world.server.streaming(super::support::server::Streaming::Refused);
        }
        world.quirks.lock().unseen = true;
        let controller = always_writing(&world, |_| {}).await;
        world.quirks.lock().unseen = false;
        assert_eq!(controller.count("a"), 1);
        world.server.reset();
        sleep(seconds(5)).await;
        assert_eq!(controller.count("a"), 2, "streaming: {streaming}");
        controller.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn resyncs_enqueue() {
    let world = World::new(&["a"]);
    let controller = always_writing(&world, |builder| {
        builder.resync(seconds(60));
    })
    .await;
    sleep(seconds(59)).await;
    assert_eq!(controller.count("a"), 1);
    sleep(seconds(62)).await;
    assert_eq!(controller.count("a"), 3);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn requeues_and_retries_are_kept() {
    let world = World::new(&["a"]);
    let client = world.client.clone();
    let script = move |key: String, call: usize| {
        let (client, name) = (client.clone(), key.parse().unwrap());
        async move {
            client.patch(&name, &datum(&call.to_string())).await?;
            match call {
                1 => Ok(Action::requeue()),
                2 => Err(ReconcileError::new("not yet")),
                3 => panic!("not yet"),
                4 => Ok(Action::requeue_after(millis(50))),
                _ => Ok(Action::await_change()),
            }
        }
        .boxed()
    };
    let controller = world.run(ignore, script).await;
    sleep(seconds(10)).await;
    assert_eq!(controller.count("a"), 5);
    controller.stop().await;
}

/// The reconcile of `a` writes `b`.
#[tokio::test(start_paused = true)]
async fn own_events_enqueue_other_keys_and_other_controllers() {
    let world = World::new(&["a", "b"]);
    let idle = |_: String, _: usize| async { Ok(Action::await_change()) }.boxed();
    let other = world.run(ignore, idle).await;
    let client = world.client.clone();
    let script = move |key: String, call: usize| {
        let client = client.clone();
        async move {
            if key == "default/a" && call > 1 {
                client.patch(&name("b"), &datum("from a")).await?;
            }
            Ok(Action::await_change())
        }
        .boxed()
    };
    // A change of `b` enqueues `a` as well.
    let informer = world.informer.clone();
    let register = move |builder: &mut ControllerBuilder| {
        let source = Source::of(&informer).with_predicate(|change| !matches!(change, Change::Added { .. }));
        ignore(builder);
        builder.watches(source, |change| match change.name().name() {
            "b" => vec![name("a")],
            _ => Vec::new(),
        });
    };
    let controller = world.run(register, script).await;
    let before = [controller.count("a"), controller.count("b"), other.count("b")];
    assert_eq!(before, [1, 1, 1]);
    controller.add("a");
    sleep(seconds(10)).await;
    assert_eq!(
        controller.count("a"),
        2,
        "an own event does not enqueue through another source either"
    );
    assert_eq!(controller.count("b"), 2, "the key of what was written");
    assert_eq!(other.count("b"), 2, "another controller, with the same cache");
    controller.stop().await;
    other.stop().await;
}

/// The write takes the object out of the informer's selector, which the watch reports as a deletion.
#[tokio::test(start_paused = true)]
async fn deletion_events_enqueue_even_after_an_own_write() {
    let world = World::new(&["a"]);
    world.quirks.lock().unseen = true;
    let controller = always_writing(&world, |_| {}).await;
    let written = world.server.get("default", "a").unwrap();
    let mut object = written.clone();
    object["kind"] = "ConfigMap".into();
    object["apiVersion"] = "v1".into();
    world
        .server
        .send(&json!({"type": "DELETED", "object": object}).to_string());
    sleep(seconds(1)).await;
    assert_eq!(controller.count("a"), 2);
    controller.stop().await;
}

/// The event has the name of an own write, and another uid.
#[tokio::test(start_paused = true)]
async fn recreated_object_is_a_foreign_change() {
    let world = World::new(&["a"]);
    let controller = always_writing(&world, |_| {}).await;
    sleep(seconds(1)).await;
    world.server.delete("default", "a");
    sleep(seconds(1)).await;
    let calls = controller.count("a");
    world.server.put(&config_map("a", "new"));
    sleep(seconds(1)).await;
    assert_eq!(controller.count("a"), calls + 1);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn finalizer_is_added_and_the_same_reconcile_continues() {
    let world = World::new(&["a"]);
    let (client, lister) = (world.client.clone(), world.lister());
    let script = move |key: String, _| {
        let (client, object) = (client.clone(), lister.get(&key.parse().unwrap()));
        async move {
            let object = finalizer::ensure(&client, object?, "demo.dev/cleanup").await?;
            let mut object = (*object).clone();
            // With the resource version of the first write: the object is its answer.
            object.data = Some([("datum".to_owned(), "made".to_owned())].into());
            client.update(&object).await?;
            Ok(Action::await_change())
        }
        .boxed()
    };
    let controller = world.run(ignore, script).await;
    sleep(seconds(10)).await;
    assert_eq!(world.datum("a"), "made");
    assert_eq!(controller.count("a"), 1);
    controller.stop().await;
}

/// The child is created and deleted while the watch is down, so that no event reports it: the pending write shows that it is missing.
#[tokio::test(start_paused = true)]
async fn written_object_that_is_missing_after_a_relist_enqueues() {
    let world = World::new(&["a"]);
    world.factory.start();
    world.factory.wait_for_cache_sync().await;
    world.server.hold();
    let client = world.client.clone();
    let script = move |key: String, _| {
        let client = client.clone();
        async move {
            if key == "default/a" {
                let child = serde_json::from_value(config_map("child", "1")).unwrap();
                client.create(&child).await?;
            }
            Ok(Action::await_change())
        }
        .boxed()
    };
    let controller = world.run(ignore, script).await;
    sleep(millis(10)).await;
    assert_eq!(controller.count("a"), 1);
    world.server.delete("default", "child");
    world.server.cut_held();
    world.server.compact();
    sleep(seconds(10)).await;
    assert_eq!(controller.count("a"), 2);
    assert!(world.server.get("default", "child").is_some());
    sleep(seconds(60)).await;
    assert_eq!((controller.count("a"), controller.count("child")), (2, 1));
    controller.stop().await;
}
