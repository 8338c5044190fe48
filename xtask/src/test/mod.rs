//! `cargo xtask test`: builds all test programs once, and runs them side by side.
//!
//! `cargo test` runs one program after the other, although many of them wait most of the time. Read [`programs`] (what there is to run),
//! [`schedule`] (in what order, and what not side by side), [`runner`] (how), [`outcome`] (what ran, compared with what there is).

mod cpu_time;
mod libtest;
mod outcome;
mod programs;
mod runner;
mod schedule;

use crate::control_plane;
use anyhow::{Context, bail, ensure};
use clap::Args;
use programs::{Selection, TestProgram};
use runner::Run;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[derive(Args, Default)]
pub(crate) struct Options {
    /// Run only the ignored tests: those that need the real control plane, which is built if it is missing
    #[arg(long)]
    ignored: bool,
    /// Run the ignored tests beside the others
    #[arg(long, conflicts_with = "ignored")]
    include_ignored: bool,
    /// Run only what takes too long for every change
    #[arg(long, conflicts_with_all = ["ignored", "include_ignored"])]
    nightly: bool,
    /// Only this package's tests (may be repeated)
    #[arg(short, long = "package", value_name = "PACKAGE")]
    packages: Vec<String>,
    /// How many computing programs run side by side; default: the number of cores
    #[arg(long, value_name = "COUNT")]
    jobs: Option<usize>,
    /// Arguments of cargo that select targets; none for all.
    #[arg(skip)]
    targets: Vec<&'static str>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let kinds: &[Selection] = match options {
        Options { ignored: true, .. } => &[Selection::Ignored],
        Options {
            include_ignored: true,
            ..
        }
        | Options { nightly: true, .. } => &[Selection::Plain, Selection::Ignored],
        _ => &[Selection::Plain],
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("xtask is in no workspace")?;
    // The ignored tests start as soon as the control plane is there; the others before.
    let needs_control_plane = kinds.contains(&Selection::Ignored) && !control_plane::uses_other_programs();
    let control_plane = needs_control_plane.then(|| std::thread::spawn(kubewright_control_plane::build));

    let start = Instant::now();
    let programs = programs::build(root, &options.packages, &options.targets)?;
    let listed: usize = programs.iter().map(|program| program.tests).sum();
    if options.packages.is_empty() {
        let (expected_programs, expected_tests) = programs::list_with_cargo(root)?;
        ensure!(
            (programs.len(), listed) == (expected_programs, expected_tests),
            "`cargo test -- --list` has {expected_tests} tests in {expected_programs} programs, but {listed} in {} were found",
            programs.len()
        );
        let titles = |program| [Selection::Plain, Selection::Ignored].map(|kind| title(program, kind));
        let titles: Vec<String> = programs.iter().flat_map(titles).collect();
        if let Some(row) = schedule::first_unknown_row(&titles) {
            bail!("{row:?} in xtask/src/test/schedule.rs is no test program");
        }
    }
    eprintln!(
        "{listed} tests in {} programs, built in {} s",
        programs.len(),
        start.elapsed().as_secs()
    );

    let (nightly, others): (Vec<_>, Vec<_>) = programs
        .iter()
        .enumerate()
        .flat_map(|(number, program)| kinds.iter().map(move |kind| (number, program, *kind)))
        .filter(|(_, program, kind)| program.count(*kind) > 0)
        .map(|(number, program, kind)| Run::new(number, program, kind))
        .partition(Run::is_nightly);
    let runs = if options.nightly {
        nightly
    } else {
        for run in nightly {
            eprintln!(
                "{} runs in .ci/nightly: `cargo xtask test --nightly`",
                run.title()
            );
        }
        others
    };
    let jobs = options
        .jobs
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(2, usize::from));
    let start = Instant::now();
    let finished = runner::run_all(runs, jobs, &log_folder()?, control_plane)?;
    let failures = summarize(&finished, start);
    if failures > 0 {
        bail!("{failures} of {} runs of test programs failed", finished.len());
    }
    Ok(())
}

/// Runs the tests in the sources of a package's library and programs.
pub(crate) fn run_unit_tests(package: &str, has_library: bool) -> anyhow::Result<()> {
    let library = has_library.then_some("--lib");
    run(&Options {
        packages: vec![package.to_owned()],
        targets: library.into_iter().chain(["--bins"]).collect(),
        ..Options::default()
    })
}

/// The folder for the programs' output, in the target folder that this program was built in.
fn log_folder() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let target = program
        .ancestors()
        .nth(2)
        .context("xtask is in no target folder")?;
    Ok(target.join("test-output"))
}

/// Prints the times, the longest first, and each failed run's whole output. Returns how many runs failed.
#[expect(clippy::print_stdout, reason = "standard output is the result")]
fn summarize(finished: &[runner::Finished], start: Instant) -> usize {
    let mut sorted: Vec<_> = finished.iter().collect();
    sorted.sort_by_key(|run| std::cmp::Reverse(run.duration));
    let mut text = String::new();
    for run in &sorted {
        if let Err(reason) = &run.outcome {
            let output = std::fs::read_to_string(&run.output).unwrap_or_else(|error| error.to_string());
            let _ = writeln!(text, "\n--- {}: {reason}\n{output}", run.title);
        }
    }
    let _ = writeln!(text, "\nseconds  CPU  tests  program");
    let (mut passed, mut rest) = (0, 0);
    for run in &sorted {
        passed += run.outcome.as_ref().map_or(0, |outcome| outcome.ran);
        if run.duration.as_secs() == 0 && run.outcome.is_ok() {
            rest += 1;
            continue;
        }
        let (count, note) = match &run.outcome {
            Ok(outcome) => (outcome.ran.to_string(), String::new()),
            Err(reason) => ("-".to_owned(), format!("  FAILED: {reason}")),
        };
        let _ = writeln!(
            text,
            "{:7}  {:3}  {count:>5}  {}{note}",
            run.duration.as_secs(),
            run.cpu.as_secs(),
            run.title
        );
    }
    let failures = sorted.iter().filter(|run| run.outcome.is_err()).count();
    let cpu: Duration = sorted.iter().map(|run| run.cpu).sum();
    let _ = writeln!(
        text,
        "and {rest} programs in less than a second each\n{passed} tests passed, {failures} programs failed: {} s, {} s of CPU",
        start.elapsed().as_secs(),
        cpu.as_secs()
    );
    print!("{text}");
    failures
}

/// How a program is named in output and in [`schedule`], with the selection of its tests.
fn title(program: &TestProgram, selection: Selection) -> String {
    match selection {
        Selection::Plain => program.name.clone(),
        Selection::Ignored => format!("{} --ignored", program.name),
    }
}
