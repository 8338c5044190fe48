//! `OwnEvents::ReconcileOnce`: a reconcile that changed something is followed by exactly one extra call.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures::{FutureExt as _, future::BoxFuture};
use k8s_openapi::api::core::v1::Secret;
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{
    super::{super::*, millis},
    support::{config_map, log::Log, name},
    world::{Client, Controller, World, cached, datum},
};
use crate::{
    NamespacedName,
    client::{ClientError, Delete, DeleteParams, Patch, PatchBody, TypedClient},
};

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

type Written = BoxFuture<'static, Result<Action, ReconcileError>>;

/// Runs a controller that calls `write` in the reconciles of `a`, with their number.
async fn writing<F>(world: &World, register: impl FnOnce(&mut ControllerBuilder), write: F) -> Controller
where
    F: Fn(Client, usize) -> Written + Send + Sync + 'static,
{
    let client = world.client.clone();
    let script = move |key: String, call: usize| match &*key {
        "default/a" => write(client.clone(), call),
        _ => async { Ok(Action::await_change()) }.boxed(),
    };
    world.run(register, script).await
}

/// Patches the datum of `a`.
async fn patch(client: &Client, value: &str) -> Result<(), ClientError> {
    client.patch(&name("a"), &datum(value)).await.map(drop)
}

/// Sets the datum of `a` to `final`, and awaits a change.
fn idempotent(client: Client, _: usize) -> Written {
    async move {
        patch(&client, "final").await?;
        Ok(Action::await_change())
    }
    .boxed()
}

fn follow_ups(controller: &Controller) -> u64 {
    controller.counts.follow_ups.load(Ordering::Relaxed)
}

#[tokio::test(start_paused = true)]
async fn changing_reconcile_is_followed_by_exactly_one_call_and_an_unchanging_one_by_none() {
    for delay in [0, 100] {
        let world = World::new(&["a"]);
        world.quirks.lock().delay = millis(delay);
        let controller = writing(&world, |_| {}, idempotent).await;
        sleep(seconds(60)).await;
        assert_eq!(controller.count("a"), 2, "answers after {delay} ms");
        assert_eq!(follow_ups(&controller), 1);
        assert_eq!(controller.counts.own_events.load(Ordering::Relaxed), 1);
        world.foreign("a", "foreign");
        sleep(seconds(60)).await;
        assert_eq!(controller.count("a"), 4, "a foreign change, and the extra call");
        world.foreign("a", "final");
        sleep(seconds(60)).await;
        assert_eq!(controller.count("a"), 5, "nothing was changed");
        controller.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn several_writes_are_followed_by_one_call() {
    let world = World::new(&["a"]);
    let controller = writing(
        &world,
        |_| {},
        |client, call| {
            async move {
                if call == 1 {
                    for number in 0..5 {
                        patch(&client, &number.to_string()).await?;
                        let child = config_map(&format!("child-{number}"), "1");
                        client.create(&serde_json::from_value(child)?).await?;
                    }
                }
                Ok(Action::await_change())
            }
            .boxed()
        },
    )
    .await;
    sleep(seconds(60)).await;
    assert_eq!((controller.count("a"), follow_ups(&controller)), (2, 1));
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn extra_call_waits_until_the_cache_shows_the_writes() {
    let world = World::new(&["a"]);
    world.factory.start();
    world.factory.wait_for_cache_sync().await;
    world.server.hold();
    let (lister, read) = (world.lister(), Arc::<Mutex<Vec<Option<String>>>>::default());
    let reads = read.clone();
    let controller = writing(
        &world,
        |_| {},
        move |client, call| {
            read.lock().push(cached(&lister, "default/a"));
            if call == 1 {
                idempotent(client, call)
            } else {
                async { Ok(Action::await_change()) }.boxed()
            }
        },
    )
    .await;
    sleep(seconds(5)).await;
    assert_eq!(controller.count("a"), 1, "the cache does not show it yet");
    world.server.release();
    sleep(millis(1)).await;
    assert_eq!(controller.count("a"), 2);
    assert_eq!(reads.lock().last().unwrap().as_deref(), Some("final"));
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn extra_call_has_low_priority() {
    let names = ["a", "b", "c", "d"];
    let world = World::new(&names);
    let client = world.client.clone();
    let script = move |key: String, call: usize| {
        let client = client.clone();
        async move {
            if call == 2 {
                sleep(millis(10)).await;
            }
            if call == 2 && key == "default/a" {
                patch(&client, "changed").await?;
            }
            Ok(Action::await_change())
        }
        .boxed()
    };
    let controller = world.run(|_| {}, script).await;
    let started = Instant::now();
    for name in names {
        controller.add(name);
    }
    sleep(seconds(1)).await;
    let third = controller.calls.of("default/a")[2];
    let last = ["b", "c", "d"].map(|name| controller.calls.of(&format!("default/{name}"))[1]);
    assert!(last.iter().all(|last| *last < third), "{last:?}, then {third}");
    assert!(started.elapsed() > millis(40));
    controller.stop().await;
}

/// The secrets of the world have no informer.
fn secrets(world: &World) -> TypedClient<Secret, (Patch, Delete)> {
    TypedClient::new(world.connection.clone())
}

#[tokio::test(start_paused = true)]
async fn uncovered_objects_are_compared_with_the_last_answer() {
    let world = World::new(&["a"]);
    let (secrets, value) = (secrets(&world), Arc::new(Mutex::new("1")));
    let written = value.clone();
    let controller = writing(
        &world,
        |_| {},
        move |_, _| {
            let (secrets, value) = (secrets.clone(), *written.lock());
            async move {
                secrets
                    .patch(
                        &name("s"),
                        &PatchBody::Merge(json!({"metadata": {"annotations": {"v": value}}})),
                    )
                    .await?;
                Ok(Action::await_change())
            }
            .boxed()
        },
    )
    .await;
    sleep(seconds(10)).await;
    assert_eq!(controller.count("a"), 2, "the second answer is that of the first");
    controller.add("a");
    sleep(seconds(10)).await;
    assert_eq!(controller.count("a"), 3, "nothing was changed");
    *value.lock() = "2";
    controller.add("a");
    sleep(seconds(10)).await;
    assert_eq!(controller.count("a"), 5);
    assert_eq!(controller.counts.waits.load(Ordering::Relaxed), 0);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn deletion_of_an_uncovered_object_is_followed_by_one_call() {
    let world = World::new(&["a"]);
    let secrets = secrets(&world);
    let controller = writing(
        &world,
        |_| {},
        move |_, call| {
            let secrets = secrets.clone();
            async move {
                match call {
                    1 => drop(secrets.patch(&name("s"), &PatchBody::Merge(json!({}))).await?),
                    2 => secrets.delete(&name("s"), &DeleteParams::default()).await?,
                    _ => {}
                }
                Ok(Action::await_change())
            }
            .boxed()
        },
    )
    .await;
    sleep(seconds(10)).await;
    assert_eq!(controller.count("a"), 3);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn deletion_counts_only_if_the_cached_object_was_not_being_deleted() {
    let world = World::new(&["a"]);
    world
        .server
        .put(&json!({"metadata": {"namespace": "default", "name": "b", "finalizers": ["demo.dev/x"]}}));
    let controller = writing(
        &world,
        |_| {},
        |client, _| {
            async move {
                client.delete(&name("b"), &DeleteParams::default()).await?;
                Ok(Action::await_change())
            }
            .boxed()
        },
    )
    .await;
    sleep(seconds(10)).await;
    assert_eq!(controller.count("a"), 2, "the second deletion changes nothing");
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn deletion_events_always_enqueue_and_replace_the_extra_call() {
    let world = World::new(&["a", "b"]);
    let informer = world.informer.clone();
    let children = |builder: &mut ControllerBuilder| {
        builder.watches(&informer, |change| match change.name().name() {
            "b" => vec![name("a")],
            _ => Vec::new(),
        });
    };
    let controller = writing(&world, children, |client, call| {
        async move {
            if call == 2 {
                client.delete(&name("b"), &DeleteParams::default()).await?;
            }
            Ok(Action::await_change())
        }
        .boxed()
    })
    .await;
    assert_eq!(controller.count("a"), 1);
    controller.add("a");
    sleep(seconds(10)).await;
    assert_eq!(controller.count("a"), 3, "one call for the deletion");
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn event_enqueues_once_the_wait_is_given_up() {
    let world = World::new(&["a"]);
    world.factory.start();
    world.factory.wait_for_cache_sync().await;
    world.server.hold();
    let controller = writing(
        &world,
        |builder| {
            builder.write_wait(millis(100));
        },
        |client, call| {
            if call == 1 {
                idempotent(client, call)
            } else {
                async { Ok(Action::await_change()) }.boxed()
            }
        },
    )
    .await;
    sleep(seconds(5)).await;
    assert_eq!(controller.count("a"), 2, "the extra call ran with an old cache");
    assert_eq!(controller.counts.overdue.load(Ordering::Relaxed), 3);
    world.server.release();
    sleep(seconds(5)).await;
    assert_eq!(controller.count("a"), 3, "the event enqueued the key");
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn event_enqueues_without_write_wait_and_without_version_order() {
    for (prefix, write_wait) in [("", Duration::ZERO), ("v", seconds(10))] {
        for delay in [0, 100] {
            let world = World::new(&["a"]);
            {
                let mut quirks = world.quirks.lock();
                (quirks.delay, quirks.prefix) = (millis(delay), prefix);
            }
            let controller = writing(
                &world,
                |builder| {
                    builder.write_wait(write_wait);
                },
                idempotent,
            )
            .await;
            sleep(seconds(10)).await;
            let calls = controller.count("a");
            // Answers with a prefix never equal the cache.
            if prefix.is_empty() {
                assert_eq!(calls, 2, "answers after {delay} ms");
                assert_eq!(follow_ups(&controller), 0, "the event is the call");
            } else {
                assert!(calls >= 2, "{calls}");
            }
            controller.stop().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn uncovered_write_without_write_wait_is_followed_by_one_call() {
    let world = World::new(&["a"]);
    let secrets = secrets(&world);
    let zero = |builder: &mut ControllerBuilder| {
        builder.write_wait(Duration::ZERO);
    };
    let controller = writing(&world, zero, move |_, _| {
        let secrets = secrets.clone();
        async move {
            secrets
                .patch(
                    &name("s"),
                    &PatchBody::Merge(json!({"metadata": {"annotations": {"v": "1"}}})),
                )
                .await?;
            Ok(Action::await_change())
        }
        .boxed()
    })
    .await;
    sleep(seconds(10)).await;
    assert_eq!(controller.count("a"), 2);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn deadline_of_requeue_after_stays() {
    let world = World::new(&["a"]);
    let controller = writing(
        &world,
        |_| {},
        |client, call| {
            async move {
                if call == 1 {
                    patch(&client, "final").await?;
                    return Ok(Action::requeue_after(seconds(30)));
                }
                Ok(Action::await_change())
            }
            .boxed()
        },
    )
    .await;
    sleep(seconds(29)).await;
    assert_eq!(controller.count("a"), 2, "the extra call");
    sleep(seconds(2)).await;
    assert_eq!(controller.count("a"), 3, "the deadline");
    sleep(seconds(60)).await;
    assert_eq!(controller.count("a"), 3);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn errors_panics_timeouts_and_requeue_bring_their_own_call() {
    for kind in 0..4 {
        let world = World::new(&["a"]);
        let limit = |builder: &mut ControllerBuilder| {
            builder.reconcile_timeout(seconds(1));
        };
        let controller = writing(&world, limit, move |client, call| {
            async move {
                if call > 1 {
                    return Ok(Action::await_change());
                }
                patch(&client, "final").await?;
                match kind {
                    0 => Err(ReconcileError::new("not yet")),
                    1 => panic!("not yet"),
                    2 => {
                        sleep(seconds(2)).await;
                        Ok(Action::await_change())
                    }
                    _ => Ok(Action::requeue()),
                }
            }
            .boxed()
        })
        .await;
        sleep(seconds(60)).await;
        assert_eq!((controller.count("a"), follow_ups(&controller)), (2, 0), "{kind}");
        controller.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn terminal_error_after_a_change_is_followed_by_one_call() {
    let world = World::new(&["a"]);
    let controller = writing(
        &world,
        |_| {},
        |client, _| {
            async move {
                patch(&client, "final").await?;
                Err(ReconcileError::new("invalid spec").terminal())
            }
            .boxed()
        },
    )
    .await;
    sleep(seconds(60)).await;
    assert_eq!(controller.count("a"), 2);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn call_for_another_reason_replaces_the_extra_call() {
    let world = World::new(&["a"]);
    world.factory.start();
    world.factory.wait_for_cache_sync().await;
    world.server.hold();
    let controller = writing(
        &world,
        |_| {},
        |client, call| {
            if call == 1 {
                idempotent(client, call)
            } else {
                async { Ok(Action::await_change()) }.boxed()
            }
        },
    )
    .await;
    sleep(millis(10)).await;
    // Two foreign changes and a key from elsewhere, while the extra call waits.
    world.foreign("a", "foreign");
    world.foreign("a", "foreign, too");
    controller.add("a");
    sleep(millis(10)).await;
    assert_eq!(controller.count("a"), 1);
    world.server.release();
    sleep(seconds(60)).await;
    assert_eq!(controller.count("a"), 2);
    controller.stop().await;
}

/// A status with a timestamp, for example.
#[tokio::test(start_paused = true)]
async fn after_20_extra_calls_in_a_row_they_are_delayed_counted_and_logged_once_an_hour() {
    let log = Log::start();
    let world = World::new(&["a"]);
    let controller = writing(
        &world,
        |_| {},
        |client, call| {
            async move {
                patch(&client, &format!("call {call}")).await?;
                Ok(Action::await_change())
            }
            .boxed()
        },
    )
    .await;
    sleep(millis(500)).await;
    assert_eq!(controller.count("a"), 21, "one call, and 20 extra calls");
    let warnings = log.lines("every reconcile of the key changes the object");
    assert_eq!(warnings.len(), 1);
    for part in ["key=default/a", "object=ConfigMap default/a", "verb=\"patch\""] {
        assert!(warnings[0].contains(part), "{part}: {warnings:?}");
    }
    sleep(seconds(1)).await;
    assert_eq!(controller.count("a"), 22, "after 1 s");
    sleep(seconds(2)).await;
    assert_eq!(controller.count("a"), 23, "after 2 s");
    sleep(Duration::from_mins(50)).await;
    assert_eq!(log.lines("every reconcile of the key").len(), 1, "once an hour");
    let calls = controller.calls.of("default/a");
    let last = calls[calls.len() - 1] - calls[calls.len() - 2];
    assert_eq!(last, 300_000, "5 minutes at most");
    sleep(Duration::from_mins(15)).await;
    assert_eq!(log.lines("every reconcile of the key").len(), 2);
    let delayed = controller.counts.delayed_follow_ups.load(Ordering::Relaxed);
    assert_eq!(follow_ups(&controller), 20 + delayed);
    // A foreign change is reconciled at once, and restarts the row.
    let before = controller.count("a");
    world.foreign("a", "foreign");
    sleep(millis(500)).await;
    assert_eq!(controller.count("a"), before + 21);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn delayed_extra_call_keeps_the_deadline_of_requeue_after() {
    let world = World::new(&["a"]);
    let controller = writing(
        &world,
        |_| {},
        |client, call| {
            async move {
                if call <= 21 {
                    patch(&client, &format!("call {call}")).await?;
                }
                Ok(if call == 21 {
                    Action::requeue_after(seconds(10))
                } else {
                    Action::await_change()
                })
            }
            .boxed()
        },
    )
    .await;
    sleep(seconds(30)).await;
    let calls = controller.calls.of("default/a");
    assert_eq!(calls.len(), 23);
    assert_eq!([calls[21] - calls[20], calls[22] - calls[20]], [1_000, 10_000]);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn late_write_of_a_spawned_task_is_followed_by_one_call() {
    let world = World::new(&["a"]);
    let controller = writing(
        &world,
        |_| {},
        |client, call| {
            async move {
                if call == 1 {
                    Context::current().spawn(async move {
                        sleep(millis(100)).await;
                        patch(&client, "late").await.unwrap();
                    });
                }
                Ok(Action::await_change())
            }
            .boxed()
        },
    )
    .await;
    sleep(seconds(10)).await;
    assert_eq!(controller.count("a"), 2);
    controller.stop().await;
}

/// The answer of a write that changes nothing has the version of a foreign change, if that came during the reconcile. Its event is not an
/// own event: the reconcile may have read the object before.
#[tokio::test(start_paused = true)]
async fn write_that_changes_nothing_does_not_hide_a_foreign_change() {
    for own_events in [OwnEvents::ReconcileOnce, OwnEvents::Ignore] {
        for is_seen in [true, false] {
            let world = World::new(&["a"]);
            let mode = |builder: &mut ControllerBuilder| {
                builder.own_events(own_events);
            };
            let (server, lister) = (world.server.clone(), world.lister());
            let copied = Arc::<Mutex<Option<String>>>::default();
            let copy = copied.clone();
            let controller = writing(&world, mode, move |client, call| {
                let (server, copy, read) = (server.clone(), copy.clone(), cached(&lister, "default/a"));
                async move {
                    *copy.lock() = read;
                    if call == 1 {
                        if !is_seen {
                            server.hold();
                        }
                        server.put(&config_map("a", "foreign"));
                        sleep(millis(10)).await;
                        client.patch(&name("a"), &PatchBody::Merge(json!({}))).await?;
                        server.release();
                    }
                    Ok(Action::await_change())
                }
                .boxed()
            })
            .await;
            sleep(seconds(10)).await;
            let copied = copied.lock().clone();
            // Of a foreign change that the cache did not show when the write was sent, `Ignore` does not know.
            if is_seen || own_events == OwnEvents::ReconcileOnce {
                assert_eq!(controller.count("a"), 2, "{own_events:?}, {is_seen}");
                assert_eq!(copied.as_deref(), Some("foreign"));
            }
            controller.stop().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn step_wise_reconciler_stalls_if_own_events_are_ignored() {
    for (own_events, expected) in [
        (OwnEvents::Ignore, 1),
        (OwnEvents::ReconcileOnce, 4),
        (OwnEvents::Enqueue, 4),
    ] {
        let world = World::new(&["a"]);
        let mode = |builder: &mut ControllerBuilder| {
            builder.own_events(own_events);
        };
        let lister = world.lister();
        let controller = writing(&world, mode, move |client, _| {
            let next = match cached(&lister, "default/a").as_deref() {
                Some("0") => Some("1"),
                Some("1") => Some("2"),
                Some("2") => Some("3"),
                _ => None,
            };
            async move {
                if let Some(next) = next {
                    patch(&client, next).await?;
                }
                Ok(Action::await_change())
            }
            .boxed()
        })
        .await;
        sleep(seconds(60)).await;
        assert_eq!(controller.count("a"), expected, "{own_events:?}");
        controller.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn names_of_other_namespaces_are_other_objects() {
    let elsewhere: NamespacedName = "elsewhere/a".parse().unwrap();
    let world = World::new(&["a"]);
    world
        .server
        .put(&json!({"metadata": {"namespace": "elsewhere", "name": "a"}, "data": {"datum": "final"}}));
    let controller = writing(
        &world,
        |_| {},
        move |client, _| {
            let elsewhere = elsewhere.clone();
            async move {
                client.patch(&elsewhere, &datum("final")).await?;
                Ok(Action::await_change())
            }
            .boxed()
        },
    )
    .await;
    sleep(seconds(10)).await;
    assert_eq!(controller.count("a"), 1, "nothing was changed");
    controller.stop().await;
}
