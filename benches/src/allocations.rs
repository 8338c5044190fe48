//! Counts the cache's allocations per listed object and per watch event, and compares them with stored figures.
//!
//! It uses one thread and reads from memory, so the figures are the same on every machine. Run `cargo xtask bench --allocations`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program's output")]

use std::{alloc::System, collections::BTreeMap, fs, path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use clap::Parser;
use k8s_openapi::api::core::v1::Pod;
use kubewright::cache::SharedInformerFactory;
use kubewright_benches::{
    memory::{MemorySource, modified},
    pods::{APPS, DataSet, PodVersion, Pods},
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tokio::sync::Notify;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Number of runs; figures are their means. Hash tables use random seeds, so their evictions vary, which changes a figure by up to a tenth
/// from run to run.
const RUNS: u32 = 6;
const OBJECTS: u32 = 1000;
const EVENTS: u32 = 1000;
/// The cache is idle if it has allocated nothing for this time.
const IDLE_INTERVAL: Duration = Duration::from_millis(500);
/// Largest relative deviation from the stored figures, in either direction: improvements must be stored, too.
const MAX_DEVIATION: f64 = 0.1;

#[derive(Parser)]
struct Arguments {
    /// File with the stored figures
    file: PathBuf,
    /// Compare with the stored figures, and fail if one deviates
    #[arg(long)]
    check: bool,
    /// Store the figures
    #[arg(long, conflicts_with = "check")]
    update: bool,
}

/// Figures by name.
type Figures = BTreeMap<String, f64>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let figures = measure_means().await?;
    for (name, figure) in &figures {
        println!("{name} = {figure:.1}");
    }
    if arguments.update {
        fs::write(&arguments.file, to_toml(&figures))?;
    }
    if arguments.check {
        let stored = fs::read_to_string(&arguments.file);
        let stored = stored.with_context(|| format!("cannot read {}", arguments.file.display()))?;
        compare(&toml::from_str(&stored)?, &figures)?;
    }
    Ok(())
}

/// Returns the means of [`RUNS`] measurements.
async fn measure_means() -> Result<Figures> {
    let mut figures = Figures::new();
    for _ in 0..RUNS {
        for (name, figure) in measure().await? {
            *figures.entry(name).or_default() += figure / f64::from(RUNS);
        }
    }
    Ok(figures)
}

/// Measures one list, then one event for each object.
async fn measure() -> Result<Figures> {
    let pods = Pods::new(APPS, 1, DataSet::Pods)?;
    let source = MemorySource::new(&pods, OBJECTS);
    let events: Vec<Bytes> = (0..EVENTS)
        .map(|event| {
            let pod = PodVersion {
                ordinal: event % OBJECTS,
                version: OBJECTS + 1 + event,
            };
            modified(&pods, pod)
        })
        .collect();
    let informers = SharedInformerFactory::from_sources({
        let source = source.clone();
        move |_, _, _| Arc::new(source.clone())
    });
    let informer = informers.of::<Pod>();
    let (all_delivered, last_version) = (
        Arc::new(Notify::new()),
        kubewright_benches::pods::resource_version(OBJECTS + EVENTS),
    );
    let notify_delivered = all_delivered.clone();
    informer.add_sink(move |change| {
        if let kubewright::cache::Change::Updated { new, .. } = change
            && new.resource_version() == last_version
        {
            notify_delivered.notify_one();
        }
    });

    let mut region = Region::new(ALLOCATOR);
    informers.start();
    informers.wait_for_cache_sync().await;
    wait_until_idle().await;
    let listed = region.change_and_reset();
    // Send all events at once; otherwise the sizes of their batches would vary.
    source.send(events);
    all_delivered.notified().await;
    wait_until_idle().await;
    let watched = region.change();
    let per = |count: usize, of: u32| {
        let count = f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        count / f64::from(of)
    };
    let kept = listed.bytes_allocated - listed.bytes_deallocated;
    informers.shutdown().await;
    drop((informers, informer));
    wait_until_idle().await;
    Ok([
        (
            "allocations per listed object",
            per(listed.allocations + listed.reallocations, OBJECTS),
        ),
        (
            "bytes allocated per listed object",
            per(listed.bytes_allocated, OBJECTS),
        ),
        ("bytes kept per listed object", per(kept, OBJECTS)),
        (
            "allocations per watch event",
            per(watched.allocations + watched.reallocations, EVENTS),
        ),
        (
            "bytes allocated per watch event",
            per(watched.bytes_allocated, EVENTS),
        ),
    ]
    .map(|(name, figure)| (name.to_owned(), figure))
    .into())
}

/// Waits until the cache allocates nothing: after the last event is delivered, it may still store and compress objects.
async fn wait_until_idle() {
    let mut before = ALLOCATOR.stats();
    loop {
        tokio::time::sleep(IDLE_INTERVAL).await;
        let now = ALLOCATOR.stats();
        if now == before {
            return;
        }
        before = now;
    }
}

fn to_toml(figures: &Figures) -> String {
    let lines = figures
        .iter()
        .map(|(name, figure)| format!("{name:?} = {figure:.1}\n"));
    let lines: String = lines.collect();
    format!("# Allocations of the cache. Written by `cargo xtask bench --allocations --update`.\n{lines}")
}

fn compare(stored: &Figures, figures: &Figures) -> Result<()> {
    let mut deviations = 0;
    for (name, figure) in figures {
        let before = stored.get(name).with_context(|| {
            format!("no stored figure {name:?}: run cargo xtask bench --allocations --update")
        })?;
        if (figure - before).abs() > MAX_DEVIATION * before {
            eprintln!("{name}: {figure:.1}, stored: {before:.1}");
            deviations += 1;
        }
    }
    ensure!(
        deviations == 0,
        "{deviations} figures deviate by more than {:.0} % from the stored ones: if that is intended, run cargo xtask bench --allocations --update",
        100.0 * MAX_DEVIATION
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    // The only test of this program: allocations of a second one would be counted, too.
    #[tokio::test]
    async fn cache_allocates_as_often_as_stored() {
        let stored = include_str!("../allocations.toml");
        compare(&toml::from_str(stored).unwrap(), &measure_means().await.unwrap()).unwrap();
    }
}
