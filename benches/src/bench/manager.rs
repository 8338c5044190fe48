//! Measures an idle manager: three controllers and no objects, with the real API server.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use anyhow::{Context as _, Result};
use clap::Args;
use kubewright_benches::{median, report};

use crate::operator::{NAMES, program, testbed::OperatorTestbed};

/// Arguments of `bench manager`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Path of the Go operator
    #[arg(long)]
    go: PathBuf,
    /// Number of rounds
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Write the table into this file, between its marks
    #[arg(long)]
    write: Option<PathBuf>,
}

/// Figures of one start.
#[derive(Debug, Clone, Copy)]
struct ManagerFigures {
    /// Milliseconds from the start of the process until it is ready to reconcile.
    ready: f64,
    /// Resident megabytes, and the anonymous part of them (not backed by a file).
    resident: f64,
    anonymous: f64,
    /// CPU milliseconds from the start until the process is idle.
    cpu: f64,
}

#[tokio::main]
pub(crate) async fn measure(arguments: &Arguments) -> Result<()> {
    let testbed = OperatorTestbed::new(0).await?;
    let log = tempfile::NamedTempFile::new()?;
    let mut figures = vec![Vec::new(); NAMES.len()];
    for _ in 0..arguments.rounds {
        for (name, figures) in NAMES.iter().zip(&mut figures) {
            let mut command = Command::new(program(name, &arguments.go));
            let one = measure_start(&testbed, command.arg("idle"), log.path())
                .with_context(|| format!("{name}, with the log: {}", log_text(log.path())))?;
            eprintln!("{name}: {one:?}");
            figures.push(one);
        }
    }
    let rows = NAMES.iter().zip(&figures).map(|(name, figures)| {
        let of = |read: fn(&ManagerFigures) -> f64| median(figures.iter().map(read));
        format!(
            "| {name} | {:.1} | {:.1} | {:.0} | {:.0} |\n",
            of(|one| one.resident),
            of(|one| one.anonymous),
            of(|one| one.ready),
            of(|one| one.cpu)
        )
    });
    let text = format!(
        "{}\n\nThree controllers. {}.\n\n| | resident MB | … anonymous | ms until ready | CPU ms until idle |\n|---|---:|---:|---:|---:|\n{}",
        report::machine(),
        report::conditions(arguments.rounds),
        rows.collect::<String>()
    );
    println!("{text}");
    match &arguments.write {
        Some(file) => report::replace_section(file, "manager", &text),
        None => Ok(()),
    }
}

fn measure_start(testbed: &OperatorTestbed, command: &mut Command, log: &Path) -> Result<ManagerFigures> {
    let begin = Instant::now();
    let operator = testbed.start(command, log)?;
    operator.expect_line("ready")?;
    let ready = begin.elapsed().as_secs_f64() * 1e3;
    operator.wait_until_idle()?;
    Ok(ManagerFigures {
        ready,
        resident: operator.resident_kb()? / 1024.0,
        anonymous: operator.anonymous_kb()? / 1024.0,
        cpu: operator.cpu_micros()? / 1e3,
    })
}

fn log_text(log: &Path) -> String {
    std::fs::read_to_string(log).unwrap_or_default()
}
