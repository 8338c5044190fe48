//! Random faults: no reconcile reads a cache that lacks its own writes, and no foreign change is lost.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::{FutureExt as _, future::BoxFuture};
use parking_lot::Mutex;
use proptest::prelude::*;
use rand::{SeedableRng as _, rngs::StdRng};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{
    super::{super::*, millis},
    support::{
        config_map,
        server::{Server, Streaming},
    },
    world::{Controller, World, cached, datum},
};
use crate::{
    NamespacedName,
    client::{DeleteParams, PatchBody},
    test_effort::{property_cases, simulation_seeds},
    workqueue::ItemExponential,
};

/// Writes in each world.
const WRITES_PER_WORLD: usize = 1000;
const PARENTS: [&str; 5] = ["a0", "a1", "a2", "a3", "a4"];

/// The objects that a reconcile of `key` writes: its own, and two children.
fn objects(key: &str) -> [String; 3] {
    [key.to_owned(), format!("{key}-x"), format!("{key}-y")]
}

/// Delays watch events, half of the time for up to 20 ms, else for up to 9 s, which is less than the write wait.
async fn delay_events(server: Arc<Server>, mut random: StdRng) {
    loop {
        server.hold();
        let max = if random.random_bool(0.5) {
            20_000
        } else {
            9_000_000
        };
        sleep(Duration::from_micros(random.random_range(1..max))).await;
        server.release();
        sleep(Duration::from_micros(random.random_range(1..5_000))).await;
    }
}

/// Returns how many calls read a cache that lacked an own write, and how often keys waited. Each call reads its whole objects, then patches,
/// creates or deletes one of it.
async fn stale_reads_of(seed: u64, write_wait: Option<Duration>) -> (usize, u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let (keys, workers) = (random.random_range(1..=PARENTS.len()), random.random_range(1..=4));
    let world = World::new(&PARENTS[..keys]);
    let (client, lister) = (world.client.clone(), world.lister());
    let (loops, stale) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let (looped, counted) = (loops.clone(), stale.clone());
    // The written datum of each object; none if it was deleted.
    let written = Arc::<Mutex<HashMap<String, Option<String>>>>::default();
    let dice = Mutex::new(StdRng::seed_from_u64(random.random()));
    let script = move |key: String, _| {
        if key.contains('-') {
            // The key of a child.
            return async { Ok(Action::await_change()) }.boxed();
        }
        let mut objects = objects(&key);
        let is_old = |name: &String| {
            let written = written.lock();
            written
                .get(name)
                .is_some_and(|datum| *datum != cached(&lister, name))
        };
        if objects.iter().any(is_old) {
            counted.fetch_add(1, Ordering::Relaxed);
        }
        let call = looped.fetch_add(1, Ordering::Relaxed);
        let (chosen, deletes) = {
            let mut dice = dice.lock();
            (dice.random_range(0..objects.len()), dice.random_bool(0.5))
        };
        let target = std::mem::take(&mut objects[chosen]);
        let exists = chosen == 0 || matches!(written.lock().get(&target), Some(Some(_)));
        let (client, written) = (client.clone(), written.clone());
        async move {
            if call >= WRITES_PER_WORLD {
                return Ok(Action::await_change());
            }
            let (name, new) = (target.parse::<NamespacedName>().unwrap(), call.to_string());
            let is_deletion = exists && chosen > 0 && deletes;
            if is_deletion {
                client.delete(&name, &DeleteParams::default()).await?;
            } else if exists {
                client.patch(&name, &datum(&new)).await?;
            } else {
                let child = serde_json::from_value(config_map(name.name(), &new)).unwrap();
                client.create(&child).await?;
            }
            written.lock().insert(target, (!is_deletion).then_some(new));
            Ok(Action::requeue())
        }
        .boxed()
    };
    let register = |builder: &mut ControllerBuilder| {
        builder
            .workers(workers)
            .rate_limiter(ItemExponential::new(millis(1), millis(1)));
        if let Some(bound) = write_wait {
            builder.write_wait(bound);
        }
    };
    let proxy = tokio::spawn(delay_events(world.server.clone(), random));
    let controller = world.run(register, script).await;
    while loops.load(Ordering::Relaxed) < WRITES_PER_WORLD {
        sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(controller.counts.overdue.load(Ordering::Relaxed), 0);
    proxy.abort();
    let waits = controller.counts.waits.load(Ordering::Relaxed);
    controller.stop().await;
    (stale.load(Ordering::Relaxed), waits)
}

#[tokio::test(start_paused = true)]
async fn next_call_reads_each_write_of_the_call_before() {
    for seed in 0..simulation_seeds().div_ceil(25) {
        let (stale, waits) = stale_reads_of(seed, None).await;
        assert_eq!(stale, 0, "seed {seed}");
        assert!(waits > 50, "seed {seed}: no event was delayed: {waits}");
    }
}

/// Proves that the test above can fail.
#[tokio::test(start_paused = true)]
async fn next_call_reads_old_caches_without_write_wait() {
    let (stale, _) = stale_reads_of(0, Some(Duration::ZERO)).await;
    assert!(stale > 100, "{stale}");
}

#[derive(Debug, Clone, Copy)]
enum Step {
    /// A foreign change of `desired`.
    Change(u8),
    Delete(u8),
    /// The same, without a watch event.
    ChangeUnseen(u8),
    Bookmark,
    Cut,
    Expire,
    Hold,
    Release,
    Streaming(Streaming),
    Delay(u8),
    LoseNext,
    Resync,
    Wait(u16),
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0u8..3;
    prop_oneof![
        8 => key.clone().prop_map(Step::Change),
        2 => key.clone().prop_map(Step::Delete),
        1 => key.prop_map(Step::ChangeUnseen),
        1 => Just(Step::Bookmark),
        2 => Just(Step::Cut),
        2 => Just(Step::Expire),
        2 => Just(Step::Hold),
        3 => Just(Step::Release),
        1 => prop::sample::select(vec![Streaming::Known, Streaming::Refused]).prop_map(Step::Streaming),
        3 => (0u8..50).prop_map(Step::Delay),
        1 => Just(Step::LoseNext),
        1 => Just(Step::Resync),
        10 => (0u16..200).prop_map(Step::Wait),
    ]
}

/// An object with a desired state in `desired`; the reconciler copies it to `observed`.
fn desired_object(name: &str, datum: usize) -> Value {
    json!({"data": {"desired": datum.to_string()}, "metadata": {"namespace": "default", "name": name}})
}

/// The uid and version of each key's last write.
type Written = Arc<Mutex<HashMap<String, (String, u64)>>>;

/// Copies `desired` to `observed`, and sets `is_stale` if it read a cache that lacked its own write.
fn copying(
    world: &World,
    is_stale: Arc<AtomicBool>,
    own_events: OwnEvents,
) -> impl Fn(String, usize) -> BoxFuture<'static, Result<Action, ReconcileError>> + Send + Sync + 'static {
    let (client, lister, written) = (world.client.clone(), world.lister(), Written::default());
    move |key: String, call: usize| {
        let object = lister.get(&key.parse().unwrap()).ok();
        if let (Some(object), Some((uid, version))) = (&object, written.lock().get(&key)) {
            let read: u64 = object
                .metadata
                .resource_version
                .as_ref()
                .unwrap()
                .parse()
                .unwrap();
            if object.metadata.uid.as_ref() == Some(uid) && read < *version {
                is_stale.store(true, Ordering::Relaxed);
            }
        }
        let (client, name, written) = (client.clone(), key.parse().unwrap(), written.clone());
        async move {
            let Some(object) = object else {
                return Ok(Action::await_change());
            };
            let data = object.data.clone().unwrap_or_default();
            // Like a controller with a timestamp in its status: each reconcile changes something. That would never end under
            // `ReconcileOnce`.
            let at = (own_events == OwnEvents::Ignore).then(|| call.to_string());
            let observed = json!({"data": {"observed": data.get("desired"), "at": at}});
            match client.patch(&name, &PatchBody::Merge(observed)).await {
                Ok(object) => {
                    let version = object.metadata.resource_version.unwrap().parse().unwrap();
                    written
                        .lock()
                        .insert(key, (object.metadata.uid.unwrap(), version));
                    Ok(Action::await_change())
                }
                Err(error) if error.is_not_found() => Ok(Action::await_change()),
                Err(error) => Err(error.into()),
            }
        }
        .boxed()
    }
}

const NAMES: [&str; 3] = ["a0", "a1", "a2"];

/// Executes the steps. Watch events are delayed by five seconds at max, which is less than the write wait.
async fn execute(world: &World, controller: &Controller, steps: Vec<Step>) {
    let name = |key: u8| NAMES[usize::from(key)];
    // Keeps the rest of the object.
    let merged = |key: u8, datum| {
        let mut object = world
            .server
            .get("default", name(key))
            .unwrap_or_else(|| desired_object(name(key), datum));
        object["data"]["desired"] = datum.to_string().into();
        object
    };
    let mut held: Option<Instant> = None;
    for (datum, step) in steps.into_iter().enumerate() {
        let ends_watches = matches!(step, Step::Cut | Step::Expire | Step::ChangeUnseen(_));
        match step {
            Step::Change(key) => world.server.put(&merged(key, datum)),
            // The watch ends as well: otherwise no relist would find it.
            Step::ChangeUnseen(key) => world.server.put_unseen(&merged(key, datum)),
            Step::Delete(key) => world.server.delete("default", name(key)),
            // A bookmark must not overtake delayed events.
            Step::Bookmark if held.is_some() => {}
            Step::Bookmark => world.server.bookmark(),
            Step::Cut | Step::Expire => {}
            Step::Hold => {
                world.server.hold();
                held.get_or_insert_with(Instant::now);
            }
            Step::Release => {
                world.server.release();
                held = None;
            }
            Step::Streaming(streaming) => world.server.streaming(streaming),
            Step::Delay(delay) => world.quirks.lock().delay = millis(delay.into()),
            Step::LoseNext => world.quirks.lock().lose_next = true,
            Step::Resync => controller.add(NAMES[0]),
            Step::Wait(time) => sleep(millis(time.into())).await,
        }
        if ends_watches {
            held = None;
            world.server.cut_held();
            if !matches!(step, Step::Cut) {
                world.server.reset();
            }
        }
        if held.is_some_and(|since| since.elapsed() > Duration::from_secs(5)) {
            world.server.release();
            held = None;
        }
    }
    world.server.release();
}

async fn run(steps: Vec<Step>, own_events: OwnEvents) -> Result<(), TestCaseError> {
    let world = World::new(&NAMES);
    let is_stale = Arc::<AtomicBool>::default();
    let register = |builder: &mut ControllerBuilder| {
        builder.workers(2).own_events(own_events);
    };
    let controller = world
        .run(register, copying(&world, is_stale.clone(), own_events))
        .await;
    execute(&world, &controller, steps).await;
    sleep(Duration::from_mins(3)).await;
    for name in NAMES {
        let Some(object) = world.server.get("default", name) else {
            continue;
        };
        let (desired, observed) = (&object["data"]["desired"], &object["data"]["observed"]);
        prop_assert_eq!(desired, observed, "a change of {} was lost", name);
    }
    prop_assert!(
        !is_stale.load(Ordering::Relaxed),
        "a key read a cache that lacks its own write"
    );
    let counts = || NAMES.map(|name| controller.count(name));
    let before = counts();
    sleep(Duration::from_mins(1)).await;
    prop_assert_eq!(before, counts(), "it does not go quiet");
    controller.stop().await;
    world.factory.shutdown().await;
    Ok(())
}

proptest! {
    #![proptest_config(property_cases(64))]

    #[test]
    fn no_foreign_change_is_lost(steps in prop::collection::vec(step(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        for own_events in [OwnEvents::Ignore, OwnEvents::ReconcileOnce] {
            runtime.block_on(run(steps.clone(), own_events))?;
        }
    }
}
