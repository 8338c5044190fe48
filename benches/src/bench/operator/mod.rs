//! Compares a whole small operator that is written with three libraries, with the real API server. A Widget owns a Deployment and mirrors
//! its status; the operator sends an event on each change.
//!
//! Read `testbed` (the API server and the changes), `run` (one measurement), then the operators: `../../kubewright`,
//! `../../kube_runtime` and `../operator-go`, each a program of its own.

mod run;
pub(crate) mod testbed;

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};
use clap::Args;
use kubewright_benches::{median, report};

use run::OperatorFigures;

/// Arguments of `bench operator`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Path of the Go operator
    #[arg(long)]
    go: PathBuf,
    /// Measure only operators with names that start with this text
    #[arg(long)]
    only: Option<String>,
    /// Number of Widgets
    #[arg(long, default_value_t = 2000)]
    widgets: u32,
    /// Number of rounds
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Folder for the operators' logs, one file each
    #[arg(long)]
    logs: Option<PathBuf>,
    /// Write the table into this file, between its marks
    #[arg(long)]
    write: Option<PathBuf>,
}

/// The measured operators. The programs of the Rust ones are called `bench-NAME`.
pub(crate) const NAMES: [&str; 3] = ["kubewright", "kube-runtime", CONTROLLER_RUNTIME];
const CONTROLLER_RUNTIME: &str = "controller-runtime";
/// The operator of kubewright without extra calls after its own writes.
const OWN_EVENTS_IGNORED: &str = "kubewright, OwnEvents::Ignore";

/// Name, number of decimals, and figure of a column.
type Column = (&'static str, usize, fn(&OperatorFigures) -> f64);

const COLUMNS: [Column; 11] = [
    ("requests", 2, |figures| figures.requests),
    ("reconciles", 2, |figures| figures.reconciles),
    ("event writes", 2, |figures| figures.events),
    ("CPU ms", 2, |figures| figures.cpu_millis),
    ("conflicts", 0, |figures| figures.conflicts),
    ("duplicate creates", 0, |figures| figures.duplicates),
    ("MB idle", 1, |figures| figures.idle),
    ("MB after load", 1, |figures| figures.loaded),
    ("… anonymous", 1, |figures| figures.anonymous),
    ("restart CPU s", 2, |figures| figures.restart_seconds),
    ("restart writes", 0, |figures| figures.restart_writes),
];

#[tokio::main]
pub(crate) async fn measure(arguments: &Arguments) -> Result<()> {
    let mut names = vec![NAMES[0], OWN_EVENTS_IGNORED];
    names.extend(&NAMES[1..]);
    let only = arguments.only.as_deref().unwrap_or_default();
    names.retain(|name| name.starts_with(only));

    let folder = tempfile::tempdir()?;
    let logs = arguments.logs.as_deref().unwrap_or(folder.path());
    let mut figures = vec![Vec::new(); names.len()];
    for _ in 0..arguments.rounds {
        for (name, figures) in names.iter().zip(&mut figures) {
            let log = logs.join(format!("{}.log", name.replace([',', ':', ' '], "-")));
            let start = || {
                let mut command = Command::new(program(name, &arguments.go));
                if *name == OWN_EVENTS_IGNORED {
                    command.arg("ignore-own-events");
                }
                Ok(command)
            };
            let measured = run::measure(start, &log, arguments.widgets)
                .await
                .with_context(|| format!("{name}, with the log: {}", log_tail(&log)))?;
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
        Some(file) => report::replace_section(file, "operator", &text),
        None => Ok(()),
    }
}

/// Returns the path of an operator's program. The Rust operators are in the same folder as the Go operator.
pub(crate) fn program(name: &str, go: &Path) -> PathBuf {
    if name == CONTROLLER_RUNTIME {
        return go.to_owned();
    }
    let program = if name == OWN_EVENTS_IGNORED {
        NAMES[0]
    } else {
        name
    };
    go.with_file_name(format!("bench-{program}"))
}

fn log_tail(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(10).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

fn table(names: &[&str], figures: &[Vec<OperatorFigures>]) -> String {
    let heads: Vec<&str> = COLUMNS.iter().map(|(head, ..)| *head).collect();
    let rows = names.iter().zip(figures).map(|(name, row)| {
        let cells = COLUMNS.iter().map(|(_, decimals, read)| {
            let (value, first) = (median(row.iter().map(read)), median(figures[0].iter().map(read)));
            let value_text = format!("{value:.decimals$}");
            // There is no ratio to zero.
            if first > 0.0 {
                format!("{value_text} ({:.2}×)", value / first)
            } else {
                value_text
            }
        });
        ((*name).to_owned(), cells.collect())
    });
    report::table(&heads, rows)
}
