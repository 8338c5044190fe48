//! Runs test programs side by side, each with a file for its output and a time limit.

use super::cpu_time;
use super::outcome::{self, Listed, Outcome};
use super::programs::{Selection, TestProgram, library_path};
use super::schedule::{self, Entry, Load, TIME_LIMIT};
use anyhow::{Context, anyhow};
use kubewright_control_plane::BuildError;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The build of the control plane, which ignored tests need.
pub(crate) type ControlPlaneBuild = JoinHandle<Result<PathBuf, BuildError>>;

/// A program that is to run.
pub(crate) struct Run<'p> {
    title: String,
    program: &'p TestProgram,
    selection: Selection,
    entry: Entry,
}

impl<'p> Run<'p> {
    pub(crate) fn new(number: usize, program: &'p TestProgram, selection: Selection) -> Self {
        let title = super::title(program, selection);
        Self {
            entry: schedule::known(&title, number, selection == Selection::Ignored),
            title,
            program,
            selection,
        }
    }

    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    pub(crate) fn is_nightly(&self) -> bool {
        self.entry.load == Load::Nightly
    }

    fn start(self, folder: &Path, libraries: &Path) -> anyhow::Result<Running<'p>> {
        let output = folder.join(format!("{}.txt", self.title.replace(['/', ' '], "_")));
        let file = File::create(&output).with_context(|| format!("cannot create {}", output.display()))?;
        let mut command = self.program.command(self.entry.load.niceness());
        if self.selection == Selection::Ignored {
            command.arg("--ignored");
        }
        command.env("LD_LIBRARY_PATH", libraries);
        command.stdout(file.try_clone()?).stderr(file);
        let child = command
            .spawn()
            .with_context(|| format!("cannot run {}", self.program.executable.display()))?;
        Ok(Running {
            run: self,
            child,
            output,
            start: Instant::now(),
        })
    }
}

struct Running<'p> {
    run: Run<'p>,
    child: Child,
    output: PathBuf,
    start: Instant,
}

impl Running<'_> {
    /// Returns the result of a program that has ended, or was killed because its time is over.
    fn poll(&mut self) -> anyhow::Result<Option<Finished>> {
        let duration = self.start.elapsed();
        let before = cpu_time::of_ended_children();
        let outcome = match self.child.try_wait()? {
            Some(status) => {
                let output = fs::read(&self.output)?;
                let listed = Listed {
                    tests: self.run.program.tests,
                    ignored: self.run.program.ignored,
                };
                outcome::check(
                    listed,
                    self.run.selection,
                    status,
                    &String::from_utf8_lossy(&output),
                )
            }
            None if duration < TIME_LIMIT => return Ok(None),
            None => {
                self.child.kill()?;
                self.child.wait()?;
                Err(format!("killed after {} s", duration.as_secs()))
            }
        };
        Ok(Some(Finished {
            title: self.run.title.clone(),
            output: self.output.clone(),
            duration,
            cpu: cpu_time::of_ended_children().saturating_sub(before),
            outcome,
        }))
    }
}

/// Ends what still runs when the runner fails.
impl Drop for Running<'_> {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// A program that has run.
pub(crate) struct Finished {
    pub(crate) title: String,
    /// The file with its output.
    pub(crate) output: PathBuf,
    pub(crate) duration: Duration,
    /// Of the program and the processes that it waited for.
    pub(crate) cpu: Duration,
    /// The tests that ran, or why the run failed.
    pub(crate) outcome: Result<Outcome, String>,
}

/// Runs all programs. A failed one does not stop the others. With the build of the control plane, ignored tests start when it is done.
pub(crate) fn run_all(
    mut runs: Vec<Run<'_>>,
    jobs: usize,
    folder: &Path,
    mut control_plane: Option<ControlPlaneBuild>,
) -> anyhow::Result<Vec<Finished>> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let libraries = PathBuf::from(library_path(folder)?);
    let (mut running, mut finished) = (Vec::<Running<'_>>::new(), vec![]);
    while !runs.is_empty() || !running.is_empty() {
        if control_plane.as_ref().is_some_and(JoinHandle::is_finished)
            && let Some(build) = control_plane.take()
        {
            build
                .join()
                .map_err(|_| anyhow!("the build of the control plane panicked"))??;
        }
        let pending: Vec<Entry> = runs.iter().map(|run| run.entry).collect();
        let started: Vec<Entry> = running.iter().map(|running| running.run.entry).collect();
        if let Some(index) = schedule::next(&pending, &started, jobs, control_plane.is_none()) {
            running.push(runs.remove(index).start(folder, &libraries)?);
            continue;
        }
        let mut index = 0;
        while index < running.len() {
            if let Some(result) = running[index].poll()? {
                let outcome = match &result.outcome {
                    Ok(outcome) => format!("{} ok", outcome.ran),
                    Err(reason) => format!("FAILED: {reason}"),
                };
                eprintln!(
                    "{:5.1} s, {:5.1} s of CPU  {}: {outcome}",
                    result.duration.as_secs_f32(),
                    result.cpu.as_secs_f32(),
                    result.title
                );
                running.swap_remove(index);
                finished.push(result);
            } else {
                index += 1;
            }
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(finished)
}
