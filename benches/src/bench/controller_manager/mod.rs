//! Compares `examples/controller-manager` with kube-controller-manager, both with the same controllers, on the real API server.
//!
//! Read `program` (the two programs), `testbed` (a control plane), `follower` (waits for objects), `objects`, and the two parts: `rollout`
//! (Deployments are created, scaled and deleted) and `full_caches` (many pods).

mod follower;
mod full_caches;
mod objects;
mod program;
mod rollout;
mod testbed;

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use kubewright_benches::{median, report};

use full_caches::FullCachesFigures;
use program::Program;
use rollout::RolloutFigures;
use testbed::PhaseCost;

/// Arguments of `bench controller-manager`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Path of our controller manager
    #[arg(long)]
    kubewright: PathBuf,
    /// Measure only programs with names that start with this text
    #[arg(long)]
    only: Option<String>,
    /// Number of Deployments; each begins with 20 pods, and is scaled to 5
    #[arg(long, default_value_t = 50)]
    deployments: usize,
    /// Number of pods of each of the two large ReplicaSets; 0: without this part
    #[arg(long, default_value_t = 5000)]
    large: usize,
    /// Number of rounds
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Number of rounds of the large ReplicaSets
    #[arg(long, default_value_t = 1)]
    large_rounds: usize,
    /// Keep the programs' logs in this folder
    #[arg(long)]
    logs: Option<PathBuf>,
    /// Print the requests of each phase by verb and resource
    #[arg(long)]
    requests: bool,
    /// Write the table into this file, between its marks
    #[arg(long)]
    write: Option<PathBuf>,
}

/// Label, number of decimals, and figure of a row.
type Row<F> = (&'static str, usize, fn(&F) -> f64);

const ROLLOUT_ROWS: [Row<RolloutFigures>; 17] = [
    ("create: s", 2, |figures| figures.create.seconds),
    ("… CPU s", 3, |figures| figures.create.cpu),
    ("… requests without events", 0, |figures| {
        figures.create.requests
    }),
    ("… event requests", 0, |figures| figures.create.events),
    ("scale: s", 2, |figures| figures.scale.seconds),
    ("… CPU s", 3, |figures| figures.scale.cpu),
    ("… requests without events", 0, |figures| figures.scale.requests),
    ("… event requests", 0, |figures| figures.scale.events),
    ("delete with cascade: s", 2, |figures| figures.delete.seconds),
    ("… CPU s", 3, |figures| figures.delete.cpu),
    ("… requests without events", 0, |figures| {
        figures.delete.requests
    }),
    ("… event requests", 0, |figures| figures.delete.events),
    ("all three: CPU s", 3, |figures| figures.total().cpu),
    ("… requests with events", 0, |figures| {
        figures.total().requests + figures.total().events
    }),
    ("MB idle", 1, |figures| figures.idle),
    ("MB after", 1, |figures| figures.after),
    ("… anonymous", 1, |figures| figures.after_anonymous),
];

const FULL_CACHES_ROWS: [Row<FullCachesFigures>; 9] = [
    ("first ReplicaSet: s", 2, |figures| figures.create.seconds),
    ("… CPU s", 2, |figures| figures.create.cpu),
    ("… requests without events", 0, |figures| {
        figures.create.requests
    }),
    ("… event requests", 0, |figures| figures.create.events),
    ("pod of it replaced: CPU ms", 1, |figures| figures.replaced_cpu),
    ("MB with both", 1, |figures| figures.loaded),
    ("MB after a restart", 1, |figures| figures.restarted),
    ("… anonymous", 1, |figures| figures.restarted_anonymous),
    ("restart: CPU s", 2, |figures| figures.restart_cpu),
];

#[tokio::main]
pub(crate) async fn measure(arguments: &Arguments) -> Result<()> {
    let only = arguments.only.as_deref().unwrap_or_default();
    let programs = Program::both(&arguments.kubewright)?
        .into_iter()
        .filter(|program| program.name.starts_with(only))
        .collect::<Vec<_>>();
    let folder = tempfile::tempdir()?;
    let logs = arguments.logs.as_deref().unwrap_or(folder.path());

    let mut rollouts = vec![Vec::new(); programs.len()];
    for _ in 0..arguments.rounds {
        for (program, figures) in programs.iter().zip(&mut rollouts) {
            let measured = rollout::measure(program, logs, arguments.deployments, arguments.requests).await;
            let measured = measured.with_context(|| program.log_tail(logs))?;
            eprintln!("{}: {measured:?}", program.name);
            figures.push(measured);
        }
    }
    let mut tables = vec![format!(
        "{}\n\n{} Deployments of 20 pods, scaled to 5, deleted. {}.\n\n{}",
        report::machine(),
        arguments.deployments,
        report::conditions(arguments.rounds),
        table(&programs, &ROLLOUT_ROWS, &rollouts)
    )];
    if arguments.large > 0 {
        let mut full = vec![Vec::new(); programs.len()];
        for _ in 0..arguments.large_rounds {
            for (program, figures) in programs.iter().zip(&mut full) {
                let measured = full_caches::measure(program, logs, arguments.large).await;
                let measured = measured.with_context(|| program.log_tail(logs))?;
                eprintln!("{}: {measured:?}", program.name);
                figures.push(measured);
            }
        }
        tables.push(format!(
            "Two ReplicaSets of {} pods. {}.\n\n{}",
            arguments.large,
            report::conditions(arguments.large_rounds),
            table(&programs, &FULL_CACHES_ROWS, &full)
        ));
    }
    let text = tables.join("\n");
    println!("{text}");
    match &arguments.write {
        Some(file) => report::replace_section(file, "controller-manager", &text),
        None => Ok(()),
    }
}

/// Returns the table of medians. The last column is the ratio of the first program to the second.
fn table<F>(programs: &[Program], rows: &[Row<F>], figures: &[Vec<F>]) -> String {
    let names = programs.iter().map(|program| program.name);
    let heads: Vec<&str> = names.chain(["ratio"]).collect();
    let rows = rows.iter().map(|(label, decimals, read)| {
        let values: Vec<f64> = figures.iter().map(|runs| median(runs.iter().map(read))).collect();
        let ratio = match values.as_slice() {
            [ours, theirs] if *theirs > 0.0 => format!("{:.2}", ours / theirs),
            _ => String::new(),
        };
        let cells = values.iter().map(|value| format!("{value:.decimals$}"));
        ((*label).to_owned(), cells.chain([ratio]).collect())
    });
    report::table(&heads, rows)
}
