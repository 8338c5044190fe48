//! Child processes that never outlive the test.
//!
//! A child runs in its own process group, together with a small watchdog: a `sh` that holds the reading end of a pipe from us. When our
//! process ends in any way, the kernel closes the pipe, and the watchdog kills the group. The group's number cannot have been reused, since
//! the watchdog is still in the group.

use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Starts the watchdog in the background and then executes the program.
const SUPERVISE_SCRIPT: &str = r#"
exec 3<&0 </dev/null
(trap '' HUP INT QUIT TERM; while read -r _; do :; done <&3; kill -s KILL 0) >/dev/null 2>&1 &
exec 3<&- "$@"
"#;

/// Poll interval while waiting for an exit.
const EXIT_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Number of log lines in messages.
const LOG_TAIL_LINES: usize = 30;

/// A child process could not be started or signaled.
#[derive(Debug, thiserror::Error)]
#[error("{action} {program}: {source}", program = program.display())]
pub struct ProcessError {
    action: &'static str,
    program: PathBuf,
    source: io::Error,
}

/// How to start a child process: program, arguments, environment (ours with changes) and log file.
#[derive(Clone, Debug)]
pub struct Launch {
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, Option<OsString>)>,
    folder: Option<PathBuf>,
    log: PathBuf,
}

impl Launch {
    /// A program, and the file to which its stdout and stderr are appended.
    pub fn new(program: impl Into<PathBuf>, log: impl Into<PathBuf>) -> Self {
        let (program, log) = (program.into(), log.into());
        Self {
            program,
            arguments: Vec::new(),
            environment: Vec::new(),
            folder: None,
            log,
        }
    }

    /// Adds an argument.
    pub fn arg(self, argument: impl AsRef<OsStr>) -> Self {
        self.args([argument])
    }

    /// Adds arguments.
    pub fn args<S: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.arguments
            .extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment
            .push((name.as_ref().to_owned(), Some(value.as_ref().to_owned())));
        self
    }

    /// Removes a variable of our environment.
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), None));
        self
    }

    /// Sets the working directory; by default ours.
    pub fn current_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Starts the child. If the program cannot be executed, the child exits with status 126 or 127, and its log has the reason.
    pub fn start(self) -> Result<ChildProcess, ProcessError> {
        let (child, watchdog_pipe) = self
            .spawn()
            .map_err(|source| self.error("cannot start", source))?;
        Ok(ChildProcess {
            launch: self,
            child,
            watchdog_pipe,
            exited: None,
            quiet: false,
        })
    }

    fn spawn(&self) -> io::Result<(Child, Option<ChildStdin>)> {
        let log = OpenOptions::new().create(true).append(true).open(&self.log)?;
        let mut command = supervisor(SUPERVISE_SCRIPT);
        command
            .arg(&self.program)
            .args(&self.arguments)
            .stdout(log.try_clone()?)
            .stderr(log);
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        let mut child = command.spawn()?;
        let watchdog_pipe = child.stdin.take();
        Ok((child, watchdog_pipe))
    }

    fn error(&self, action: &'static str, source: io::Error) -> ProcessError {
        ProcessError {
            action,
            program: self.program.clone(),
            source,
        }
    }
}

/// A running child process. Dropping it kills it and its descendants; if the drop is due to a panic, it prints the end of the log.
#[derive(Debug)]
pub struct ChildProcess {
    launch: Launch,
    child: Child,
    /// The writing end of the watchdog's pipe.
    watchdog_pipe: Option<ChildStdin>,
    exited: Option<ExitStatus>,
    quiet: bool,
}

impl ChildProcess {
    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The log, including that of earlier starts.
    pub fn log(&self) -> String {
        std::fs::read(&self.launch.log).map_or_else(
            |error| format!("(no log: {error})"),
            |log| String::from_utf8_lossy(&log).into_owned(),
        )
    }

    /// The last lines of the log.
    pub fn log_tail(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n")
    }

    /// The log's path.
    pub fn log_path(&self) -> &Path {
        &self.launch.log
    }

    /// The exit status; none while the child runs.
    pub fn exit_status(&mut self) -> Result<Option<ExitStatus>, ProcessError> {
        if self.exited.is_none() {
            self.exited = self
                .child
                .try_wait()
                .map_err(|source| self.launch.error("cannot wait for", source))?;
        }
        Ok(self.exited)
    }

    /// Waits until the child exits. None if it still runs after the timeout.
    pub fn wait(&mut self, timeout: Duration) -> Result<Option<ExitStatus>, ProcessError> {
        let start = Instant::now();
        loop {
            let status = self.exit_status()?;
            if status.is_some() || start.elapsed() >= timeout {
                return Ok(status);
            }
            std::thread::sleep(EXIT_POLL_INTERVAL);
        }
    }

    /// SIGTERM, then [`ChildProcess::wait`].
    pub fn terminate(&mut self, timeout: Duration) -> Result<Option<ExitStatus>, ProcessError> {
        self.signal("TERM")?;
        self.wait(timeout)
    }

    /// SIGINT, as Ctrl-C sends it, then [`ChildProcess::wait`].
    pub fn interrupt(&mut self, timeout: Duration) -> Result<Option<ExitStatus>, ProcessError> {
        self.signal("INT")?;
        self.wait(timeout)
    }

    /// Sends SIGKILL to the child and its descendants, and waits until the child is gone.
    pub fn kill(&mut self) -> Result<ExitStatus, ProcessError> {
        // The watchdog kills the group; killing the child here is for the case that the watchdog was killed.
        drop(self.watchdog_pipe.take());
        if let Some(status) = self.exit_status()? {
            return Ok(status);
        }
        let status = self.child.kill().and_then(|()| self.child.wait());
        let status = status.map_err(|source| self.launch.error("cannot kill", source))?;
        self.exited = Some(status);
        Ok(status)
    }

    /// Sends SIGSTOP: the child keeps its connections and leases but does nothing, as on a hanging machine.
    pub fn pause(&mut self) -> Result<(), ProcessError> {
        self.signal("STOP")
    }

    /// Sends SIGCONT, after [`ChildProcess::pause`].
    pub fn resume(&mut self) -> Result<(), ProcessError> {
        self.signal("CONT")
    }

    /// Kills the child if it runs, and starts it again. The log is continued.
    pub fn restart(&mut self) -> Result<(), ProcessError> {
        self.kill()?;
        let (child, watchdog_pipe) = self
            .launch
            .spawn()
            .map_err(|source| self.launch.error("cannot restart", source))?;
        (self.child, self.watchdog_pipe, self.exited) = (child, watchdog_pipe, None);
        Ok(())
    }

    /// Disables printing the log when a panic drops the child.
    pub(crate) fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    /// Sends a signal. The pid cannot have been reused while the child has not been waited for.
    fn signal(&mut self, name: &str) -> Result<(), ProcessError> {
        if self.exit_status()?.is_some() {
            return Err(self
                .launch
                .error("cannot signal", io::Error::other("it has exited")));
        }
        let status = Command::new("sh")
            .args(["-c", r#"kill -s "$1" "$2""#, "sh", name, &self.pid().to_string()])
            .stdin(Stdio::null())
            .status()
            .map_err(|source| self.launch.error("cannot signal", source))?;
        if status.success() {
            Ok(())
        } else {
            Err(self
                .launch
                .error("cannot signal", io::Error::other(format!("kill: {status}"))))
        }
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.quiet {
            let program = self.launch.program.display();
            eprintln!("--- end of the log of {program} ---\n{}\n---", self.log_tail());
        }
        // The error means that the process is already gone.
        let _ = self.kill();
    }
}

/// A `sh` with a pipe on stdin, in its own process group, which does not get signals of the terminal.
pub(crate) fn supervisor(script: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", script, "sh"])
        .stdin(Stdio::piped())
        .process_group(0);
    command
}
