//! The embedded API server, a process of its own, beside the real one with etcd: the same requests from the same client.
//!
//! Read server (what runs), tls, connection, chunks and template (the cheapest client that could be, as it runs on the same processors), load
//! (who writes), watches (who watches), run (one life, measured).

mod chunks;
mod connection;
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

use run::Figures;
use server::Server;

/// What `bench apiserver` is told.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The command whose `api-server` is measured
    #[arg(long)]
    kubewright: PathBuf,
    /// Only those whose name begins so
    #[arg(long)]
    only: Option<String>,
    /// How often everything is measured; the many objects are held once
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Do only one of so many parts of the work
    #[arg(long, default_value_t = 1)]
    part: usize,
    /// Put the table into this file, between its marks
    #[arg(long)]
    write: Option<PathBuf>,
}

const SUBJECTS: [&str; 2] = ["kubewright", "kube-apiserver and etcd"];

#[derive(Clone, Copy)]
enum Better {
    Less,
    More,
}

/// What is measured, decimals, what is better, figure.
type Row = (&'static str, usize, Better, fn(&Figures) -> f64);

const ROWS: [Row; 19] = [
    ("ready: ms", 0, Better::Less, |figures| figures.ready_millis),
    ("… CPU ms", 0, Better::Less, |figures| figures.ready_cpu_millis),
    ("MB idle", 1, Better::Less, |figures| figures.idle),
    ("create: CPU µs", 0, Better::Less, |figures| {
        figures.create.micros
    }),
    ("… a second", 0, Better::More, |figures| {
        figures.create.each_second
    }),
    ("update: CPU µs", 0, Better::Less, |figures| {
        figures.update.micros
    }),
    ("… a second", 0, Better::More, |figures| {
        figures.update.each_second
    }),
    (
        "event to one of 100 watches: CPU µs",
        1,
        Better::Less,
        |figures| figures.hundred.micros,
    ),
    ("… a second", 0, Better::More, |figures| {
        figures.hundred.each_second
    }),
    (
        "event to one of 1000 watches: CPU µs",
        1,
        Better::Less,
        |figures| figures.thousand.micros,
    ),
    ("… a second", 0, Better::More, |figures| {
        figures.thousand.each_second
    }),
    ("MB with 1000 watches", 0, Better::Less, |figures| figures.watched),
    ("objects held", 0, Better::More, |figures| figures.held),
    ("create among them: CPU µs", 0, Better::Less, |figures| {
        figures.fill.micros
    }),
    ("… a second", 0, Better::More, |figures| {
        figures.fill.each_second
    }),
    ("an object in a page of 500: CPU µs", 1, Better::Less, |figures| {
        figures.list.micros
    }),
    ("… a second", 0, Better::More, |figures| {
        figures.list.each_second
    }),
    ("MB when they are there", 0, Better::Less, |figures| {
        figures.filled
    }),
    ("MB when they were listed", 0, Better::Less, |figures| {
        figures.listed
    }),
];

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn measure(arguments: &Arguments) -> Result<()> {
    let only = arguments.only.as_deref().unwrap_or_default();
    let mut figures: Vec<(&str, Vec<Figures>)> = SUBJECTS
        .into_iter()
        .filter(|name| name.starts_with(only))
        .map(|name| (name, vec![]))
        .collect();
    for round in 0..arguments.rounds {
        for (name, figures) in &mut figures {
            let start = async || match *name {
                "kubewright" => Server::embedded(&arguments.kubewright).await,
                _ => Server::real().await,
            };
            let measured = run::measure(start, arguments.part, round == 0).await;
            let measured = measured.with_context(|| (*name).to_owned())?;
            eprintln!("{name}: {measured:?}");
            figures.push(measured);
        }
    }
    let text = format!(
        "{}\n\n{}; the many objects once.\n\n{}",
        report::machine(),
        report::conditions(arguments.rounds),
        table(&figures)
    );
    println!("{text}");
    match &arguments.write {
        Some(file) => report::replace(file, "apiserver", &text),
        None => Ok(()),
    }
}

fn table(figures: &[(&str, Vec<Figures>)]) -> String {
    let names: Vec<&str> = figures.iter().map(|(name, _)| *name).collect();
    let rows = ROWS.map(|(what, decimals, better, read)| {
        // What a round did not measure is no number.
        let of = |runs: &[Figures]| median(runs.iter().map(read).filter(|figure| !figure.is_nan()));
        let values: Vec<f64> = figures.iter().map(|(_, runs)| of(runs)).collect();
        let times = match (values.as_slice(), better) {
            ([ours, theirs], Better::Less) => format!("{:.1}", theirs / ours),
            ([ours, theirs], Better::More) => format!("{:.1}", ours / theirs),
            _ => String::new(),
        };
        let cells: Vec<String> = values.iter().map(|value| format!("{value:.decimals$}")).collect();
        format!("| {what} | {} | {times} |\n", cells.join(" | "))
    });
    format!(
        "| | {} | times better |\n|---|{}---:|\n{}",
        names.join(" | "),
        "---:|".repeat(names.len()),
        rows.concat()
    )
}
