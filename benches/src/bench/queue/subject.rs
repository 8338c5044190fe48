//! The measurements of kubewright's work queue. `benches/go/queue.go` does the same with client-go's.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use clap::ValueEnum;
use kubewright::{
    NamespacedName,
    unstable::{NoQueueMetrics, QueueMetrics},
    workqueue::{ItemExponential, WorkQueue},
};
use tokio::task::{JoinSet, coop::consume_budget};

use crate::stopwatch::Stopwatch;

/// The measured cases. The names are also those of the Go program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Case {
    OneThread,
    OneAndOne,
    FourAndFour,
    RateLimited,
    Waiting,
    WaitingMetered,
    Delayed,
    Late,
}

impl Case {
    pub(crate) fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// Number of keys that the single thread adds at once.
const BATCH_KEYS: usize = 1000;

type Queue = Arc<WorkQueue<NamespacedName>>;

/// Runs a case. Returns CPU and wall-clock nanoseconds per key; for memory cases, bytes per key; for lateness, the 99th percentile and the
/// maximum in milliseconds.
pub(super) fn run_case(case: Case, keys: usize) -> Result<Vec<f64>> {
    let one = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    let many = tokio::runtime::Builder::new_multi_thread()
        .enable_time()
        .build()?;
    let _guard = many.enter();
    let keys = make_keys(keys);
    match case {
        Case::OneThread => one.block_on(one_thread(&keys)),
        Case::OneAndOne => many.block_on(tokio::spawn(producers_and_consumers(keys, 1, false)))?,
        Case::FourAndFour => many.block_on(tokio::spawn(producers_and_consumers(keys, 4, false)))?,
        Case::RateLimited => many.block_on(tokio::spawn(producers_and_consumers(keys, 1, true)))?,
        Case::Waiting => bytes_per_key(
            &keys,
            Arc::new(NoQueueMetrics),
            kubewright::workqueue::WorkQueue::add,
        ),
        Case::WaitingMetered => bytes_per_key(
            &keys,
            Arc::new(EnabledMetrics),
            kubewright::workqueue::WorkQueue::add,
        ),
        Case::Delayed => bytes_per_key(&keys, Arc::new(NoQueueMetrics), |queue, key| {
            queue.add_after(key, Duration::from_hours(1));
        }),
        Case::Late => many.block_on(tokio::spawn(lateness(keys)))?,
    }
}

struct EnabledMetrics;

impl QueueMetrics for EnabledMetrics {}

fn queue(metrics: Arc<dyn QueueMetrics>) -> Queue {
    let limiter = ItemExponential::new(Duration::from_millis(1), Duration::from_secs(1000));
    Arc::new(WorkQueue::with_metrics(Box::new(limiter), metrics))
}

fn make_keys(count: usize) -> Vec<NamespacedName> {
    (0..count)
        .map(|i| NamespacedName::namespaced(format!("namespace-{}", i % 100), format!("some-object-{i:07}")))
        .collect()
}

async fn one_thread(keys: &[NamespacedName]) -> Result<Vec<f64>> {
    let queue = queue(Arc::new(NoQueueMetrics));
    let stopwatch = Stopwatch::start()?;
    for batch in keys.chunks(BATCH_KEYS) {
        for key in batch {
            queue.add(key.clone());
        }
        for _ in batch {
            if let Some(key) = queue.get().await {
                queue.done(&key);
            }
        }
    }
    stopwatch.per_key(keys.len())
}

/// Runs `size` producers and `size` consumers, as tasks.
async fn producers_and_consumers(
    keys: Vec<NamespacedName>,
    size: usize,
    is_limited: bool,
) -> Result<Vec<f64>> {
    let (queue, count) = (queue(Arc::new(NoQueueMetrics)), keys.len());
    let parts: Vec<Vec<NamespacedName>> = keys.chunks(count.div_ceil(size)).map(<[_]>::to_vec).collect();
    drop(keys);
    let (mut producers, mut consumers) = (JoinSet::new(), JoinSet::new());
    let stopwatch = Stopwatch::start()?;
    for _ in 0..size {
        let queue = queue.clone();
        consumers.spawn(async move {
            while let Some(key) = queue.get().await {
                if is_limited {
                    queue.forget(&key);
                }
                queue.done(&key);
            }
        });
    }
    for part in parts {
        let queue = queue.clone();
        producers.spawn(async move {
            for key in &part {
                if is_limited {
                    queue.add_rate_limited(key.clone());
                } else {
                    queue.add(key.clone());
                }
                // Yield cooperatively, as the informers' task does when it calls sinks.
                consume_budget().await;
            }
            // Return the keys, so that they are freed after the measurement.
            part
        });
    }
    let parts = producers.join_all().await;
    while queue.stats().delayed > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    queue.shut_down();
    consumers.join_all().await;
    let figures = stopwatch.per_key(count);
    drop(parts);
    figures
}

/// Returns the resident bytes per key.
fn bytes_per_key(
    keys: &[NamespacedName],
    metrics: Arc<dyn QueueMetrics>,
    add: impl Fn(&WorkQueue<NamespacedName>, NamespacedName),
) -> Result<Vec<f64>> {
    let queue = queue(metrics);
    let before = resident_bytes()?;
    for key in keys {
        add(&queue, key.clone());
    }
    let after = resident_bytes()?;
    let stats = queue.stats();
    anyhow::ensure!(stats.depth + stats.delayed == keys.len(), "keys are missing");
    #[expect(clippy::cast_precision_loss, reason = "far from 2^52")]
    Ok(vec![(after - before) as f64 / keys.len() as f64])
}

fn resident_bytes() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kb: u64 = line
        .context("no RssAnon")?
        .trim_end_matches("kB")
        .trim()
        .parse()?;
    Ok(kb * 1024)
}

/// Returns by how many milliseconds keys are handed out late, with all keys due within one second.
async fn lateness(keys: Vec<NamespacedName>) -> Result<Vec<f64>> {
    /// Time to add all keys.
    const START_DELAY: Duration = Duration::from_millis(500);
    let queue = queue(Arc::new(NoQueueMetrics));
    let step = Duration::from_secs(1) / u32::try_from(keys.len())?;
    let mut due = std::collections::HashMap::new();
    let first = Instant::now() + START_DELAY;
    for (i, key) in keys.iter().enumerate() {
        let due_time = first + step * u32::try_from(i)?;
        due.insert(key.clone(), due_time);
        queue.add_after(key.clone(), due_time.saturating_duration_since(Instant::now()));
    }
    let mut lateness = Vec::with_capacity(keys.len());
    while lateness.len() < keys.len() {
        let key = queue.get().await.context("the queue ended")?;
        let now = Instant::now();
        lateness.push(now.saturating_duration_since(due[&key]));
        queue.done(&key);
    }
    lateness.sort_unstable();
    let percentile = |percent: usize| lateness[(lateness.len() - 1) * percent / 100].as_secs_f64() * 1e3;
    Ok(vec![percentile(99), percentile(100)])
}
