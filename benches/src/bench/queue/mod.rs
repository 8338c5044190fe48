//! What the work queue costs, beside client-go's: each measurement a process of its own, in turn.

mod subject;

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use clap::{Args, Subcommand};
use kubewright_benches::{median, report};

pub(crate) use subject::Case;

/// What `bench queue` is told.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    one: Option<One>,
    /// The Go program
    #[arg(long)]
    peers: Option<PathBuf>,
    /// How many keys go through the queue
    #[arg(long, default_value_t = 1_000_000)]
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
    /// Measures one case and prints its figure
    Case { case: Case, keys: usize },
}

/// What is measured: the case, what part of the keys it takes, its figures and how many decimals they have.
const CASES: [(Case, usize, &[&str], usize); 8] = [
    (
        Case::OneThread,
        1,
        &["add, get, done, one thread: CPU ns a key", "… on the clock"],
        0,
    ),
    (
        Case::OneAndOne,
        1,
        &["… 1 producer, 1 consumer: CPU ns a key", "… on the clock"],
        0,
    ),
    (
        Case::FourAndFour,
        1,
        &["… 4 producers, 4 consumers: CPU ns a key", "… on the clock"],
        0,
    ),
    (
        Case::RateLimited,
        1,
        &["… 1 and 1, rate limited: CPU ns a key", "… on the clock"],
        0,
    ),
    (Case::Waiting, 10, &["bytes a waiting key"], 0),
    (
        Case::WaitingMetered,
        10,
        &["bytes a waiting key, with metrics"],
        0,
    ),
    (Case::Delayed, 10, &["bytes a delayed key"], 0),
    (
        Case::Late,
        10,
        &["keys due within a second: p99 ms late", "… the worst, ms late"],
        2,
    ),
];

pub(crate) fn measure(arguments: &Arguments) -> Result<()> {
    if let Some(One::Case { case, keys }) = arguments.one {
        let figures = subject::run(case, keys)?;
        let texts: Vec<String> = figures.iter().map(f64::to_string).collect();
        println!("{}", texts.join(" "));
        return Ok(());
    }
    let peers = arguments
        .peers
        .as_deref()
        .context("--peers says where the Go program is")?;
    let this = std::env::current_exe()?;
    let mut figures = CASES.map(|_| [Vec::new(), Vec::new()]);
    for _ in 0..arguments.rounds {
        for ((case, part, ..), [ours, theirs]) in CASES.iter().zip(&mut figures) {
            let keys = arguments.keys / part;
            ours.push(run(&this, &["queue", "case"], *case, keys)?);
            theirs.push(run(peers, &["queue"], *case, keys)?);
        }
    }
    let rows = CASES
        .iter()
        .zip(&figures)
        .flat_map(|((_, part, names, decimals), [ours, theirs])| {
            names.iter().enumerate().map(move |(i, name)| {
                let of = |runs: &[Vec<f64>]| median(runs.iter().filter_map(|run| run.get(i).copied()));
                let (keys, ours, theirs) = (arguments.keys / part, of(ours), of(theirs));
                format!(
                    "| {name} | {keys} | {ours:.decimals$} | {theirs:.decimals$} | {:.2}× |\n",
                    ours / theirs
                )
            })
        });
    let text = format!(
        "{}\n\n{}.\n\n| | keys | kubewright | client-go | ratio |\n|---|---:|---:|---:|---:|\n{}",
        report::machine(),
        report::conditions(arguments.rounds),
        rows.collect::<String>()
    );
    println!("{text}");
    match &arguments.write {
        Some(file) => report::replace(file, "queue", &text),
        None => Ok(()),
    }
}

/// The figures that a program prints for a case.
fn run(program: &Path, first: &[&str], case: Case, keys: usize) -> Result<Vec<f64>> {
    let name = case.name();
    let output = Command::new(program)
        .args(first)
        .args([&name, &keys.to_string()])
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run {}", program.display()))?;
    ensure!(
        output.status.success(),
        "{} {name}: {}",
        program.display(),
        output.status
    );
    let text = String::from_utf8_lossy(&output.stdout);
    eprintln!("{name}: {}: {}", program.display(), text.trim());
    text.split_whitespace()
        .map(|figure| Ok(figure.parse()?))
        .collect()
}
