//! Our side of a measurement.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use clap::ValueEnum;
use kubewright::{
    NamespacedName,
    workqueue::{ItemExponential, NoQueueMetrics, QueueMetrics, WorkQueue},
};
use tokio::task::{JoinSet, coop::consume_budget};

use crate::stopwatch::Stopwatch;

/// What is measured.
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

/// One thread has so many keys in the queue at once.
const AT_ONCE: usize = 1000;

type Queue = Arc<WorkQueue<NamespacedName>>;

/// The figures of a case: of those that take time, CPU and clock; of lateness, the 99th percentile and the worst.
pub(super) fn run(case: Case, keys: usize) -> Result<Vec<f64>> {
    let one = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    let many = tokio::runtime::Builder::new_multi_thread()
        .enable_time()
        .build()?;
    let _guard = many.enter();
    let keys = names(keys);
    match case {
        Case::OneThread => one.block_on(one_thread(&keys)),
        Case::OneAndOne => many.block_on(tokio::spawn(crowd(keys, 1, false)))?,
        Case::FourAndFour => many.block_on(tokio::spawn(crowd(keys, 4, false)))?,
        Case::RateLimited => many.block_on(tokio::spawn(crowd(keys, 1, true)))?,
        Case::Waiting => bytes(
            &keys,
            Arc::new(NoQueueMetrics),
            kubewright::workqueue::WorkQueue::add,
        ),
        Case::WaitingMetered => bytes(&keys, Arc::new(Counted), kubewright::workqueue::WorkQueue::add),
        Case::Delayed => bytes(&keys, Arc::new(NoQueueMetrics), |queue, key| {
            queue.add_after(key, Duration::from_hours(1));
        }),
        Case::Late => many.block_on(tokio::spawn(late(keys)))?,
    }
}

struct Counted;

impl QueueMetrics for Counted {}

fn queue(metrics: Arc<dyn QueueMetrics>) -> Queue {
    let limiter = ItemExponential::new(Duration::from_millis(1), Duration::from_secs(1000));
    Arc::new(WorkQueue::new(Box::new(limiter), metrics))
}

fn names(count: usize) -> Vec<NamespacedName> {
    (0..count)
        .map(|i| NamespacedName::namespaced(format!("namespace-{}", i % 100), format!("some-object-{i:07}")))
        .collect()
}

async fn one_thread(keys: &[NamespacedName]) -> Result<Vec<f64>> {
    let queue = queue(Arc::new(NoQueueMetrics));
    let watch = Stopwatch::start()?;
    for some in keys.chunks(AT_ONCE) {
        for key in some {
            queue.add(key.clone());
        }
        for _ in some {
            if let Some(key) = queue.get().await {
                queue.done(&key);
            }
        }
    }
    watch.each(keys.len())
}

/// Producers and as many consumers, all of them tasks.
async fn crowd(keys: Vec<NamespacedName>, size: usize, is_limited: bool) -> Result<Vec<f64>> {
    let (queue, count) = (queue(Arc::new(NoQueueMetrics)), keys.len());
    let parts: Vec<Vec<NamespacedName>> = keys.chunks(count.div_ceil(size)).map(<[_]>::to_vec).collect();
    drop(keys);
    let (mut producers, mut consumers) = (JoinSet::new(), JoinSet::new());
    let watch = Stopwatch::start()?;
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
                // As whoever calls sinks does.
                consume_budget().await;
            }
            // Freed when nobody measures any more.
            part
        });
    }
    let parts = producers.join_all().await;
    while queue.stats().delayed > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    queue.shut_down();
    consumers.join_all().await;
    let figures = watch.each(count);
    drop(parts);
    figures
}

/// Resident bytes a key.
fn bytes(
    keys: &[NamespacedName],
    metrics: Arc<dyn QueueMetrics>,
    add: impl Fn(&WorkQueue<NamespacedName>, NamespacedName),
) -> Result<Vec<f64>> {
    let queue = queue(metrics);
    let before = resident()?;
    for key in keys {
        add(&queue, key.clone());
    }
    let after = resident()?;
    let stats = queue.stats();
    anyhow::ensure!(stats.depth + stats.delayed == keys.len(), "keys are missing");
    #[expect(clippy::cast_precision_loss, reason = "far from 2^52")]
    Ok(vec![(after - before) as f64 / keys.len() as f64])
}

fn resident() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kb: u64 = line
        .context("no RssAnon")?
        .trim_end_matches("kB")
        .trim()
        .parse()?;
    Ok(kb * 1024)
}

/// How many milliseconds after its time a key comes, all keys due within one second.
async fn late(keys: Vec<NamespacedName>) -> Result<Vec<f64>> {
    /// Time to add them all.
    const HEAD_START: Duration = Duration::from_millis(500);
    let queue = queue(Arc::new(NoQueueMetrics));
    let step = Duration::from_secs(1) / u32::try_from(keys.len())?;
    let mut due = std::collections::HashMap::new();
    let first = Instant::now() + HEAD_START;
    for (i, key) in keys.iter().enumerate() {
        let at = first + step * u32::try_from(i)?;
        due.insert(key.clone(), at);
        queue.add_after(key.clone(), at.saturating_duration_since(Instant::now()));
    }
    let mut late = Vec::with_capacity(keys.len());
    while late.len() < keys.len() {
        let key = queue.get().await.context("the queue ended")?;
        let now = Instant::now();
        late.push(now.saturating_duration_since(due[&key]));
        queue.done(&key);
    }
    late.sort_unstable();
    let at = |percent: usize| late[(late.len() - 1) * percent / 100].as_secs_f64() * 1e3;
    Ok(vec![at(99), at(100)])
}
