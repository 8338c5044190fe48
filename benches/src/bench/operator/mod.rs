//! A whole small operator, written three times, on the real API server: a Widget owns a Deployment, has a status from it, and an event on
//! a change.
//!
//! Read world (what happens to each), run (one life, measured), then the operators: kubewright, kube_runtime, and `../operator-go`.

mod kube_runtime;
mod kubewright;
mod run;
mod subject;
mod world;

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand, ValueEnum as _};
use kubewright_benches::{median, report};

use run::Figures;
use subject::Subject;

/// What `bench operator` is told.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    one: Option<One>,
    /// The operator in Go
    #[arg(long)]
    go: Option<PathBuf>,
    /// Only those whose name begins so
    #[arg(long)]
    only: Option<String>,
    /// How many Widgets there are
    #[arg(long, default_value_t = 2000)]
    widgets: u32,
    /// How often everything is measured
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Where what the operators say goes: a file each
    #[arg(long)]
    logs: Option<PathBuf>,
    /// Put the table into this file, between its marks
    #[arg(long)]
    write: Option<PathBuf>,
}

#[derive(Subcommand)]
enum One {
    /// Runs an operator
    Subject { subject: Subject },
}

const GO: &str = "controller-runtime";

/// Column, decimals, figure.
type Column = (&'static str, usize, fn(&Figures) -> f64);

const COLUMNS: [Column; 10] = [
    ("requests", 2, |figures| figures.requests),
    ("reconciles", 2, |figures| figures.reconciles),
    ("writes of events", 2, |figures| figures.events),
    ("CPU ms", 2, |figures| figures.cpu_millis),
    ("conflicts", 0, |figures| figures.conflicts),
    ("duplicate creates", 0, |figures| figures.duplicates),
    ("MB idle", 1, |figures| figures.idle),
    ("MB after the load", 1, |figures| figures.loaded),
    ("CPU s of a restart", 2, |figures| figures.restart_seconds),
    ("writes of a restart", 0, |figures| figures.restart_writes),
];

pub(crate) fn measure(arguments: &Arguments) -> Result<()> {
    match arguments.one {
        Some(One::Subject { subject }) => subject::run(subject),
        None => compare(arguments),
    }
}

#[tokio::main]
async fn compare(arguments: &Arguments) -> Result<()> {
    let ours = Subject::value_variants()
        .iter()
        .filter_map(clap::ValueEnum::to_possible_value);
    let mut names: Vec<String> = ours.map(|value| value.get_name().to_owned()).collect();
    names.push(GO.to_owned());
    let only = arguments.only.as_deref().unwrap_or_default();
    names.retain(|name| name.starts_with(only));

    let folder = tempfile::tempdir()?;
    let logs = arguments.logs.as_deref().unwrap_or(folder.path());
    let mut figures = vec![Vec::new(); names.len()];
    for _ in 0..arguments.rounds {
        for (name, figures) in names.iter().zip(&mut figures) {
            let log = logs.join(format!("{name}.log"));
            let start = || operator(name, arguments.go.as_deref());
            let measured = run::measure(start, &log, arguments.widgets)
                .await
                .with_context(|| format!("{name}, which said: {}", last_words(&log)))?;
            eprintln!("{name}: {measured:?}");
            figures.push(measured);
        }
    }
    let text = format!(
        "{}\n\n{} Widgets. Medians of {} interleaved rounds; in brackets the ratio to the first row.\n\n{}",
        report::machine(),
        arguments.widgets,
        arguments.rounds,
        table(&names, &figures)
    );
    println!("{text}");
    match &arguments.write {
        Some(file) => report::replace(file, "operator", &text),
        None => Ok(()),
    }
}

fn operator(name: &str, go: Option<&Path>) -> Result<Command> {
    if name == GO {
        return Ok(Command::new(go.context("--go says where the operator in Go is")?));
    }
    let mut command = Command::new(env::current_exe()?);
    command.args(["operator", "subject", name]);
    Ok(command)
}

fn last_words(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(10).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

fn table(names: &[String], figures: &[Vec<Figures>]) -> String {
    let heads: Vec<&str> = COLUMNS.iter().map(|(head, ..)| *head).collect();
    let rows = names.iter().zip(figures).map(|(name, row)| {
        let cells = COLUMNS.iter().map(|(_, decimals, read)| {
            let (value, first) = (median(row.iter().map(read)), median(figures[0].iter().map(read)));
            let value_text = format!("{value:.decimals$}");
            // Nothing is no multiple of nothing.
            if first > 0.0 {
                format!("{value_text} ({:.2}×)", value / first)
            } else {
                value_text
            }
        });
        let cells: Vec<String> = cells.collect();
        format!("| {name} | {} |\n", cells.join(" | "))
    });
    let rows: String = rows.collect();
    format!(
        "| | {} |\n|---|{}\n{rows}",
        heads.join(" | "),
        "---:|".repeat(COLUMNS.len())
    )
}
