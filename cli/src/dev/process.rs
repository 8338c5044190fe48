//! Child processes: cargo and the operator. Dropping a [`Process`] kills the child's process group.

use std::{
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, BufReader},
    process::{Child, ChildStdin, Command},
    task::JoinHandle,
};

use super::console::{Console, LineOrigin};
use crate::{cargo::CommandOutput, error::CargoError};

/// Time between SIGTERM and SIGKILL.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// Starts a watchdog in the process group, then execs the program. When our process ends in any way, the kernel closes
/// the watchdog's pipe, and the watchdog kills the group.
#[cfg(unix)]
const WATCHDOG_SCRIPT: &str = r#"
exec 3<&0 </dev/null
(trap '' HUP INT QUIT TERM; while read -r _; do :; done <&3; kill -s KILL 0) >/dev/null 2>&1 &
exec 3<&- "$@"
"#;

/// A child in its own process group: a terminal's Ctrl-C reaches only us, and we stop the child.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    group: Option<u32>,
    /// The watchdog's pipe.
    watchdog_pipe: Option<ChildStdin>,
    /// Tasks that forward the child's output to the console.
    readers: Vec<JoinHandle<()>>,
}

/// Wraps a command in the watchdog script, so that the child ends even if we are killed (Unix only). stdin is empty.
fn with_watchdog(command: &std::process::Command) -> Command {
    #[cfg(unix)]
    let mut supervised = {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", WATCHDOG_SCRIPT, "sh"])
            .arg(command.get_program());
        shell.stdin(Stdio::piped());
        shell
    };
    #[cfg(not(unix))]
    let mut supervised = {
        let mut program = Command::new(command.get_program());
        program.stdin(Stdio::null());
        program
    };
    supervised.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => supervised.env(name, value),
            None => supervised.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        supervised.current_dir(folder);
    }
    supervised.stdout(Stdio::piped()).stderr(Stdio::piped());
    supervised
}

impl Process {
    /// Starts a child and forwards its stdout and stderr to the console.
    pub(super) fn start(
        command: &std::process::Command,
        origin: LineOrigin,
        console: &Console,
    ) -> Result<Self, CargoError> {
        let mut process = Self::spawn(command)?;
        if let Some(pipe) = process.child.stdout.take() {
            process
                .readers
                .push(tokio::spawn(forward_lines(pipe, origin, console.clone())));
        }
        if let Some(pipe) = process.child.stderr.take() {
            process
                .readers
                .push(tokio::spawn(forward_lines(pipe, origin, console.clone())));
        }
        Ok(process)
    }

    /// Runs a child to its end. Returns its stdout; stderr is forwarded to the console.
    pub(super) async fn run(
        command: &std::process::Command,
        origin: LineOrigin,
        console: &Console,
    ) -> Result<CommandOutput, CargoError> {
        Self::run_observed(command, origin, console, |_| {}).await
    }

    /// [Runs](Self::run) a child, and passes each line of its stdout to `on_line` as soon as it is there.
    pub(super) async fn run_observed(
        command: &std::process::Command,
        origin: LineOrigin,
        console: &Console,
        mut on_line: impl FnMut(&str),
    ) -> Result<CommandOutput, CargoError> {
        let program = Path::new(command.get_program()).to_owned();
        let failed = |source| CargoError::Spawn {
            cargo: program.clone(),
            source,
        };
        let mut process = Self::spawn(command)?;
        let (out, err) = (process.child.stdout.take(), process.child.stderr.take());
        let (mut stdout, mut stderr) = (String::new(), String::new());
        let read = async {
            let Some(pipe) = out else {
                return Ok(());
            };
            let (mut pipe, mut line) = (BufReader::new(pipe), Vec::new());
            while pipe.read_until(b'\n', &mut line).await? > 0 {
                let text = String::from_utf8_lossy(&line);
                on_line(text.trim_end());
                stdout.push_str(&text);
                line.clear();
            }
            Ok(())
        };
        let forward = async {
            if let Some(pipe) = err {
                log_lines(pipe, origin, console, |line| {
                    stderr.push_str(line);
                    stderr.push('\n');
                })
                .await;
            }
        };
        let (read, ()) = tokio::join!(read, forward);
        read.map_err(failed)?;
        let status = process.child.wait().await.map_err(failed)?;
        process.group = None;
        // Exit codes of the shell if it cannot exec the program.
        match status.code() {
            Some(126) => return Err(failed(std::io::ErrorKind::PermissionDenied.into())),
            Some(127) => return Err(failed(std::io::ErrorKind::NotFound.into())),
            _ => {}
        }
        Ok(CommandOutput {
            succeeded: status.success(),
            stdout,
            stderr,
        })
    }

    fn spawn(command: &std::process::Command) -> Result<Self, CargoError> {
        let mut command = with_watchdog(command);
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command
            .kill_on_drop(true)
            .spawn()
            .map_err(|source| CargoError::Spawn {
                cargo: Path::new(command.as_std().get_program()).to_owned(),
                source,
            })?;
        let group = child.id();
        Ok(Self {
            watchdog_pipe: child.stdin.take(),
            child,
            group,
            readers: Vec::new(),
        })
    }

    /// Waits until the child exits and all of its output is forwarded.
    pub(super) async fn wait(&mut self) -> std::io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        self.group = None;
        self.watchdog_pipe = None;
        for reader in self.readers.drain(..) {
            let _ = reader.await;
        }
        Ok(status)
    }

    /// Stops the process group with SIGTERM, and with SIGKILL after [`STOP_TIMEOUT`].
    pub(super) async fn stop(mut self) {
        self.signal(StopSignal::Terminate);
        if tokio::time::timeout(STOP_TIMEOUT, self.wait()).await.is_err() {
            self.signal(StopSignal::Kill);
            let _ = self.wait().await;
        }
    }

    /// Signals the process group. Its id cannot be reused before the child was waited for.
    #[cfg(unix)]
    fn signal(&self, signal: StopSignal) {
        use rustix::process::{Pid, Signal as UnixSignal, kill_process_group};
        let group = self.group.and_then(|group| Pid::from_raw(group.try_into().ok()?));
        let number = match signal {
            StopSignal::Terminate => UnixSignal::TERM,
            StopSignal::Kill => UnixSignal::KILL,
        };
        if let Some(group) = group {
            // Fails only if the group has ended.
            let _ = kill_process_group(group, number);
        }
    }

    #[cfg(not(unix))]
    fn signal(&mut self, _: StopSignal) {
        let _ = self.child.start_kill();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(StopSignal::Kill);
    }
}

#[derive(Clone, Copy)]
enum StopSignal {
    Terminate,
    Kill,
}

async fn forward_lines(pipe: impl AsyncRead + Unpin, origin: LineOrigin, console: Console) {
    log_lines(pipe, origin, &console, |_| {}).await;
}

/// Forwards a pipe to the console line by line, and passes each line to `on_line`.
async fn log_lines(
    pipe: impl AsyncRead + Unpin,
    origin: LineOrigin,
    console: &Console,
    mut on_line: impl FnMut(&str),
) {
    let mut pipe = BufReader::new(pipe);
    let mut line = Vec::new();
    loop {
        line.clear();
        match pipe.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let text = String::from_utf8_lossy(&line);
                on_line(text.trim_end());
                console.log(origin, text.trim_end()).await;
            }
        }
    }
}
