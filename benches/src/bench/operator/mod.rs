//! A whole small operator, written three times, on the real API server: a Widget owns a Deployment, has a status from it, and an event on
//! a change.
//!
//! Read world (what happens to each), run (one life, measured), then the operators: `../../kubewright`, `../../kube_runtime`, and
//! `../operator-go`, a program each.

mod run;
pub(crate) mod world;

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};
use clap::Args;
use kubewright_benches::{median, report};

use run::Figures;

/// What `bench operator` is told.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The operator in Go
    #[arg(long)]
    go: PathBuf,
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

/// Who is measured; the program of each but the last is called so.
pub(crate) const NAMES: [&str; 3] = ["kubewright", "kube-runtime", GO];
const GO: &str = "controller-runtime";

/// Column, decimals, figure.
type Column = (&'static str, usize, fn(&Figures) -> f64);

const COLUMNS: [Column; 11] = [
    ("requests", 2, |figures| figures.requests),
    ("reconciles", 2, |figures| figures.reconciles),
    ("writes of events", 2, |figures| figures.events),
    ("CPU ms", 2, |figures| figures.cpu_millis),
    ("conflicts", 0, |figures| figures.conflicts),
    ("duplicate creates", 0, |figures| figures.duplicates),
    ("MB idle", 1, |figures| figures.idle),
    ("MB after the load", 1, |figures| figures.loaded),
    ("… without files", 1, |figures| figures.anonymous),
    ("CPU s of a restart", 2, |figures| figures.restart_seconds),
    ("writes of a restart", 0, |figures| figures.restart_writes),
];

#[tokio::main]
pub(crate) async fn measure(arguments: &Arguments) -> Result<()> {
    let mut names = NAMES.to_vec();
    let only = arguments.only.as_deref().unwrap_or_default();
    names.retain(|name| name.starts_with(only));

    let folder = tempfile::tempdir()?;
    let logs = arguments.logs.as_deref().unwrap_or(folder.path());
    let mut figures = vec![Vec::new(); names.len()];
    for _ in 0..arguments.rounds {
        for (name, figures) in names.iter().zip(&mut figures) {
            let log = logs.join(format!("{name}.log"));
            let start = || Ok(Command::new(program(name, &arguments.go)));
            let measured = run::measure(start, &log, arguments.widgets)
                .await
                .with_context(|| format!("{name}, which said: {}", last_words(&log)))?;
            eprintln!("{name}: {measured:?}");
            figures.push(measured);
        }
    }
    let text = format!(
        "{}\n\n{} Widgets. {}; in brackets the ratio to the first row.\n\n{}",
        report::machine(),
        arguments.widgets,
        report::conditions(arguments.rounds),
        table(&names, &figures)
    );
    println!("{text}");
    match &arguments.write {
        Some(file) => report::replace(file, "operator", &text),
        None => Ok(()),
    }
}

/// The program of an operator: those in Rust lie beside the one in Go.
pub(crate) fn program(name: &str, go: &Path) -> PathBuf {
    if name == GO {
        return go.to_owned();
    }
    go.with_file_name(format!("bench-{name}"))
}

fn last_words(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(10).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

fn table(names: &[&str], figures: &[Vec<Figures>]) -> String {
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
