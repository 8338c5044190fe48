//! Compares the cost of a cached Pod with client-go and kube-runtime: CPU time per listed object and per watch event, and memory.
//!
//! Each [`CacheSubject`] runs in a process of its own against a load server of its own, one after the other, round by round. CPU time and
//! memory are read from outside. Read `subjects` → `run` → `table`.

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

use run::{CacheFigures, LoadParameters, Programs};
use subjects::{CacheSubject, SUBJECTS};

/// Arguments of `bench cache`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Path of the Go program of `benches/go`
    #[arg(long)]
    peers: PathBuf,
    /// Numbers of Pods; each one makes a table
    #[arg(long, value_delimiter = ',', default_value = "10000,100000")]
    objects: Vec<u32>,
    /// Number of watch events; by default the number of Pods, and at least 20000
    #[arg(long)]
    events: Option<u32>,
    /// Number of rounds
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Measure only subjects with this text in their labels
    #[arg(long)]
    only: Option<String>,
    /// Do not measure subjects with this text in their labels; may be given several times
    #[arg(long)]
    leave_out: Vec<String>,
    /// Write the tables into this file, each between the marks of its number of Pods
    #[arg(long)]
    write: Option<PathBuf>,
}

/// Random seed of the Pods.
const SEED: u64 = 1;

pub(crate) fn compare(arguments: &Arguments) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let programs = Programs {
        this: std::env::current_exe()?,
        peers: arguments.peers.clone(),
        protobuf: Some(folder.path().join("pods.protobuf")),
    };
    prepare_protobuf(&programs)?;
    let is_selected = |subject: &&CacheSubject| {
        let has = |text: &String| subject.label.contains(text);
        arguments.only.as_ref().is_none_or(has) && !arguments.leave_out.iter().any(has)
    };
    let subjects: Vec<&CacheSubject> = SUBJECTS.iter().filter(is_selected).collect();
    ensure!(
        !subjects.is_empty(),
        "no subject matches: check --only and --leave-out against the row labels"
    );
    let (size, managed_fields) = Pods::new(APPS, SEED, DataSet::Pods)?.mean_sizes();
    let head = format!(
        "{}\n\nPods of {size} bytes of JSON on average, {managed_fields} of them managedFields, of {APPS} applications. \
         Medians of {} interleaved rounds; in brackets the ratio to the first row.",
        report::machine(),
        arguments.rounds,
    );
    for &objects in &arguments.objects {
        let load = LoadParameters {
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
            report::replace_section(file, &format!("cache-{objects}"), &text)?;
        }
    }
    Ok(())
}

/// Measures all subjects, one after the other, in each round. Returns the figures of each subject.
fn measure(
    programs: &Programs,
    subjects: &[&CacheSubject],
    load: LoadParameters,
    rounds: usize,
) -> Result<Vec<Vec<CacheFigures>>> {
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

/// Lets the Go program encode the Pods as protobuf, and checks that both encodings are equal.
fn prepare_protobuf(programs: &Programs) -> Result<()> {
    let Some(protobuf) = &programs.protobuf else {
        return Ok(());
    };
    let mut printing = Command::new(&programs.this)
        .args(["server", "--print-templates", "--seed", &SEED.to_string()])
        .stdout(Stdio::piped())
        .spawn()?;
    let templates = printing
        .stdout
        .take()
        .context("the server has no standard output")?;
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
    let load = LoadParameters {
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
