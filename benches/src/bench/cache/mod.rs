//! What a cached Pod costs: CPU time for each listed object and each watch event, and memory, beside client-go and kube-runtime.
//!
//! Each [`Subject`] runs in a process of its own against a load server of its own, in turn, round by round; CPU time
//! and memory are read from outside. Read `subjects` → `run` → `table`.

pub(crate) mod run;
pub(crate) mod subjects;
mod table;

use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use kubewright_benches::{
    pods::{APPS, DataSet, Pods},
    report,
};

use run::{Figures, Load, Programs};
use subjects::{SUBJECTS, Subject};

/// What `bench cache` is told.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The Go program of `benches/go`
    #[arg(long)]
    peers: PathBuf,
    /// How many Pods: each number makes a table
    #[arg(long, value_delimiter = ',', default_value = "10000,100000")]
    objects: Vec<u32>,
    /// How many watch events; as many as Pods, and 20000 at least, unless it is said
    #[arg(long)]
    events: Option<u32>,
    /// How often each subject is measured
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Only subjects whose label has this text in it
    #[arg(long)]
    only: Option<String>,
    /// But not those whose label has this text in it; may be given several times
    #[arg(long)]
    leave_out: Vec<String>,
    /// Put the tables into this file, between its marks: each number of Pods has its own
    #[arg(long)]
    write: Option<PathBuf>,
}

/// The random numbers that the Pods are made of.
const SEED: u64 = 1;

pub(crate) fn compare(arguments: &Arguments) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let programs = Programs {
        this: std::env::current_exe()?,
        peers: arguments.peers.clone(),
        protobuf: Some(folder.path().join("pods.protobuf")),
    };
    encode(&programs)?;
    let wanted = |subject: &&Subject| {
        let has = |text: &String| subject.label.contains(text);
        arguments.only.as_ref().is_none_or(has) && !arguments.leave_out.iter().any(has)
    };
    let subjects: Vec<&Subject> = SUBJECTS.iter().filter(wanted).collect();
    ensure!(!subjects.is_empty(), "no subject has that text in its label");
    let (size, managed_fields) = Pods::new(APPS, SEED, DataSet::Pods)?.mean_sizes();
    let head = format!(
        "{}\n\nPods of {size} bytes of JSON on average, {managed_fields} of them managedFields, of {APPS} applications. \
         Medians of {} interleaved rounds; in brackets the ratio to the first row.",
        report::machine(),
        arguments.rounds,
    );
    for &objects in &arguments.objects {
        let load = Load {
            objects,
            events: arguments.events.unwrap_or(objects.max(20_000)),
            seed: SEED,
            data: DataSet::Pods,
        };
        let figures = measure(&programs, &subjects, load, arguments.rounds)?;
        let table = table::markdown(&subjects, &figures);
        let text = format!(
            "{head}\n\n### {objects} objects, {} events\n\n{table}",
            load.events
        );
        println!("{text}");
        if let Some(file) = &arguments.write {
            report::replace(file, &format!("cache-{objects}"), &text)?;
        }
    }
    Ok(())
}

/// All subjects in turn, so often: the figures of each.
fn measure(
    programs: &Programs,
    subjects: &[&Subject],
    load: Load,
    rounds: usize,
) -> Result<Vec<Vec<Figures>>> {
    let mut figures = vec![Vec::new(); subjects.len()];
    for round in 1..=rounds {
        for (subject, figures) in subjects.iter().zip(&mut figures) {
            let measured =
                run::run(programs, &programs.this, subject, load).with_context(|| subject.label)?;
            eprintln!(
                "{} objects, round {round}: {}: {measured:.1?}",
                load.objects, subject.label
            );
            figures.push(measured);
        }
    }
    Ok(figures)
}

/// Lets the Go program make the protobuf form of the Pods, and compare it with JSON.
fn encode(programs: &Programs) -> Result<()> {
    let Some(protobuf) = &programs.protobuf else {
        return Ok(());
    };
    let mut printing = Command::new(&programs.this)
        .args(["server", "--print-templates", "--seed", &SEED.to_string()])
        .stdout(Stdio::piped())
        .spawn()?;
    let templates = printing.stdout.take().context("no output of the server")?;
    let encoding = Command::new(&programs.peers)
        .arg("encode")
        .stdin(templates)
        .stdout(fs::File::create(protobuf)?)
        .status()
        .with_context(|| format!("cannot run {}", programs.peers.display()))?;
    ensure!(
        printing.wait()?.success() && encoding.success(),
        "the Pods were not encoded"
    );
    let load = Load {
        objects: 2000,
        events: 0,
        seed: SEED,
        data: DataSet::Pods,
    };
    let (_server, url) = run::start_server(programs, load, false)?;
    let compared = Command::new(&programs.peers).args(["compare", &url]).status()?;
    ensure!(
        compared.success(),
        "the Pods are not the same in JSON and protobuf"
    );
    Ok(())
}
