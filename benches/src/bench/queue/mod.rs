//! Compares the work queue with client-go's. Each measurement is a process of its own; the two alternate.

mod subject;

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use clap::{Args, Subcommand};
use kubewright_benches::{median, report};

pub(crate) use subject::Case;

/// Arguments of `bench queue`.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    one: Option<SingleCase>,
    /// Path of the Go program of `benches/go`
    #[arg(long)]
    peers: Option<PathBuf>,
    /// Number of keys
    #[arg(long, default_value_t = 1_000_000)]
    keys: usize,
    /// Number of rounds
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Write the table into this file, between its marks
    #[arg(long)]
    write: Option<PathBuf>,
}

#[derive(Subcommand)]
enum SingleCase {
    /// Measures one case and prints its figures
    Case { case: Case, keys: usize },
}

/// All cases: the case, the divisor of the number of keys, the names of its figures, and their number of decimals.
const CASES: [(Case, usize, &[&str], usize); 8] = [
    (
        Case::OneThread,
        1,
        &[
            "add, get, done, one thread: CPU ns per key",
            "… wall-clock ns per key",
        ],
        0,
    ),
    (
        Case::OneAndOne,
        1,
        &[
            "… 1 producer, 1 consumer: CPU ns per key",
            "… wall-clock ns per key",
        ],
        0,
    ),
    (
        Case::FourAndFour,
        1,
        &[
            "… 4 producers, 4 consumers: CPU ns per key",
            "… wall-clock ns per key",
        ],
        0,
    ),
    (
        Case::RateLimited,
        1,
        &[
            "… 1 and 1, rate limited: CPU ns per key",
            "… wall-clock ns per key",
        ],
        0,
    ),
    (Case::Waiting, 10, &["bytes per waiting key"], 0),
    (
        Case::WaitingMetered,
        10,
        &["bytes per waiting key, with metrics"],
        0,
    ),
    (Case::Delayed, 10, &["bytes per delayed key"], 0),
    (
        Case::Late,
        10,
        &[
            "keys due within one second: p99 lateness, ms",
            "… maximum lateness, ms",
        ],
        2,
    ),
];

pub(crate) fn measure(arguments: &Arguments) -> Result<()> {
    if let Some(SingleCase::Case { case, keys }) = arguments.one {
        let figures = subject::run_case(case, keys)?;
        let texts: Vec<String> = figures.iter().map(f64::to_string).collect();
        println!("{}", texts.join(" "));
        return Ok(());
    }
    let peers = arguments
        .peers
        .as_deref()
        .context("--peers is missing: give the path of the Go program")?;
    let this = std::env::current_exe()?;
    let mut figures = CASES.map(|_| [Vec::new(), Vec::new()]);
    for _ in 0..arguments.rounds {
        for ((case, divisor, ..), [ours, theirs]) in CASES.iter().zip(&mut figures) {
            let keys = arguments.keys / divisor;
            ours.push(run_case(&this, &["queue", "case"], *case, keys)?);
            theirs.push(run_case(peers, &["queue"], *case, keys)?);
        }
    }
    let rows = CASES
        .iter()
        .zip(&figures)
        .flat_map(|((_, divisor, names, decimals), [ours, theirs])| {
            names.iter().enumerate().map(move |(i, name)| {
                let of = |runs: &[Vec<f64>]| median(runs.iter().filter_map(|run| run.get(i).copied()));
                let (keys, ours, theirs) = (arguments.keys / divisor, of(ours), of(theirs));
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
        Some(file) => report::replace_section(file, "queue", &text),
        None => Ok(()),
    }
}

/// Runs a program for one case and returns the figures that it prints.
fn run_case(program: &Path, first: &[&str], case: Case, keys: usize) -> Result<Vec<f64>> {
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
