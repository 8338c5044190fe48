//! Compares the embedded API server, in a process of its own, with kube-apiserver and etcd: the same requests from the same client.
//!
//! Read `server` (the servers), `tls`, `connection`, `chunks` and `template` (a client that uses as little CPU time as possible, since it
//! runs on the same processors), `load` (writes and lists), `watches`, `definitions`, and `run` (one measurement).

mod chunks;
mod connection;
mod definitions;
mod load;
mod run;
mod server;
mod template;
mod tls;
mod watches;

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use kubewright_benches::{median, report};

use run::ServerFigures;
use server::MeasuredServer;

/// Arguments of `bench apiserver`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Path of the `kubewright` command
    #[arg(long)]
    kubewright: PathBuf,
    /// Measure only servers with names that start with this text
    #[arg(long)]
    only: Option<String>,
    /// Number of rounds; storing many objects is measured once
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Divide the amount of work by this number
    #[arg(long, default_value_t = 1)]
    part: usize,
    /// Measure only definitions, and print the figures of each round
    #[arg(long, conflicts_with = "write")]
    definitions: bool,
    /// Write the table into this file, between its marks
    #[arg(long)]
    write: Option<PathBuf>,
}

const SUBJECTS: [&str; 2] = ["kubewright", "kube-apiserver and etcd"];

#[derive(Clone, Copy)]
enum BetterValue {
    Lower,
    Higher,
}

/// Label, number of decimals, which values are better, and figure of a row.
type Row = (&'static str, usize, BetterValue, fn(&ServerFigures) -> f64);

const ROWS: [Row; 23] = [
    ("time to ready: ms", 0, BetterValue::Lower, |figures| {
        figures.ready_millis
    }),
    ("… CPU ms", 0, BetterValue::Lower, |figures| {
        figures.ready_cpu_millis
    }),
    ("MB idle", 1, BetterValue::Lower, |figures| figures.idle),
    ("create: CPU µs", 0, BetterValue::Lower, |figures| {
        figures.create.micros
    }),
    ("… per second", 0, BetterValue::Higher, |figures| {
        figures.create.each_second
    }),
    ("update: CPU µs", 0, BetterValue::Lower, |figures| {
        figures.update.micros
    }),
    ("… per second", 0, BetterValue::Higher, |figures| {
        figures.update.each_second
    }),
    (
        "event delivered to one of 100 watches: CPU µs",
        1,
        BetterValue::Lower,
        |figures| figures.fan_out_hundred.micros,
    ),
    ("… per second", 0, BetterValue::Higher, |figures| {
        figures.fan_out_hundred.each_second
    }),
    (
        "event delivered to one of 1000 watches: CPU µs",
        1,
        BetterValue::Lower,
        |figures| figures.fan_out_thousand.micros,
    ),
    ("… per second", 0, BetterValue::Higher, |figures| {
        figures.fan_out_thousand.each_second
    }),
    ("MB with 1000 watches", 0, BetterValue::Lower, |figures| {
        figures.watched
    }),
    (
        "100 definitions created at once, each: CPU ms",
        2,
        BetterValue::Lower,
        |figures| figures.first_definitions.micros / 1e3,
    ),
    ("… per second", 0, BetterValue::Higher, |figures| {
        figures.first_definitions.each_second
    }),
    (
        "500 definitions beside them, each: CPU ms",
        2,
        BetterValue::Lower,
        |figures| figures.more_definitions.micros / 1e3,
    ),
    ("… per second", 0, BetterValue::Higher, |figures| {
        figures.more_definitions.each_second
    }),
    ("objects stored", 0, BetterValue::Higher, |figures| figures.stored),
    (
        "create up to that number: CPU µs",
        0,
        BetterValue::Lower,
        |figures| figures.fill.micros,
    ),
    ("… per second", 0, BetterValue::Higher, |figures| {
        figures.fill.each_second
    }),
    (
        "object listed in pages of 500: CPU µs",
        1,
        BetterValue::Lower,
        |figures| figures.list.micros,
    ),
    ("… per second", 0, BetterValue::Higher, |figures| {
        figures.list.each_second
    }),
    ("MB with these objects", 0, BetterValue::Lower, |figures| {
        figures.filled
    }),
    ("MB after listing them", 0, BetterValue::Lower, |figures| {
        figures.listed
    }),
];

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn measure(arguments: &Arguments) -> Result<()> {
    let only = arguments.only.as_deref().unwrap_or_default();
    let mut figures: Vec<(&str, Vec<ServerFigures>)> = SUBJECTS
        .into_iter()
        .filter(|name| name.starts_with(only))
        .map(|name| (name, vec![]))
        .collect();
    for round in 0..arguments.rounds {
        for (name, figures) in &mut figures {
            let start = async || match *name {
                "kubewright" => MeasuredServer::embedded(&arguments.kubewright).await,
                _ => MeasuredServer::real().await,
            };
            if arguments.definitions {
                let measured = run::measure_definitions(start, arguments.part).await;
                println!("{name}: {:?}", measured.with_context(|| (*name).to_owned())?);
                continue;
            }
            let measured = run::measure(start, arguments.part, round == 0).await;
            let measured = measured.with_context(|| (*name).to_owned())?;
            eprintln!("{name}: {measured:?}");
            figures.push(measured);
        }
    }
    if arguments.definitions {
        return Ok(());
    }
    let text = format!(
        "{}\n\n{}; rows from \"objects stored\" on were measured once.\n\n{}",
        report::machine(),
        report::conditions(arguments.rounds),
        table(&figures)
    );
    println!("{text}");
    match &arguments.write {
        Some(file) => report::replace_section(file, "apiserver", &text),
        None => Ok(()),
    }
}

fn table(figures: &[(&str, Vec<ServerFigures>)]) -> String {
    let names = figures.iter().map(|(name, _)| *name);
    let heads: Vec<&str> = names.chain(["times better"]).collect();
    let rows = ROWS.map(|(label, decimals, better, read)| {
        // Ignore rounds in which the figure was not measured (NaN).
        let of = |runs: &[ServerFigures]| median(runs.iter().map(read).filter(|figure| !figure.is_nan()));
        let values: Vec<f64> = figures.iter().map(|(_, runs)| of(runs)).collect();
        let times = match (values.as_slice(), better) {
            ([ours, theirs], BetterValue::Lower) => format!("{:.1}", theirs / ours),
            ([ours, theirs], BetterValue::Higher) => format!("{:.1}", ours / theirs),
            _ => String::new(),
        };
        let cells = values.iter().map(|value| format!("{value:.decimals$}"));
        (label.to_owned(), cells.chain([times]).collect())
    });
    report::table(&heads, rows)
}
