//! Measures the delay from an event's arrival to the call of a sink, while many threads read the store.
//!
//! Readers take processor time from the writer whatever they read. A second crowd computes for the same time without touching the store;
//! the difference between the two is the store's part of the delay.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::Pod;
use kubewright::cache::{Change, Lister};
use kubewright_benches::{
    median,
    memory::modified,
    pods::{PodVersion, parse_resource_version},
};
use tokio::{sync::mpsc, time::sleep};

use super::RunningInformer;

const CROWD_THREADS: u32 = 80;
/// How many processors all threads of a crowd together keep busy. Each thread lists, then sleeps.
const MAX_BUSY_PROCESSORS: f64 = 0.4;
const EVENT_INTERVAL: Duration = Duration::from_millis(5);

/// What the threads of a crowd do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CrowdKind {
    Empty,
    Computes,
    Lists,
}

/// A crowd, and the delays of events while it runs, by round.
struct DelayRow {
    crowd: CrowdKind,
    name: &'static str,
    lists: usize,
    events: usize,
    p50: Vec<f64>,
    p99: Vec<f64>,
}

pub(super) async fn table(running: &RunningInformer, time: Duration, rounds: usize) -> String {
    let (notified, mut notifications) = mpsc::unbounded_channel();
    let sink = running.informer.add_sink(move |change| {
        if let Change::Updated { new, .. } = change {
            // The receiver is dropped at the end of the measurement.
            let _ = notified.send((parse_resource_version(new.resource_version()), Instant::now()));
        }
    });
    let list_time = list_time(&running.informer.lister());
    let mut version = running.objects;
    let mut rows = [
        (CrowdKind::Empty, "no other threads"),
        (CrowdKind::Computes, "80 threads that compute for the same time"),
        (CrowdKind::Lists, "80 threads that list everything"),
    ]
    .map(|(crowd, name)| DelayRow {
        crowd,
        name,
        lists: 0,
        events: 0,
        p50: Vec::new(),
        p99: Vec::new(),
    });
    for _ in 0..rounds {
        for row in &mut rows {
            let stop = Arc::new(AtomicBool::new(false));
            let crowd = start_crowd(row.crowd, &running.informer.lister(), list_time, &stop);
            let mut delays = Vec::new();
            let end = Instant::now() + time;
            while Instant::now() < end {
                version += 1;
                let ordinal = version % running.objects;
                let line = modified(&running.pods, PodVersion { ordinal, version });
                let sent = Instant::now();
                running.source.send(vec![line]);
                while let Some((notified, at)) = notifications.recv().await {
                    if notified == Some(version) {
                        delays.push((at - sent).as_secs_f64() * 1e6);
                        break;
                    }
                }
                sleep(EVENT_INTERVAL).await;
            }
            stop.store(true, Ordering::Relaxed);
            row.lists += crowd
                .into_iter()
                .filter_map(|thread| thread.join().ok())
                .sum::<usize>();
            row.events += delays.len();
            delays.sort_unstable_by(f64::total_cmp);
            let quantile = |percent: usize| delays.get(delays.len() * percent / 100).copied();
            row.p50.extend(quantile(50));
            row.p99.extend(quantile(99));
        }
    }
    sink.remove();
    let rows = rows.map(|row| {
        let worst = row.p99.iter().copied().fold(0.0, f64::max);
        format!(
            "| {} | {} | {} | {:.0} | {:.0} | {worst:.0} |\n",
            row.name,
            row.lists,
            row.events,
            median(row.p50),
            median(row.p99),
        )
    });
    format!(
        "Medians of {rounds} interleaved rounds.\n\n| load | lists | events | event delay, p50 µs | p99 µs | p99 of the worst round \
         |\n|---|---:|---:|---:|---:|---:|\n{}",
        rows.concat()
    )
}

fn list_time(lister: &Lister<Pod>) -> Duration {
    let start = Instant::now();
    for _ in 0..5 {
        super::reads::walk(lister.list());
    }
    start.elapsed() / 5
}

/// Starts the threads of a crowd. Each returns how often it listed or computed.
fn start_crowd(
    crowd: CrowdKind,
    lister: &Lister<Pod>,
    list_time: Duration,
    stop: &Arc<AtomicBool>,
) -> Vec<thread::JoinHandle<usize>> {
    let pause = list_time.mul_f64(f64::from(CROWD_THREADS) / MAX_BUSY_PROCESSORS);
    let threads = if crowd == CrowdKind::Empty {
        0
    } else {
        CROWD_THREADS
    };
    let one = |number: u32| {
        let (lister, stop) = (lister.clone(), stop.clone());
        thread::spawn(move || {
            thread::sleep(pause * number / CROWD_THREADS);
            let mut count = 0;
            while !stop.load(Ordering::Relaxed) {
                if crowd == CrowdKind::Lists {
                    super::reads::walk(lister.list());
                } else {
                    let start = Instant::now();
                    while start.elapsed() < list_time {
                        std::hint::spin_loop();
                    }
                }
                count += 1;
                // Limit the sleep, so that threads stop soon after a round.
                thread::sleep(pause.min(Duration::from_secs(2)));
            }
            count
        })
    };
    (0..threads).map(one).collect()
}
