//! What a reconcile costs beside what it does: from the event to the call of a reconciler that does nothing, and back. No I/O: the objects
//! are there before. Each measurement is a process of its own, in turn.

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

/// What `bench reconcile` is told.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    one: Option<One>,
    /// The operator in Go
    #[arg(long)]
    go: Option<PathBuf>,
    /// How many keys are queued
    #[arg(long, default_value_t = 100_000)]
    keys: usize,
    /// How often everything is measured
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Put the table into this file, between its marks
    #[arg(long)]
    write: Option<PathBuf>,
}

#[derive(Subcommand)]
enum One {
    /// Measures one subject and prints its figures
    Subject { subject: Subject, keys: usize },
}

#[derive(Clone, Copy, ValueEnum)]
enum Subject {
    Kubewright,
    KubewrightLogged,
    KubeRuntime,
    KubeRuntimeLogged,
}

/// How many reconciles run at once, in each of the subjects.
const WORKERS: u16 = 64;
const PATIENCE: Duration = Duration::from_mins(2);

/// How often was reconciled.
static RECONCILES: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn measure(arguments: &Arguments) -> Result<()> {
    if let Some(One::Subject { subject, keys }) = arguments.one {
        let figures = match subject {
            Subject::Kubewright => kubewright::run(keys, false),
            Subject::KubewrightLogged => kubewright::run(keys, true),
            Subject::KubeRuntime => kube_runtime::run(keys, false),
            Subject::KubeRuntimeLogged => kube_runtime::run(keys, true),
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
        .context("--go says where the operator in Go is")?;
    let ours = |name| (this.as_path(), vec!["reconcile", "subject", name, &keys]);
    let subjects = [
        ("kubewright", ours("kubewright")),
        ("kubewright, with its log", ours("kubewright-logged")),
        ("kube-runtime", ours("kube-runtime")),
        ("kube-runtime, with a log", ours("kube-runtime-logged")),
        ("controller-runtime, with its log", (go, vec!["reconcile", &keys])),
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
    let of = |runs: &[Vec<f64>], i: usize| median(runs.iter().filter_map(|run| run.get(i).copied())) / 1e3;
    let first = of(&figures[0], 0);
    let rows = subjects.iter().zip(&figures).map(|((name, _), runs)| {
        let cpu = of(runs, 0);
        format!("| {name} | {cpu:.2} ({:.2}×) |\n", cpu / first)
    });
    let text = format!(
        "{}\n\n{} keys, {WORKERS} workers. {}.\n\n| | CPU µs a key |\n|---|---:|\n{}",
        report::machine(),
        arguments.keys,
        report::conditions(arguments.rounds),
        rows.collect::<String>()
    );
    println!("{text}");
    match &arguments.write {
        Some(file) => report::replace(file, "reconcile", &text),
        None => Ok(()),
    }
}

/// A small object, as the API server has it.
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

fn kind() -> String {
    let info = Widget::info();
    format!(
        r#""apiVersion":"{}","kind":"{}List""#,
        info.api_version(),
        info.kind
    )
}

/// Counts a reconcile.
fn reconciling() {
    RECONCILES.fetch_add(1, Ordering::Relaxed);
}

/// Waits, on a thread of its own, until so many were reconciled.
fn wait_for(reconciles: usize) -> Result<()> {
    until(|| Ok(RECONCILES.load(Ordering::Relaxed) >= reconciles))
}

fn until(is_so: impl Fn() -> Result<bool>) -> Result<()> {
    let start = Instant::now();
    while !is_so()? {
        let reconciles = RECONCILES.load(Ordering::Relaxed);
        ensure!(
            start.elapsed() < PATIENCE,
            "it hangs after {reconciles} reconciles"
        );
        sleep(Duration::from_millis(1));
    }
    Ok(())
}
