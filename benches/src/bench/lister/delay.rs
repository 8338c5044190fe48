//! Many readers: how long it takes from an event's arrival until a sink is told of it.
//!
//! Readers take processors away from the writer whatever they read. So there is a second crowd, which computes as long as the first
//! one reads and leaves the store alone: what remains between the two is the store's.

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

use super::Running;

const READERS: u32 = 80;
/// Each reader lists, then rests, so that all together keep less than one processor busy.
const BUSY: f64 = 0.4;
const PAUSE: Duration = Duration::from_millis(5);

/// What a crowd does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Crowd {
    Nobody,
    Computes,
    Lists,
}

/// A crowd, and how it was while it was there, round by round.
struct Row {
    crowd: Crowd,
    name: &'static str,
    lists: usize,
    events: usize,
    p50: Vec<f64>,
    p99: Vec<f64>,
}

pub(super) async fn table(running: &Running, time: Duration, rounds: usize) -> String {
    let (told, mut seen) = mpsc::unbounded_channel();
    let sink = running.informer.add_sink(move |change| {
        if let Change::Updated { new, .. } = change {
            // Nobody listens any more when all was measured.
            let _ = told.send((parse_resource_version(new.resource_version()), Instant::now()));
        }
    });
    let list_time = list_time(&running.informer.lister());
    let mut version = running.objects;
    let mut rows = [
        (Crowd::Nobody, "nobody else"),
        (Crowd::Computes, "80 threads that compute as long"),
        (Crowd::Lists, "80 threads that list everything"),
    ]
    .map(|(crowd, name)| Row {
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
            let crowd = gather(row.crowd, &running.informer.lister(), list_time, &stop);
            let mut delays = Vec::new();
            let end = Instant::now() + time;
            while Instant::now() < end {
                version += 1;
                let ordinal = version % running.objects;
                let line = modified(&running.pods, PodVersion { ordinal, version });
                let sent = Instant::now();
                running.source.send(vec![line]);
                while let Some((told, at)) = seen.recv().await {
                    if told == Some(version) {
                        delays.push((at - sent).as_secs_f64() * 1e6);
                        break;
                    }
                }
                sleep(PAUSE).await;
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
        "Medians of {rounds} interleaved rounds.\n\n| meanwhile | lists | events | delay of an event, p50 µs | p99 µs | p99 of the worst round \
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

/// The threads; each says how often it listed or computed.
fn gather(
    crowd: Crowd,
    lister: &Lister<Pod>,
    list_time: Duration,
    stop: &Arc<AtomicBool>,
) -> Vec<thread::JoinHandle<usize>> {
    let rest = list_time.mul_f64(f64::from(READERS) / BUSY);
    let threads = if crowd == Crowd::Nobody { 0 } else { READERS };
    let one = |number: u32| {
        let (lister, stop) = (lister.clone(), stop.clone());
        thread::spawn(move || {
            thread::sleep(rest * number / READERS);
            let mut count = 0;
            while !stop.load(Ordering::Relaxed) {
                if crowd == Crowd::Lists {
                    super::reads::walk(lister.list());
                } else {
                    let start = Instant::now();
                    while start.elapsed() < list_time {
                        std::hint::spin_loop();
                    }
                }
                count += 1;
                // Not longer than somebody waits for the end.
                thread::sleep(rest.min(Duration::from_secs(2)));
            }
            count
        })
    };
    (0..threads).map(one).collect()
}
