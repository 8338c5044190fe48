//! Soak test of the cache: writers change objects at random while connections are cut, stalled and refused, the history is compacted,
//! and the API server is killed and restarted. In the end the cache must equal the server, every handler must have received a gap-free
//! sequence of events for each object, and no task, file descriptor or memory may leak.
//!
//! The test runs against the real API server, including its watch cache, and against the embedded one. The embedded server runs in the
//! test's process and keeps its objects in memory, so it becomes unreachable instead of being killed.
//!
//! `KUBEWRIGHT_SOAK_SECONDS` sets the duration (default 10). `KUBEWRIGHT_SOAK_SEED` repeats the random choices of a run,
//! but not the timing of its threads.

#![expect(
    clippy::expect_used,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a test that cannot continue panics with a reason, and its numbers are small"
)]

mod disruptions;
mod event_checker;
mod process_stats;
mod subject;
mod workload;

use std::{
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use event_checker::Violations;
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use kubewright::{
    ApiResource, Scope,
    cache::{InformerOptions, SharedInformerFactory, StorageMode, Transform, list_watch::QueueKind},
    client::Connection,
};
use kubewright_testkit::{Cluster, ControlPlane, Identity, eventually};
use process_stats::MemorySamples;
use serde_json::Value;
use subject::{AnySubject, Subject};
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinHandle,
};
use workload::{NAMESPACES, ResourceKind, ServerObjects, Workload};

const FAILED_WRITES: &str = "failed requests of writers";
const WRITERS: u64 = 4;

/// Longest wait until all informers are up to date: a reflector with many refused connections backs off for up to a minute.
const SETTLE_TIMEOUT: Duration = Duration::from_mins(3);

/// By how many bytes the allocated memory may grow between two idle moments: one in the middle of a run and one at its end.
///
/// When idle, every handler has received all events: the notification rings are empty, and the backlog of slow handlers (most of a run's
/// memory on a busy machine) is gone. The number of objects is constant from the start, and they take a few megabytes per informer.
/// With a million events between the two moments of a 20-minute run, a leak of 16 bytes per event exceeds this limit.
const MAX_ALLOCATED_GROWTH_BYTES: u64 = 16 << 20;

mod embedded {
    use kubewright_testkit::{Failure, Fault, RequestMatcher};

    #[test]
    fn cache_equals_the_server_after_disruptions() {
        let cluster = kubewright_tests::embedded();
        // Here writers use connections that are not disrupted; inject failures so that some of their requests fail, as in an outage.
        let (patches, refused) = (RequestMatcher::verb("patch"), Fault::Respond(Failure::internal()));
        cluster.faults().with_probability(0.05, 1, patches, refused);
        super::run_with_checks(&cluster);
    }
}

mod real {
    use super::{Cluster, ControlPlane};

    #[test]
    #[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
    fn cache_equals_the_server_after_disruptions() {
        let plane = ControlPlane::builder()
            // Serve Secrets from etcd without a watch cache, so that a compaction takes effect at once. Disable the audit log.
            .api_server_arg("--watch-cache-sizes=secrets#0")
            .api_server_arg("--audit-log-path=");
        super::run_with_checks(&Cluster::start_real(plane).expect("a control plane"));
    }
}

fn run_with_checks(cluster: &Cluster) {
    let seconds: u64 = env_variable("KUBEWRIGHT_SOAK_SECONDS").unwrap_or(10);
    let seed: u64 = env_variable("KUBEWRIGHT_SOAK_SEED").unwrap_or_else(rand::random);
    eprintln!("soak: {seconds} s, KUBEWRIGHT_SOAK_SEED={seed}");
    for namespace in NAMESPACES {
        cluster.create_namespace(namespace).expect("a namespace");
    }
    let widgets: Value = serde_json::from_str(workload::WIDGET_CRD).expect("JSON");
    cluster.install_crd(&widgets).expect("the CRD is installed");

    // The first tokio runtime of a process opens descriptors that stay open for all later runtimes.
    drop(runtime());
    let descriptors = process_stats::descriptors();
    let violations = Arc::new(Violations::default());
    soak(cluster, seconds, seed, &violations);
    eventually(
        "all file descriptors are closed",
        Duration::from_secs(20),
        || match process_stats::descriptors() {
            now if now.len() <= descriptors.len() => Ok(()),
            now => Err(format!("{now:#?} instead of {descriptors:#?}")),
        },
    );
    violations.assert_none();
}

fn soak(cluster: &Cluster, seconds: u64, seed: u64, violations: &Arc<Violations>) {
    let writer_runtime = runtime();
    let workload = Arc::new(Workload::new(
        writer_runtime.block_on(client(cluster.admin())),
        seed,
    ));
    let stop_writing = || workload.stop.store(true, Ordering::Relaxed);
    let finish = |tasks: Vec<JoinHandle<()>>| {
        writer_runtime
            .block_on(try_join_all(tasks))
            .expect("the writers do not panic")
    };
    let fill = |namespace| {
        let workload = workload.clone();
        writer_runtime.spawn(async move { workload.fill(namespace).await })
    };
    finish(NAMESPACES.map(fill).into());
    let write = |writer| {
        let workload = workload.clone();
        writer_runtime.spawn(async move { workload.run_writer(writer).await })
    };
    let writers = (0..WRITERS).map(write).collect();

    // Only the informers under test, their handlers and readers run in this runtime.
    let informer_runtime = runtime();
    let tasks = || informer_runtime.metrics().num_alive_tasks();
    assert_eq!(tasks(), 0);
    let proxy = cluster.proxy().expect("a proxy");
    let through = cluster.admin().via_proxy(&proxy).expect("a kubeconfig");
    let config = informer_runtime.block_on(config(&through));
    let factory = {
        let _entered = informer_runtime.enter();
        SharedInformerFactory::new(Connection::connect(config, "soak").expect("a connection"))
    };
    let mut subjects = subjects(&factory, violations);
    informer_runtime.block_on(async { factory.start() });
    // The queue kind applies to informers that start from now on.
    factory.set_queue(QueueKind::DeltaFifo);
    subjects.push(delta_fifo_subject(&factory, violations));
    informer_runtime.block_on(async { factory.start() });
    informer_runtime
        .block_on(async { tokio::time::timeout(SETTLE_TIMEOUT, factory.wait_for_cache_sync()).await })
        .expect("the informers sync in time");

    let pace = Duration::from_secs(seconds.min(60)) / 60;
    let (stop, reads) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let readers: Vec<_> = subjects
        .iter()
        .zip(seed..)
        .map(|(subject, seed)| informer_runtime.spawn(subject.reader(seed, stop.clone(), reads.clone())))
        .collect();
    let (disruption_counts, memory, middle_bytes) = thread::scope(|scope| {
        let begun = Instant::now();
        // The scope joins its threads even if the test fails, so they must be stopped then, too.
        let stop_on_drop = StopOnDrop(&stop);
        let memory = scope.spawn(|| MemorySamples::watch(&stop));
        let disruptions = scope.spawn(|| disruptions::run(cluster, &proxy, seed, pace, &stop));
        let wait_until = |part: f64| {
            let at = Duration::from_secs(seconds).mul_f64(part);
            thread::sleep(at.saturating_sub(begun.elapsed()));
        };
        wait_until(0.2);
        for subject in &mut subjects {
            subject.add_late_handler("late");
        }
        wait_until(0.3);
        for subject in &mut subjects {
            subject.remove_handler();
        }
        wait_until(0.4);
        for subject in &mut subjects {
            subject.store_removed_count();
            subject.add_late_handler("later");
        }
        wait_until(0.5);
        let (_, middle_bytes) = settle(cluster, &writer_runtime, &workload, &subjects);
        wait_until(1.0);
        drop(stop_on_drop);
        let disruption_counts = disruptions.join().expect("the disruptions do not panic");
        (
            disruption_counts,
            memory.join().expect("the memory sampling does not panic"),
            middle_bytes,
        )
    });
    stop_writing();
    finish(writers);
    informer_runtime.block_on(async {
        for reader in readers {
            reader.await.expect("the readers do not panic");
        }
    });

    let (served, end_bytes) = settle(cluster, &writer_runtime, &workload, &subjects);
    violations.assert_none();
    thread::sleep(Duration::from_secs(1));
    for subject in &subjects {
        subject
            .compare(&served)
            .expect("the informers stay equal to the server");
    }

    report(
        &workload,
        &disruption_counts,
        &subjects,
        reads.load(Ordering::Relaxed),
        &served,
    );
    let [live, resident] = memory.peaks();
    eprintln!(
        "soak: memory: {} KiB live in the middle, {} KiB live at the end; peaks: {} MiB live, {} MiB resident",
        middle_bytes >> 10,
        end_bytes >> 10,
        live >> 20,
        resident >> 20
    );
    assert!(
        end_bytes < middle_bytes + MAX_ALLOCATED_GROWTH_BYTES,
        "allocated memory grew from {middle_bytes} to {end_bytes} bytes"
    );

    informer_runtime
        .block_on(async { tokio::time::timeout(Duration::from_secs(20), factory.shutdown()).await })
        .expect("the informers stop in time");
    drop((factory, subjects));
    // Closes connections that are kept alive for the next request.
    drop(proxy);
    eventually("all tasks have ended", Duration::from_secs(20), || {
        match tasks() {
            0 => Ok(()),
            alive => Err(format!("{alive} tasks are still alive")),
        }
    });
}

/// Sets the stop flag of all threads when it is dropped.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Stops the writers and waits until all informers and handlers are up to date. Returns the server's objects and the number of
/// allocated bytes at that moment.
fn settle(
    cluster: &Cluster,
    writer_runtime: &Runtime,
    workload: &Workload,
    subjects: &[Box<dyn AnySubject>],
) -> (ServerObjects, u64) {
    let _no_writes = writer_runtime.block_on(workload.write_barrier.write());
    let begun = Instant::now();
    if let Some(server) = cluster.embedded_server() {
        // The server's history and audit log are in the same process and grow with each write up to their limits; drop them, since
        // they are not under test.
        cluster.compact_history().expect("the history is compacted");
        server.audit().clear();
    }
    // The API server may be restarting.
    let served = eventually("a list from the API server", SETTLE_TIMEOUT, || {
        writer_runtime
            .block_on(workload.list())
            .map_err(|error| error.to_string())
    });
    for subject in subjects {
        eventually(
            &format!("{} equals the server", subject.name()),
            SETTLE_TIMEOUT,
            || subject.compare(&served),
        );
    }
    eprintln!(
        "soak: all informers are up to date after {:.1} s",
        begun.elapsed().as_secs_f64()
    );
    (served, process_stats::live_bytes())
}

fn subjects(factory: &SharedInformerFactory, violations: &Arc<Violations>) -> Vec<Box<dyn AnySubject>> {
    let default = InformerOptions::default;
    let raw = InformerOptions {
        storage: StorageMode::Raw,
        ..default()
    };
    // The next two leave out only fields that no object has, so objects must be equal to the server's.
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
    let two_namespaces = NAMESPACES[..2].iter().map(ToString::to_string).collect();
    let two_namespaces = InformerOptions {
        namespaces: Some(two_namespaces),
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
        ("two namespaces", two_namespaces),
        ("decoded", decoded),
    ];
    let config_maps =
        config_maps.map(|(name, options)| config_map_subject(name, options, factory, violations));
    let others: [Box<dyn AnySubject>; 3] = [
        Box::new(Subject::new(
            "metadata",
            ResourceKind::ConfigMap,
            factory.metadata_only::<ConfigMap>(),
            violations,
        )),
        Box::new(Subject::new(
            "secrets",
            ResourceKind::Secret,
            factory.of::<Secret>(),
            violations,
        )),
        Box::new(Subject::new(
            "dynamic",
            ResourceKind::Widget,
            factory.dynamic(widget, default()),
            violations,
        )),
    ];
    config_maps.into_iter().chain(others).collect()
}

fn config_map_subject(
    name: &'static str,
    options: InformerOptions,
    factory: &SharedInformerFactory,
    violations: &Arc<Violations>,
) -> Box<dyn AnySubject> {
    let informer = factory.with::<ConfigMap>(options);
    Box::new(Subject::new(name, ResourceKind::ConfigMap, informer, violations))
}

fn delta_fifo_subject(factory: &SharedInformerFactory, violations: &Arc<Violations>) -> Box<dyn AnySubject> {
    let options = InformerOptions {
        field_selector: Some("metadata.namespace!=elsewhere".into()),
        ..InformerOptions::default()
    };
    config_map_subject("delta fifo", options, factory, violations)
}

/// Prints the counters of the run, and panics if one of them is zero: then the run did not test anything in that respect.
fn report(
    workload: &Workload,
    disruption_counts: &disruptions::DisruptionCounts,
    subjects: &[Box<dyn AnySubject>],
    reads: u64,
    served: &ServerObjects,
) {
    let mut counters: Vec<(String, u64)> = Vec::new();
    let mut add_counter = |name: &str, value: u64| counters.push((name.to_owned(), value));
    let counts = &workload.counts;
    for (name, counter) in [
        ("created", &counts.created),
        ("updated", &counts.updated),
        ("deleted", &counts.deleted),
        ("deleted and recreated", &counts.recreated),
        ("bytes of text written", &counts.bytes),
        (FAILED_WRITES, &counts.failed),
    ] {
        add_counter(name, counter.load(Ordering::Relaxed));
    }
    add_counter("connections cut", disruption_counts.cuts as u64);
    add_counter("times connections were held", disruption_counts.holds);
    add_counter("times connections were refused", disruption_counts.refusals);
    add_counter("compactions", disruption_counts.compactions);
    add_counter("outages of the API server", disruption_counts.outages);
    add_counter("reads", reads);
    for (kind, objects) in served {
        add_counter(&format!("{kind:?}s at the end"), objects.len() as u64);
    }
    for subject in subjects {
        let (name, stats) = (subject.name(), subject.stats());
        eprintln!("soak: {name}: {stats:?}");
        add_counter(&format!("{name}: watches"), stats.watches);
        add_counter(&format!("{name}: events"), stats.watch_events);
        assert_eq!((stats.decode_errors, stats.index_errors), (0, 0), "{name}");
        for (label, event_counts) in subject.event_counts() {
            eprintln!(
                "soak: {label}: events {event_counts:?} (all, added, updated, deleted, missed deletions, uid changes)"
            );
            add_counter(&format!("{label}: events"), event_counts[0]);
        }
    }
    let relists = subjects.iter().map(|subject| subject.stats().relists());
    add_counter("relists", relists.sum());
    let sum = |position: usize| {
        subjects
            .iter()
            .flat_map(|subject| subject.event_counts())
            .map(|(_, event_counts)| event_counts[position])
            .sum()
    };
    add_counter("events: added", sum(1));
    add_counter("events: updated", sum(2));
    add_counter("events: deleted", sum(3));
    add_counter("events: missed deletions", sum(4));
    add_counter("events: uid changes", sum(5));
    let (all, kept) = subjects
        .first()
        .map(|subject| (subject.stats().bytes, subject.stats().kept_bytes))
        .expect("there is a subject");
    add_counter("bytes saved by compression", all.saturating_sub(kept) as u64);
    for (name, value) in &counters {
        eprintln!("soak: {name}: {value}");
    }
    // Whether a write fails during a restart is chance; it is less likely on a slow machine.
    let is_optional = |label: &str| label == FAILED_WRITES;
    let idle = counters
        .iter()
        .filter(|(label, value)| *value == 0 && !is_optional(label));
    let idle: Vec<_> = idle.collect();
    assert!(idle.is_empty(), "these counters are zero: {idle:?}");
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

fn env_variable<T: FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is {text:?}, which is not a number")),
    )
}
