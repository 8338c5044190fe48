//! Counts what the cache allocates for a listed object and a watch event, and compares that with stored figures.
//!
//! One thread and bytes from memory: the same figures on every machine. `cargo xtask bench --allocations`.

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

/// Figures are means of so many runs: tables hash with seeds of their own, and what displaces what in them is luck, which makes a tenth
/// more or less in one run.
const RUNS: u32 = 15;
const OBJECTS: u32 = 1000;
const EVENTS: u32 = 1000;
/// Who allocates nothing for so long is done.
const QUIET: Duration = Duration::from_millis(500);
/// How far figures may be from those stored, both ways: what became better is stored, too.
const TOLERANCE: f64 = 0.1;

#[derive(Parser)]
struct Arguments {
    /// The stored figures
    file: PathBuf,
    /// Compare with what is stored, and fail
    #[arg(long)]
    check: bool,
    /// Store
    #[arg(long, conflicts_with = "check")]
    update: bool,
}

/// By what was measured.
type Figures = BTreeMap<String, f64>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let mut figures = Figures::new();
    for _ in 0..RUNS {
        for (name, figure) in measure().await? {
            *figures.entry(name).or_default() += figure / f64::from(RUNS);
        }
    }
    for (name, figure) in &figures {
        println!("{name} = {figure:.1}");
    }
    if arguments.update {
        fs::write(&arguments.file, written(&figures))?;
    }
    if arguments.check {
        let stored = fs::read_to_string(&arguments.file);
        let stored = stored.with_context(|| format!("cannot read {}", arguments.file.display()))?;
        compare(&toml::from_str(&stored)?, &figures)?;
    }
    Ok(())
}

/// One list, then one event for each object.
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
    let (told, last) = (
        Arc::new(Notify::new()),
        kubewright_benches::pods::resource_version(OBJECTS + EVENTS),
    );
    let tell = told.clone();
    informer.add_sink(move |change| {
        if let kubewright::cache::Change::Updated { new, .. } = change
            && new.resource_version() == last
        {
            tell.notify_one();
        }
    });

    let mut region = Region::new(ALLOCATOR);
    informers.start();
    informers.wait_for_cache_sync().await;
    settle().await;
    let listed = region.change_and_reset();
    // Else it would be chance how many are taken along at once.
    source.send(events);
    told.notified().await;
    settle().await;
    let watched = region.change();
    let per = |count: usize, of: u32| {
        let count = f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        count / f64::from(of)
    };
    let kept = listed.bytes_allocated - listed.bytes_deallocated;
    informers.shutdown().await;
    drop((informers, informer));
    settle().await;
    Ok([
        (
            "allocations a listed object",
            per(listed.allocations + listed.reallocations, OBJECTS),
        ),
        (
            "bytes allocated a listed object",
            per(listed.bytes_allocated, OBJECTS),
        ),
        ("bytes kept a listed object", per(kept, OBJECTS)),
        (
            "allocations a watch event",
            per(watched.allocations + watched.reallocations, EVENTS),
        ),
        (
            "bytes allocated a watch event",
            per(watched.bytes_allocated, EVENTS),
        ),
    ]
    .map(|(name, figure)| (name.to_owned(), figure))
    .into())
}

/// Waits until nothing is allocated any more: what was told last may not be put away yet, and objects are compressed later.
async fn settle() {
    let mut before = ALLOCATOR.stats();
    loop {
        tokio::time::sleep(QUIET).await;
        let now = ALLOCATOR.stats();
        if now == before {
            return;
        }
        before = now;
    }
}

fn written(figures: &Figures) -> String {
    let lines = figures
        .iter()
        .map(|(name, figure)| format!("{name:?} = {figure:.1}\n"));
    let lines: String = lines.collect();
    format!(
        "# What the cache allocates: `cargo xtask bench --allocations --update` writes this file.\n{lines}"
    )
}

fn compare(stored: &Figures, figures: &Figures) -> Result<()> {
    let mut differ = 0;
    for (name, figure) in figures {
        let before = stored
            .get(name)
            .with_context(|| format!("{name:?} is not stored"))?;
        if (figure - before).abs() > TOLERANCE * before {
            eprintln!("{name}: {figure:.1}, stored are {before:.1}");
            differ += 1;
        }
    }
    ensure!(
        differ == 0,
        "{differ} figures are not within {:.0} % of those stored; when that is meant: cargo xtask bench --allocations --update",
        100.0 * TOLERANCE
    );
    Ok(())
}
