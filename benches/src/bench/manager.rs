//! What a manager takes that has nothing to do: three controllers and no objects, on the real API server.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use anyhow::{Context as _, Result};
use clap::Args;
use kubewright_benches::{median, report};

use crate::operator::{NAMES, program, world::World};

/// What `bench manager` is told.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The operator in Go
    #[arg(long)]
    go: PathBuf,
    /// How often everything is measured
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Put the table into this file, between its marks
    #[arg(long)]
    write: Option<PathBuf>,
}

/// Of one start.
#[derive(Debug, Clone, Copy)]
struct Figures {
    /// From the start of the process to the first reconcile that could be, in milliseconds.
    ready: f64,
    /// Resident megabytes, and those of them that are no file.
    resident: f64,
    anonymous: f64,
    /// CPU milliseconds from the start until it is quiet.
    cpu: f64,
}

#[tokio::main]
pub(crate) async fn measure(arguments: &Arguments) -> Result<()> {
    let world = World::new(0).await?;
    let log = tempfile::NamedTempFile::new()?;
    let mut figures = vec![Vec::new(); NAMES.len()];
    for _ in 0..arguments.rounds {
        for (name, figures) in NAMES.iter().zip(&mut figures) {
            let mut command = Command::new(program(name, &arguments.go));
            let one = start(&world, command.arg("idle"), log.path())
                .with_context(|| format!("{name}, which said: {}", said(log.path())))?;
            eprintln!("{name}: {one:?}");
            figures.push(one);
        }
    }
    let rows = NAMES.iter().zip(&figures).map(|(name, figures)| {
        let of = |read: fn(&Figures) -> f64| median(figures.iter().map(read));
        format!(
            "| {name} | {:.1} | {:.1} | {:.0} | {:.0} |\n",
            of(|one| one.resident),
            of(|one| one.anonymous),
            of(|one| one.ready),
            of(|one| one.cpu)
        )
    });
    let text = format!(
        "{}\n\nThree controllers. {}.\n\n| | MB resident | … without files | ms until ready | CPU ms until quiet |\n|---|---:|---:|---:|---:|\n{}",
        report::machine(),
        report::conditions(arguments.rounds),
        rows.collect::<String>()
    );
    println!("{text}");
    match &arguments.write {
        Some(file) => report::replace(file, "manager", &text),
        None => Ok(()),
    }
}

fn start(world: &World, command: &mut Command, log: &Path) -> Result<Figures> {
    let start = Instant::now();
    let operator = world.start(command, log)?;
    operator.said("ready")?;
    let ready = start.elapsed().as_secs_f64() * 1e3;
    operator.settle()?;
    Ok(Figures {
        ready,
        resident: operator.resident()? / 1024.0,
        anonymous: operator.anonymous()? / 1024.0,
        cpu: operator.cpu_micros()? / 1e3,
    })
}

fn said(log: &Path) -> String {
    std::fs::read_to_string(log).unwrap_or_default()
}
