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

/// The rows: a name, the case, how many of the keys it takes, how many decimals its figure has.
const ROWS: [(&str, Case, usize, usize); 9] = [
    ("add, get, done: one thread, ns a key", Case::OneThread, 1, 0),
    (
        "the same, 1 producer and 1 consumer, ns a key",
        Case::OneAndOne,
        1,
        0,
    ),
    ("the same, 4 and 4, ns a key", Case::FourAndFour, 1, 0),
    (
        "rate limited, 1 producer and 1 consumer, ns a key",
        Case::RateLimited,
        1,
        0,
    ),
    ("bytes a waiting key", Case::Waiting, 10, 0),
    ("bytes a waiting key, with metrics", Case::WaitingMetered, 10, 0),
    ("bytes a delayed key", Case::Delayed, 10, 0),
    ("keys due within a second: late, p99, ms", Case::LateMost, 10, 2),
    (
        "keys due within a second: late, the worst, ms",
        Case::LateWorst,
        10,
        2,
    ),
];

pub(crate) fn measure(arguments: &Arguments) -> Result<()> {
    if let Some(One::Case { case, keys }) = arguments.one {
        println!("{}", subject::run(case, keys)?);
        return Ok(());
    }
    let peers = arguments
        .peers
        .as_deref()
        .context("--peers says where the Go program is")?;
    let this = std::env::current_exe()?;
    let mut figures = ROWS.map(|_| [Vec::new(), Vec::new()]);
    for _ in 0..arguments.rounds {
        for ((_, case, part, _), [ours, theirs]) in ROWS.iter().zip(&mut figures) {
            let keys = arguments.keys / part;
            ours.push(figure(&this, &["queue", "case"], *case, keys)?);
            theirs.push(figure(peers, &["queue"], *case, keys)?);
        }
    }
    let rows = ROWS
        .iter()
        .zip(&figures)
        .map(|((name, _, part, decimals), [ours, theirs])| {
            let (ours, theirs) = (median(ours.iter().copied()), median(theirs.iter().copied()));
            format!(
                "| {name} | {} | {ours:.decimals$} | {theirs:.decimals$} | {:.2}× |\n",
                arguments.keys / part,
                ours / theirs
            )
        });
    let text = format!(
        "{}\n\nMedians of {} interleaved rounds.\n\n| | keys | kubewright | client-go | ratio |\n|---|---:|---:|---:|---:|\n{}",
        report::machine(),
        arguments.rounds,
        rows.collect::<String>()
    );
    println!("{text}");
    match &arguments.write {
        Some(file) => report::replace(file, "queue", &text),
        None => Ok(()),
    }
}

fn figure(program: &Path, first: &[&str], case: Case, keys: usize) -> Result<f64> {
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
    Ok(text.trim().parse()?)
}
