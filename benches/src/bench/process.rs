//! A child process: what it says, and what it used, as Linux counts that.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};

/// A process takes at most so long for a step.
const PATIENCE: Duration = Duration::from_mins(5);
/// How long it must have been idle, and what it may do meanwhile.
const QUIET: Duration = Duration::from_millis(300);
const QUIET_MICROS: f64 = 3000.0;
const QUIET_TRIES: usize = 30;

/// Ends when it is dropped.
pub(crate) struct Process {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

impl Process {
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot run {}", command.get_program().display()))?;
        let input = child.stdin.take().context("no standard input")?;
        let output = child.stdout.take().context("no standard output")?;
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, input, lines })
    }

    /// The rest of the next line, which begins with `word`.
    pub(crate) fn said(&self, word: &str) -> Result<String> {
        let line = self.lines.recv_timeout(PATIENCE);
        let line = line.with_context(|| format!("the process ended or hangs before it said {word:?}"))?;
        match line.strip_prefix(word) {
            Some(rest) => Ok(rest.trim().to_owned()),
            None => bail!("{line:?} was said instead of {word:?}"),
        }
    }

    pub(crate) fn tell(&mut self, line: &str) -> Result<()> {
        Ok(writeln!(self.input, "{line}")?)
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn cpu_micros(&self) -> Result<f64> {
        cpu_micros(self.id())
    }

    /// Waits until the process does nothing any more: what it was told last may not be put away, or garbage be collected.
    pub(crate) fn settle(&self) -> Result<()> {
        let mut before = self.cpu_micros()?;
        for _ in 0..QUIET_TRIES {
            thread::sleep(QUIET);
            let now = self.cpu_micros()?;
            if now - before < QUIET_MICROS {
                return Ok(());
            }
            before = now;
        }
        Ok(())
    }

    /// Resident kilobytes now.
    pub(crate) fn resident(&self) -> Result<f64> {
        resident(self.id())
    }

    /// Those of them that are no pages of a file, which processes may share and the system can drop.
    pub(crate) fn anonymous(&self) -> Result<f64> {
        status(self.id(), "RssAnon:")
    }

    /// The most resident kilobytes since the start, or since [`forget_peak`](Self::forget_peak).
    pub(crate) fn peak(&self) -> Result<f64> {
        status(self.id(), "VmHWM:")
    }

    pub(crate) fn forget_peak(&self) -> Result<()> {
        Ok(fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5")?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// CPU time of all threads of a process, in microseconds. Threads of the subjects do not end.
pub(crate) fn cpu_micros(process: u32) -> Result<f64> {
    let mut nanos = 0;
    for thread in fs::read_dir(format!("/proc/{process}/task"))? {
        let times = fs::read_to_string(thread?.path().join("schedstat"))?;
        let running = times.split_whitespace().next().context("schedstat is empty")?;
        nanos += running.parse::<u64>()?;
    }
    #[expect(clippy::cast_precision_loss, reason = "a few minutes")]
    Ok(nanos as f64 / 1000.0)
}

/// Resident kilobytes of a process now.
pub(crate) fn resident(process: u32) -> Result<f64> {
    status(process, "VmRSS:")
}

fn status(process: u32, field: &str) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kilobytes = line.and_then(|value| value.trim().strip_suffix(" kB"));
    Ok(kilobytes.with_context(|| format!("no {field} in kB"))?.parse()?)
}
