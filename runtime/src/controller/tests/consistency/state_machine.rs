//! A reconciler in steps reaches its end: one write a reconcile, then it returns and waits for the next call, as kubebuilder's CronJob
//! tutorial does. Over many seeds, with cut watches, lost answers, given-up waits, a kind without informer, and finalizers.

use std::time::Duration;

use futures::{FutureExt as _, future::BoxFuture};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{
    super::{super::*, millis},
    support::{
        config_map, name,
        server::{Server, Streaming},
    },
    world::{Client, Controller, World, datum},
};
use crate::{
    NamespacedName,
    cache::Lister,
    client::{Delete, DeleteParams, Get, Patch, PatchBody, TypedClient},
    test_effort::simulation_seeds,
};

const PARENTS: [&str; 2] = ["a0", "a1"];
const FINALIZER: &str = "demo.dev/cleanup";

/// Copies the parent's `desired` to a child ConfigMap and a Secret, then to the parent's `observed`. Secrets have no informer.
#[derive(Clone)]
struct Stepwise {
    client: Client,
    secrets: TypedClient<Secret, (Get, Patch, Delete)>,
    lister: Lister<ConfigMap>,
    own_events: OwnEvents,
}

impl Stepwise {
    /// One step: at most one write.
    async fn step(self, key: NamespacedName) -> Result<Action, ReconcileError> {
        let Ok(parent) = self.lister.get(&key) else {
            return Ok(Action::await_change());
        };
        let child_name = key.sibling(format!("{}-child", key.name()));
        let child = self.lister.get(&child_name).ok();
        if parent.metadata.deletion_timestamp.is_some() {
            return self.clean_up(&parent, &key, child.map(|_| child_name)).await;
        }
        if !finalizer::is_present(&*parent, FINALIZER) {
            finalizer::ensure(&self.client, parent, FINALIZER).await?;
            return Ok(Action::await_change());
        }
        let data = |object: &ConfigMap, field: &str| object.data.as_ref()?.get(field).cloned();
        let desired = data(&parent, "desired").unwrap_or_default();
        let Some(child) = child else {
            let child = serde_json::from_value(config_map(child_name.name(), &desired))?;
            self.client.create(&child).await?;
            return Ok(Action::await_change());
        };
        if data(&child, "datum").as_ref() != Some(&desired) {
            self.client.patch(&child_name, &datum(&desired)).await?;
            return Ok(Action::await_change());
        }
        if self.secret(&key).await?.as_ref() != Some(&desired) {
            let secret = json!({"metadata": {"annotations": {"desired": desired}}});
            self.secrets.patch(&key, &PatchBody::Merge(secret)).await?;
            return Ok(self.uncovered_write());
        }
        if data(&parent, "observed").as_ref() != Some(&desired) {
            let observed = PatchBody::Merge(json!({"data": {"observed": desired}}));
            self.client.patch(&key, &observed).await?;
        }
        Ok(Action::await_change())
    }

    async fn clean_up(
        &self,
        parent: &ConfigMap,
        key: &NamespacedName,
        child: Option<NamespacedName>,
    ) -> Result<Action, ReconcileError> {
        if let Some(child) = child {
            self.client.delete(&child, &DeleteParams::default()).await?;
            return Ok(Action::await_change());
        }
        if self.secret(key).await?.is_some() {
            self.secrets.delete(key, &DeleteParams::default()).await?;
            return Ok(self.uncovered_write());
        }
        finalizer::remove(&self.client, parent, FINALIZER).await?;
        Ok(Action::await_change())
    }

    /// Events of a kind without informer never come: with client-go's handling, the author has to requeue.
    fn uncovered_write(&self) -> Action {
        match self.own_events {
            OwnEvents::Enqueue => Action::requeue_after(millis(10)),
            _ => Action::await_change(),
        }
    }

    async fn secret(&self, key: &NamespacedName) -> Result<Option<String>, ReconcileError> {
        match self.secrets.get(key).await {
            Ok(secret) => Ok(secret
                .metadata
                .annotations
                .and_then(|mut all| all.remove("desired"))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn script(
        self,
    ) -> impl Fn(String, usize) -> BoxFuture<'static, Result<Action, ReconcileError>> + Send + Sync + 'static
    {
        move |key, _| {
            let key: NamespacedName = key.parse().unwrap();
            if key.name().ends_with("-child") {
                return async { Ok(Action::await_change()) }.boxed();
            }
            self.clone().step(key).boxed()
        }
    }
}

/// A foreign change of the parent's `desired`; recreates a parent that is gone.
fn set_desired(server: &Server, parent: &str, value: u32) {
    let mut object = server
        .get("default", parent)
        .unwrap_or_else(|| json!({"metadata": {"namespace": "default", "name": parent}}));
    object["data"]["desired"] = value.to_string().into();
    server.put(&object);
}

/// Marks the parent as being deleted, if it has a finalizer; deletes it otherwise.
fn delete(server: &Server, parent: &str) {
    let Some(mut object) = server.get("default", parent) else {
        return;
    };
    if object["metadata"]["finalizers"]
        .as_array()
        .is_none_or(Vec::is_empty)
    {
        server.delete("default", parent);
    } else if object["metadata"]["deletionTimestamp"].is_null() {
        object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        server.put(&object);
    }
}

/// Disturbs the controller for a while, then lets all watches catch up.
async fn disturb(world: &World, random: &mut StdRng) {
    let server = &world.server;
    for step in 0..random.random_range(8..28) {
        let parent = PARENTS[random.random_range(0..PARENTS.len())];
        match random.random_range(0..20) {
            0..=4 => set_desired(server, parent, step),
            5 => server.delete("default", &format!("{parent}-child")),
            6 => delete(server, parent),
            7..=9 => server.hold(),
            10 | 11 => server.release(),
            12 => server.cut_held(),
            13 => {
                server.cut_held();
                server.reset();
            }
            14 => server.streaming(if random.random_bool(0.5) {
                Streaming::Known
            } else {
                Streaming::Refused
            }),
            15 | 16 => world.quirks.lock().lose_next = true,
            17 => world.quirks.lock().delay = millis(random.random_range(0..20)),
            _ => {}
        }
        // A short pause comes in the middle of a sequence of steps, a long one gives up the waits for the cache.
        let pause = if random.random_bool(0.8) {
            20_000
        } else {
            2_000_000
        };
        sleep(Duration::from_micros(random.random_range(1..pause))).await;
    }
    server.release();
    world.quirks.lock().lose_next = false;
}

/// Whether the parent reached its end: everything is as desired, or everything is deleted.
fn is_at_its_end(world: &World, parent: &str) -> bool {
    let get = |name: &str| world.server.get("default", name);
    let child = get(&format!("{parent}-child"));
    let secret = world.uncovered(&format!("/api/v1/namespaces/default/secrets/{parent}"));
    match get(parent) {
        None => true,
        Some(parent) if parent["metadata"]["deletionTimestamp"].is_string() => false,
        Some(parent) => {
            let desired = parent["data"]["desired"].clone();
            let has_desired = |object: Option<Value>, field: &str| {
                let pointer = format!("/{field}");
                object.is_some_and(|object| object.pointer(&pointer) == Some(&desired))
            };
            has_desired(Some(parent), "data/observed")
                && has_desired(child, "data/datum")
                && has_desired(secret, "metadata/annotations/desired")
        }
    }
}

/// What one seed showed.
struct Run {
    /// The parents that did not reach their end.
    stalled: Vec<&'static str>,
    is_quiet: bool,
    timed_out_waits: u64,
    follow_ups: u64,
    log: String,
}

async fn run(seed: u64, own_events: OwnEvents) -> Run {
    let mut random = StdRng::seed_from_u64(seed);
    let world = World::new(&[]);
    let stepwise = Stepwise {
        client: world.client.clone(),
        secrets: TypedClient::new(world.connection.clone()),
        lister: world.lister(),
        own_events,
    };
    let (informer, workers) = (world.informer.clone(), random.random_range(1..=3));
    let write_wait = [Duration::ZERO, millis(20), Duration::from_secs(10)][random.random_range(0..3)];
    let register = |builder: &mut ControllerBuilder| {
        builder
            .watches(&informer, |change| {
                let parent = change.name().name().strip_suffix("-child");
                parent.map(name).into_iter().collect()
            })
            .workers(workers)
            .write_wait(write_wait)
            .own_events(own_events);
    };
    for parent in PARENTS {
        set_desired(&world.server, parent, 0);
    }
    let controller: Controller = world.run(register, stepwise.script()).await;
    disturb(&world, &mut random).await;
    sleep(Duration::from_mins(10)).await;
    let stalled = PARENTS
        .into_iter()
        .filter(|parent| !is_at_its_end(&world, parent))
        .collect();
    let counts = || PARENTS.map(|parent| controller.count(parent));
    let before = counts();
    sleep(Duration::from_mins(1)).await;
    let load = |counter: &std::sync::atomic::AtomicU64| counter.load(std::sync::atomic::Ordering::Relaxed);
    let run = Run {
        stalled,
        is_quiet: before == counts(),
        timed_out_waits: load(&controller.counts.overdue),
        follow_ups: load(&controller.counts.follow_ups),
        log: format!(
            "{before:?} calls, wait {write_wait:?}: {:?}",
            world.server.get("default", "a0")
        ),
    };
    controller.stop().await;
    world.factory.shutdown().await;
    run
}

fn run_all(seeds: u64, own_events: OwnEvents) -> Vec<Run> {
    let threads = 2;
    let runs = |thread: u64| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        let seeds = (0..seeds).filter(move |seed| seed % threads == thread);
        seeds
            .map(move |seed| runtime.block_on(run(seed, own_events)))
            .collect::<Vec<_>>()
    };
    std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads)
            .map(|thread| scope.spawn(move || runs(thread)))
            .collect();
        started
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    })
}

fn reaches_its_end(own_events: OwnEvents) -> Vec<Run> {
    let runs = run_all(simulation_seeds(), own_events);
    for (seed, run) in runs.iter().enumerate() {
        assert!(
            run.stalled.is_empty(),
            "run {seed}, {own_events:?}: {:?} stalled: {}",
            run.stalled,
            run.log
        );
        assert!(
            run.is_quiet,
            "run {seed}, {own_events:?} does not go quiet: {}",
            run.log
        );
    }
    runs
}

#[test]
fn step_wise_reconciler_reaches_its_end_under_reconcile_once() {
    let seeds = simulation_seeds();
    let runs = reaches_its_end(OwnEvents::ReconcileOnce);
    assert!(runs.iter().map(|run| run.follow_ups).sum::<u64>() > 5 * seeds);
    let given_up = runs.iter().filter(|run| run.timed_out_waits >= 3).count() as u64;
    // How many there are depends on how the runs interleave: some tens of 1,000.
    assert!(given_up > seeds / 50, "waits were given up in {given_up} runs");
}

#[test]
fn step_wise_reconciler_reaches_its_end_under_enqueue() {
    let runs = reaches_its_end(OwnEvents::Enqueue);
    assert!(runs.iter().all(|run| run.follow_ups == 0));
}

/// Proves that the tests above can fail.
#[test]
fn step_wise_reconciler_stalls_under_ignore() {
    let stalled = run_all(20, OwnEvents::Ignore)
        .iter()
        .filter(|run| !run.stalled.is_empty())
        .count();
    assert!(stalled > 10, "{stalled}");
}
