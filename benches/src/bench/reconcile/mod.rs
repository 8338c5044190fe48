//! Compares the overhead of a reconcile: the CPU time from an event to the call of a reconciler that does nothing, and back. There is no
//! I/O, since the objects are cached before. Each measurement is a process of its own; the subjects alternate.

mod kube_runtime;
mod kubewright;

use std::{
    path::PathBuf,
    process::{Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread::sleep,
    time::{Duration, Instant},
};

use ::kubewright::Kind as _;
use anyhow::{Context as _, Result, ensure};
use clap::{Args, Subcommand, ValueEnum};
use kube::core::ObjectMeta;
use kubewright_benches::{
    median, report,
    widget::{Widget, WidgetSpec},
};

/// Arguments of `bench reconcile`.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    one: Option<SingleSubject>,
    /// Path of the Go operator
    #[arg(long)]
    go: Option<PathBuf>,
    /// Number of keys
    #[arg(long, default_value_t = 100_000)]
    keys: usize,
    /// Number of rounds
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Write the table into this file, between its marks
    #[arg(long)]
    write: Option<PathBuf>,
}

#[derive(Subcommand)]
enum SingleSubject {
    /// Measures one subject and prints its figures
    Subject { subject: ReconcileSubject, keys: usize },
}

#[derive(Clone, Copy, ValueEnum)]
enum ReconcileSubject {
    Kubewright,
    KubewrightLogged,
    KubeRuntime,
    KubeRuntimeLogged,
}

/// Number of concurrent reconciles in each subject.
const WORKERS: u16 = 64;
const RECONCILE_TIMEOUT: Duration = Duration::from_mins(2);

/// Number of reconciles so far.
static RECONCILES: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn measure(arguments: &Arguments) -> Result<()> {
    if let Some(SingleSubject::Subject { subject, keys }) = arguments.one {
        let figures = match subject {
            ReconcileSubject::Kubewright => kubewright::run(keys, false),
            ReconcileSubject::KubewrightLogged => kubewright::run(keys, true),
            ReconcileSubject::KubeRuntime => kube_runtime::run(keys, false),
            ReconcileSubject::KubeRuntimeLogged => kube_runtime::run(keys, true),
        }?;
        let texts: Vec<String> = figures.iter().map(f64::to_string).collect();
        println!("{}", texts.join(" "));
        return Ok(());
    }
    compare(arguments)
}

fn compare(arguments: &Arguments) -> Result<()> {
    let (this, keys) = (std::env::current_exe()?, arguments.keys.to_string());
    let go = arguments
        .go
        .as_deref()
        .context("--go is missing: give the path of the Go operator")?;
    let ours = |name| (this.as_path(), vec!["reconcile", "subject", name, &keys]);
    let subjects = [
        ("kubewright", ours("kubewright")),
        ("kubewright, with logging", ours("kubewright-logged")),
        ("kube-runtime", ours("kube-runtime")),
        ("kube-runtime, with logging", ours("kube-runtime-logged")),
        ("controller-runtime, with logging", (go, vec!["reconcile", &keys])),
    ];
    let mut figures = vec![Vec::new(); subjects.len()];
    for _ in 0..arguments.rounds {
        for ((name, (program, words)), figures) in subjects.iter().zip(&mut figures) {
            let output = Command::new(program)
                .args(words)
                .stderr(Stdio::null())
                .output()
                .with_context(|| format!("cannot run {}", program.display()))?;
            ensure!(output.status.success(), "{name}: {}", output.status);
            let text = String::from_utf8_lossy(&output.stdout);
            eprintln!("{name}: {}", text.trim());
            let parsed: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
            figures.push(parsed?);
        }
    }
    let median_micros =
        |runs: &[Vec<f64>], i: usize| median(runs.iter().filter_map(|run| run.get(i).copied())) / 1e3;
    let first = median_micros(&figures[0], 0);
    let rows = subjects.iter().zip(&figures).map(|((name, _), runs)| {
        let cpu = median_micros(runs, 0);
        format!("| {name} | {cpu:.2} ({:.2}×) |\n", cpu / first)
    });
    let text = format!(
        "{}\n\n{} keys, {WORKERS} workers. {}.\n\n| | CPU µs per key |\n|---|---:|\n{}",
        report::machine(),
        arguments.keys,
        report::conditions(arguments.rounds),
        rows.collect::<String>()
    );
    println!("{text}");
    match &arguments.write {
        Some(file) => report::replace_section(file, "reconcile", &text),
        None => Ok(()),
    }
}

/// Returns a small object as the API server would send it.
fn widget(number: usize) -> Widget {
    Widget {
        metadata: ObjectMeta {
            name: Some(format!("widget-{number:06}")),
            namespace: Some(format!("namespace-{}", number % 100)),
            uid: Some(format!("00000000-0000-4000-8000-{number:012}")),
            resource_version: Some((number + 1).to_string()),
            generation: Some(1),
            ..ObjectMeta::default()
        },
        ..Widget::new("", WidgetSpec::default())
    }
}

fn list_type_fields() -> String {
    let info = Widget::info();
    format!(
        r#""apiVersion":"{}","kind":"{}List""#,
        info.api_version(),
        info.kind
    )
}

/// Counts a reconcile.
fn count_reconcile() {
    RECONCILES.fetch_add(1, Ordering::Relaxed);
}

/// Blocks the thread until the number of reconciles is reached.
fn wait_for_reconciles(reconciles: usize) -> Result<()> {
    wait_until(|| Ok(RECONCILES.load(Ordering::Relaxed) >= reconciles))
}

fn wait_until(condition: impl Fn() -> Result<bool>) -> Result<()> {
    let start = Instant::now();
    while !condition()? {
        let reconciles = RECONCILES.load(Ordering::Relaxed);
        ensure!(
            start.elapsed() < RECONCILE_TIMEOUT,
            "no further progress after {reconciles} reconciles"
        );
        sleep(Duration::from_millis(1));
    }
    Ok(())
}
