//! A child process: communicates with it in lines, and reads its CPU time and memory from `/proc`.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};

/// Longest wait for the next line.
const LINE_TIMEOUT: Duration = Duration::from_mins(5);
/// A process is idle if it uses less than this CPU time in one interval. The wait ends after the maximum number of intervals.
const IDLE_INTERVAL: Duration = Duration::from_millis(300);
const IDLE_MAX_CPU_MICROS: f64 = 3000.0;
const IDLE_MAX_INTERVALS: usize = 30;

/// A child process, killed on drop.
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

    /// Waits for the next line, which must begin with `word`, and returns the rest of it.
    pub(crate) fn expect_line(&self, word: &str) -> Result<String> {
        let line = self.lines.recv_timeout(LINE_TIMEOUT);
        let line =
            line.with_context(|| format!("the process exited or timed out before it printed {word:?}"))?;
        match line.strip_prefix(word) {
            Some(rest) => Ok(rest.trim().to_owned()),
            None => bail!("the process printed {line:?} instead of {word:?}"),
        }
    }

    pub(crate) fn send_line(&mut self, line: &str) -> Result<()> {
        Ok(writeln!(self.input, "{line}")?)
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn cpu_micros(&self) -> Result<f64> {
        cpu_micros(self.id())
    }

    /// Waits until the process is idle: after its last output it may still store data or collect garbage.
    pub(crate) fn wait_until_idle(&self) -> Result<()> {
        let mut before = self.cpu_micros()?;
        for _ in 0..IDLE_MAX_INTERVALS {
            thread::sleep(IDLE_INTERVAL);
            let now = self.cpu_micros()?;
            if now - before < IDLE_MAX_CPU_MICROS {
                return Ok(());
            }
            before = now;
        }
        Ok(())
    }

    /// Returns the resident memory in kilobytes.
    pub(crate) fn resident_kb(&self) -> Result<f64> {
        resident_kb(self.id())
    }

    /// Returns the anonymous resident memory in kilobytes: without pages of files, which processes share and the kernel can drop.
    pub(crate) fn anonymous_kb(&self) -> Result<f64> {
        status_kb(self.id(), "RssAnon:")
    }

    /// Returns the peak of the resident memory in kilobytes, since the start or since [`reset_peak`](Self::reset_peak).
    pub(crate) fn peak_kb(&self) -> Result<f64> {
        status_kb(self.id(), "VmHWM:")
    }

    pub(crate) fn reset_peak(&self) -> Result<()> {
        Ok(fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5")?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the CPU time of all threads of a process, in microseconds. Exited threads are not counted; the subjects' threads do not exit.
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
pub(crate) fn resident_kb(process: u32) -> Result<f64> {
    status_kb(process, "VmRSS:")
}

fn status_kb(process: u32, field: &str) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kilobytes = line.and_then(|value| value.trim().strip_suffix(" kB"));
    Ok(kilobytes.with_context(|| format!("no {field} in kB"))?.parse()?)
}
