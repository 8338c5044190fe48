//! The cache in bad weather: writers change objects at random while connections are cut, held back and refused, the history is
//! compacted, and the API server killed and started again. In the end the cache equals the server, every handler was told of a
//! gap-free life of each object, and nothing is left behind.
//!
//! Before the real API server, whose watch cache is part of the weather, and before the embedded one, which is in the test's process and
//! keeps its objects in memory: there it is away instead of killed, and the hour is shorter.
//!
//! `KUBEWRIGHT_SOAK_SECONDS` says how long (60, embedded 20), `KUBEWRIGHT_SOAK_SEED` repeats the choices of a run; what the threads
//! make of them is never the same.

#![expect(
    clippy::expect_used,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a test that cannot go on stops, and its figures are small"
)]

mod ledger;
mod subject;
mod vitals;
mod weather;
mod world;

use std::{
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use futures::future::try_join_all;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use kubewright::{
    ApiResource, Scope,
    cache::{InformerOptions, QueueKind, SharedInformerFactory, StorageMode, Transform},
    client::Connection,
};
use kubewright_testkit::{Cluster, ControlPlane, Identity, eventually};
use ledger::Faults;
use serde_json::Value;
use subject::{Examined, Subject};
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinHandle,
};
use vitals::Memory;
use world::{NAMESPACES, Served, Sort, World};

const FAILED_WRITES: &str = "requests of writers that failed";
const WRITERS: u64 = 4;

/// How long everything may take to settle: a reflector that was refused often waits up to a minute.
const PATIENCE: Duration = Duration::from_mins(3);

/// By how much what is allocated may grow from a calm moment in the middle of a run to one at its end.
///
/// In a calm moment every handler has been told of everything: rings are empty, and what a slow handler had before it (most of a
/// run's memory, on a busy machine) is gone. The number of objects is what it is to stay from the beginning, and they take a few
/// megabytes in each informer.
/// So in 20 minutes a leak of 16 bytes for each of the million events between the two moments does not fit.
const MOST_GROWTH: u64 = 16 << 20;

mod embedded {
    use kubewright_testkit::{Failure, Fault, RequestMatcher};

    #[test]
    fn the_cache_equals_the_server_after_bad_weather() {
        let cluster = kubewright_tests::embedded();
        // Writers meet an API server that is away elsewhere only.
        let (patches, refused) = (RequestMatcher::verb("patch"), Fault::Respond(Failure::internal()));
        cluster.faults().with_probability(0.05, 1, patches, refused);
        super::endure(&cluster, 20);
    }
}

mod real {
    use super::{Cluster, ControlPlane};

    #[test]
    #[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
    fn the_cache_equals_the_server_after_bad_weather() {
        let plane = ControlPlane::builder()
            // Secrets are served from etcd, so that compaction is felt at once; no log of all that is written.
            .api_server_arg("--watch-cache-sizes=secrets#0")
            .api_server_arg("--audit-log-path=");
        super::endure(&Cluster::start_real(plane).expect("a control plane"), 60);
    }
}

fn endure(cluster: &Cluster, seconds: u64) {
    let seconds: u64 = variable("KUBEWRIGHT_SOAK_SECONDS").unwrap_or(seconds);
    let seed: u64 = variable("KUBEWRIGHT_SOAK_SEED").unwrap_or_else(rand::random);
    eprintln!("soak: {seconds} s, KUBEWRIGHT_SOAK_SEED={seed}");
    for namespace in NAMESPACES {
        cluster.create_namespace(namespace).expect("a namespace");
    }
    let widgets: Value = serde_json::from_str(world::WIDGETS).expect("JSON");
    cluster.install_crd(&widgets).expect("a definition");

    // The first runtime of a process opens what it keeps for all that follow.
    drop(runtime());
    let descriptors = vitals::descriptors();
    let faults = Arc::new(Faults::default());
    soak(cluster, seconds, seed, &faults);
    eventually(
        "all descriptors are closed",
        Duration::from_secs(20),
        || match vitals::descriptors() {
            now if now.len() <= descriptors.len() => Ok(()),
            now => Err(format!("{now:#?} instead of {descriptors:#?}")),
        },
    );
    faults.assert_none();
}

fn soak(cluster: &Cluster, seconds: u64, seed: u64, faults: &Arc<Faults>) {
    let outside = runtime();
    let world = Arc::new(World::new(outside.block_on(client(cluster.admin())), seed));
    let stop_writing = || world.stop.store(true, Ordering::Relaxed);
    let finish = |works: Vec<JoinHandle<()>>| outside.block_on(try_join_all(works)).expect("the writers");
    let fill = |namespace| {
        let world = world.clone();
        outside.spawn(async move { world.fill(namespace).await })
    };
    finish(NAMESPACES.map(fill).into());
    let write = |writer| {
        let world = world.clone();
        outside.spawn(async move { world.write(writer).await })
    };
    let writers = (0..WRITERS).map(write).collect();

    // Nothing runs here but what is under test.
    let inside = runtime();
    let tasks = || inside.metrics().num_alive_tasks();
    assert_eq!(tasks(), 0);
    let proxy = cluster.proxy().expect("a proxy");
    let through = cluster.admin().via_proxy(&proxy).expect("a kubeconfig");
    let config = inside.block_on(config(&through));
    let factory = {
        let _entered = inside.enter();
        SharedInformerFactory::new(Connection::connect(config, "soak").expect("a connection"))
    };
    let mut subjects = subjects(&factory, faults);
    inside.block_on(async { factory.start() });
    // It is chosen for those that start from now on.
    factory.set_queue(QueueKind::DeltaFifo);
    subjects.push(delta_fifo(&factory, faults));
    inside.block_on(async { factory.start() });
    inside
        .block_on(async { tokio::time::timeout(PATIENCE, factory.wait_for_cache_sync()).await })
        .expect("the first lists");

    let pace = Duration::from_secs(seconds.min(60)) / 60;
    let (stop, reads) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let readers: Vec<_> = subjects
        .iter()
        .zip(seed..)
        .map(|(subject, seed)| inside.spawn(subject.reader(seed, stop.clone(), reads.clone())))
        .collect();
    let (record, memory, in_the_middle) = thread::scope(|scope| {
        let begun = Instant::now();
        // The threads are waited for, also when the test fails.
        let stopping = Stopping(&stop);
        let memory = scope.spawn(|| Memory::watch(&stop));
        let weather = scope.spawn(|| weather::blow(cluster, &proxy, seed, pace, &stop));
        let wait_until = |part: f64| {
            let at = Duration::from_secs(seconds).mul_f64(part);
            thread::sleep(at.saturating_sub(begun.elapsed()));
        };
        wait_until(0.2);
        for subject in &mut subjects {
            subject.join_late("late");
        }
        wait_until(0.3);
        for subject in &mut subjects {
            subject.remove_one();
        }
        wait_until(0.4);
        for subject in &mut subjects {
            subject.mark_removed();
            subject.join_late("later");
        }
        wait_until(0.5);
        let (_, in_the_middle) = settle(cluster, &outside, &world, &subjects);
        wait_until(1.0);
        drop(stopping);
        let record = weather.join().expect("the weather");
        (record, memory.join().expect("the samples"), in_the_middle)
    });
    stop_writing();
    finish(writers);
    inside.block_on(async {
        for reader in readers {
            reader.await.expect("a reader");
        }
    });

    let (served, in_the_end) = settle(cluster, &outside, &world, &subjects);
    faults.assert_none();
    thread::sleep(Duration::from_secs(1));
    for subject in &subjects {
        subject.compare(&served).expect("it stays so");
    }

    report(&world, &record, &subjects, reads.load(Ordering::Relaxed), &served);
    let [live, resident] = memory.most();
    eprintln!(
        "soak: memory: {} KiB live in the middle, {} KiB in the end; at most {} MiB live, {} MiB resident",
        in_the_middle >> 10,
        in_the_end >> 10,
        live >> 20,
        resident >> 20
    );
    assert!(
        in_the_end < in_the_middle + MOST_GROWTH,
        "what is allocated grew from {in_the_middle} to {in_the_end} bytes"
    );

    inside
        .block_on(async { tokio::time::timeout(Duration::from_secs(20), factory.shutdown()).await })
        .expect("the informers end");
    drop((factory, subjects));
    // What the connection keeps open for the next request.
    drop(proxy);
    eventually("all tasks ended", Duration::from_secs(20), || match tasks() {
        0 => Ok(()),
        alive => Err(format!("{alive} tasks are alive")),
    });
}

/// Says so to all threads when it is dropped.
struct Stopping<'a>(&'a AtomicBool);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Waits, while nobody writes, until everybody knows of everything. Says what that is, and how many bytes are allocated then.
fn settle(
    cluster: &Cluster,
    outside: &Runtime,
    world: &World,
    subjects: &[Box<dyn Examined>],
) -> (Served, u64) {
    let _calm = outside.block_on(world.calm.write());
    let begun = Instant::now();
    if let Some(server) = cluster.embedded_server() {
        // What it remembers of the past lies in the same memory, is more with each write up to its bounds, and is not under test.
        cluster.compact_history().expect("it is compacted");
        server.audit().clear();
    }
    // The API server may be away.
    let served = eventually("a list from the API server", PATIENCE, || {
        outside.block_on(world.list()).map_err(|error| error.to_string())
    });
    for subject in subjects {
        eventually(&format!("{} equals the server", subject.name()), PATIENCE, || {
            subject.compare(&served)
        });
    }
    eprintln!(
        "soak: all know of everything after {:.1} s",
        begun.elapsed().as_secs_f64()
    );
    (served, vitals::live())
}

fn subjects(factory: &SharedInformerFactory, faults: &Arc<Faults>) -> Vec<Box<dyn Examined>> {
    let default = InformerOptions::default;
    let raw = InformerOptions {
        storage: StorageMode::Raw,
        ..default()
    };
    // They leave out what no object has, so that the same must be read.
    let projected = InformerOptions {
        storage: StorageMode::Projection(&["metadata", "data"]),
        ..default()
    };
    let transformed = InformerOptions {
        storage: StorageMode::Transformed(Transform::new(|object| {
            object.as_object_mut().map(|fields| fields.remove("binaryData"));
        })),
        ..default()
    };
    let selected = InformerOptions {
        label_selector: Some("tier=web".into()),
        ..default()
    };
    let two = NAMESPACES[..2].iter().map(ToString::to_string).collect();
    let two = InformerOptions {
        namespaces: Some(two),
        ..default()
    };
    let decoded = InformerOptions {
        storage: StorageMode::Decoded,
        field_selector: Some("metadata.namespace!=nowhere".into()),
        ..default()
    };
    let widget = ApiResource {
        group: "demo.dev".into(),
        version: "v1".into(),
        kind: "Widget".into(),
        plural: "widgets".into(),
        scope: Scope::Namespaced,
    };
    let config_maps = [
        ("compressed", default()),
        ("raw", raw),
        ("projected", projected),
        ("transformed", transformed),
        ("selected", selected),
        ("two namespaces", two),
        ("decoded", decoded),
    ];
    let config_maps = config_maps.map(|(name, options)| config_maps_kept(name, options, factory, faults));
    let others: [Box<dyn Examined>; 3] = [
        Box::new(Subject::new(
            "metadata",
            Sort::ConfigMap,
            factory.metadata_only::<ConfigMap>(),
            faults,
        )),
        Box::new(Subject::new(
            "secrets",
            Sort::Secret,
            factory.of::<Secret>(),
            faults,
        )),
        Box::new(Subject::new(
            "dynamic",
            Sort::Widget,
            factory.dynamic(widget, default()),
            faults,
        )),
    ];
    config_maps.into_iter().chain(others).collect()
}

fn config_maps_kept(
    name: &'static str,
    options: InformerOptions,
    factory: &SharedInformerFactory,
    faults: &Arc<Faults>,
) -> Box<dyn Examined> {
    let informer = factory.with::<ConfigMap>(options);
    Box::new(Subject::new(name, Sort::ConfigMap, informer, faults))
}

fn delta_fifo(factory: &SharedInformerFactory, faults: &Arc<Faults>) -> Box<dyn Examined> {
    let options = InformerOptions {
        field_selector: Some("metadata.namespace!=elsewhere".into()),
        ..InformerOptions::default()
    };
    config_maps_kept("delta fifo", options, factory, faults)
}

/// Prints what happened, and fails where nothing did.
fn report(
    world: &World,
    record: &weather::Record,
    subjects: &[Box<dyn Examined>],
    reads: u64,
    served: &Served,
) {
    let mut figures: Vec<(String, u64)> = Vec::new();
    let mut figure = |name: &str, value: u64| figures.push((name.to_owned(), value));
    let tally = &world.tally;
    for (name, counter) in [
        ("created", &tally.created),
        ("updated", &tally.updated),
        ("deleted", &tally.deleted),
        ("deleted and created again", &tally.recreated),
        ("bytes of text written", &tally.bytes),
        (FAILED_WRITES, &tally.failed),
    ] {
        figure(name, counter.load(Ordering::Relaxed));
    }
    figure("connections cut", record.cuts as u64);
    figure("times held back", record.holds);
    figure("times refused", record.refusals);
    figure("compactions", record.compactions);
    figure("absences of the API server", record.absences);
    figure("reads", reads);
    for (sort, objects) in served {
        figure(&format!("{sort:?}s in the end"), objects.len() as u64);
    }
    for subject in subjects {
        let (name, stats) = (subject.name(), subject.stats());
        eprintln!("soak: {name}: {stats:?}");
        figure(&format!("{name}: watches"), stats.watches);
        figure(&format!("{name}: events"), stats.watch_events);
        assert_eq!((stats.decode_errors, stats.index_errors), (0, 0), "{name}");
        for (label, told) in subject.told() {
            eprintln!(
                "soak: {label}: told {told:?} (all, added, updated, deleted, missed deletions, other uids)"
            );
            figure(&format!("{label}: told"), told[0]);
        }
    }
    let relists = subjects.iter().map(|subject| subject.stats().relists());
    figure("relists", relists.sum());
    let sum = |position: usize| {
        subjects
            .iter()
            .flat_map(|subject| subject.told())
            .map(|(_, told)| told[position])
            .sum()
    };
    figure("told: added", sum(1));
    figure("told: updated", sum(2));
    figure("told: deleted", sum(3));
    figure("told: missed deletions", sum(4));
    figure("told: other uids", sum(5));
    let (all, kept) = subjects
        .first()
        .map(|subject| (subject.stats().bytes, subject.stats().kept_bytes))
        .expect("one");
    figure("bytes that compression saved", all.saturating_sub(kept) as u64);
    for (name, value) in &figures {
        eprintln!("soak: {name}: {value}");
    }
    // Whether a write falls into a restart is luck, and the less likely the slower the machine.
    let is_luck = |label: &str| label == FAILED_WRITES;
    let idle = figures
        .iter()
        .filter(|(label, value)| *value == 0 && !is_luck(label));
    let idle: Vec<_> = idle.collect();
    assert!(idle.is_empty(), "nothing was soaked: {idle:?}");
}

fn runtime() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
}

async fn config(identity: &Identity) -> Config {
    let kubeconfig = Kubeconfig::read_from(identity.kubeconfig()).expect("a kubeconfig");
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .expect("a configuration")
}

async fn client(identity: &Identity) -> Client {
    let mut config = config(identity).await;
    config.read_timeout = Some(Duration::from_secs(20));
    Client::try_from(config).expect("a client")
}

fn variable<T: FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is {text:?}, which is no number")),
    )
}
