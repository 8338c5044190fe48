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

pub(super) async fn table(running: &Running, time: Duration) -> String {
    let (told, mut seen) = mpsc::unbounded_channel();
    let sink = running.informer.add_sink(move |change| {
        if let Change::Updated { new, .. } = change {
            // Nobody listens any more when all was measured.
            let _ = told.send((parse_resource_version(new.resource_version()), Instant::now()));
        }
    });
    let list_time = list_time(&running.informer.lister());
    let mut version = running.objects;
    let mut rows = Vec::new();
    for (crowd, name) in [
        (Crowd::Nobody, "nobody else"),
        (Crowd::Computes, "80 threads that compute as long"),
        (Crowd::Lists, "80 threads that list everything"),
    ] {
        let stop = Arc::new(AtomicBool::new(false));
        let crowd = gather(crowd, &running.informer.lister(), list_time, &stop);
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
                    delays.push(at - sent);
                    break;
                }
            }
            sleep(PAUSE).await;
        }
        stop.store(true, Ordering::Relaxed);
        let lists: usize = crowd.into_iter().filter_map(|thread| thread.join().ok()).sum();
        delays.sort_unstable();
        let quantile = |percent: usize| {
            let delay = delays
                .get(delays.len() * percent / 100)
                .copied()
                .unwrap_or_default();
            format!("{:.0}", delay.as_secs_f64() * 1e6)
        };
        rows.push(format!(
            "| {name} | {lists} | {} | {} | {} |\n",
            delays.len(),
            quantile(50),
            quantile(99)
        ));
    }
    sink.remove();
    format!(
        "| meanwhile | lists | events | delay of an event, p50 µs | p99 µs |\n|---|---:|---:|---:|---:|\n{}",
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
