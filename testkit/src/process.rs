//! Child processes that never outlive the test.
//!
//! A child runs in a process group of its own, together with a small watchdog, a `sh` that holds the reading end of
//! a pipe whose writing end is ours. When we are gone, in whatever way, the kernel closes the pipe, and the watchdog
//! kills the group. Nobody else can have got the group's number by then: the watchdog is still in it.

use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Becomes the program, after it has left the watchdog behind.
const SUPERVISED: &str = r#"
exec 3<&0 </dev/null
(trap '' HUP INT QUIT TERM; while read -r _; do :; done <&3; kill -s KILL 0) >/dev/null 2>&1 &
exec 3<&- "$@"
"#;

/// How often an awaited exit is looked for.
const PAUSE: Duration = Duration::from_millis(10);

/// How much of a log a message shows.
const TAIL_LINES: usize = 30;

/// A child process could not be started or reached.
#[derive(Debug, thiserror::Error)]
#[error("{what} {program}: {source}", program = program.display())]
pub struct ProcessError {
    what: &'static str,
    program: PathBuf,
    source: io::Error,
}

/// How to start a child: the program, its arguments, its environment (ours, with changes) and its log.
#[derive(Clone, Debug)]
pub struct Launch {
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, Option<OsString>)>,
    folder: Option<PathBuf>,
    log: PathBuf,
}

impl Launch {
    /// A program, and the file that its standard output and error are appended to.
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

    /// Sets a variable of the environment.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment
            .push((name.as_ref().to_owned(), Some(value.as_ref().to_owned())));
        self
    }

    /// Leaves out a variable of our own environment.
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), None));
        self
    }

    /// The working directory; ours when not set.
    pub fn current_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Starts the child. That a program cannot be executed shows as its exit with status 126 or 127, and in its log.
    pub fn start(self) -> Result<ChildProcess, ProcessError> {
        let (child, lifeline) = self
            .spawn()
            .map_err(|source| self.error("cannot start", source))?;
        Ok(ChildProcess {
            launch: self,
            child,
            lifeline,
            ended: None,
            quiet: false,
        })
    }

    fn spawn(&self) -> io::Result<(Child, Option<ChildStdin>)> {
        let log = OpenOptions::new().create(true).append(true).open(&self.log)?;
        let mut command = supervisor(SUPERVISED);
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
        let lifeline = child.stdin.take();
        Ok((child, lifeline))
    }

    fn error(&self, what: &'static str, source: io::Error) -> ProcessError {
        ProcessError {
            what,
            program: self.program.clone(),
            source,
        }
    }
}

/// A running child. Dropping it kills it, with all that it started; when a panic drops it, the end of its log is
/// printed.
#[derive(Debug)]
pub struct ChildProcess {
    launch: Launch,
    child: Child,
    /// The writing end of the watchdog's pipe.
    lifeline: Option<ChildStdin>,
    ended: Option<ExitStatus>,
    quiet: bool,
}

impl ChildProcess {
    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Everything that the child has written so far, through all restarts.
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
        lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
    }

    /// The log's path.
    pub fn log_path(&self) -> &Path {
        &self.launch.log
    }

    /// The exit status when the child has ended, None while it runs.
    pub fn exit_status(&mut self) -> Result<Option<ExitStatus>, ProcessError> {
        if self.ended.is_none() {
            self.ended = self
                .child
                .try_wait()
                .map_err(|source| self.launch.error("cannot wait for", source))?;
        }
        Ok(self.ended)
    }

    /// Waits until the child ends of its own accord. None when it still runs after that time.
    pub fn wait(&mut self, timeout: Duration) -> Result<Option<ExitStatus>, ProcessError> {
        let start = Instant::now();
        loop {
            let status = self.exit_status()?;
            if status.is_some() || start.elapsed() >= timeout {
                return Ok(status);
            }
            std::thread::sleep(PAUSE);
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

    /// SIGKILL to the child and to all that it started; returns when the child is gone.
    pub fn kill(&mut self) -> Result<ExitStatus, ProcessError> {
        // The watchdog takes the group; ours is only for the case that somebody has killed the watchdog.
        drop(self.lifeline.take());
        if let Some(status) = self.exit_status()? {
            return Ok(status);
        }
        let status = self.child.kill().and_then(|()| self.child.wait());
        let status = status.map_err(|source| self.launch.error("cannot kill", source))?;
        self.ended = Some(status);
        Ok(status)
    }

    /// SIGSTOP: the child keeps its connections and leases but does nothing, as on a machine that hangs.
    pub fn pause(&mut self) -> Result<(), ProcessError> {
        self.signal("STOP")
    }

    /// SIGCONT, after [`ChildProcess::pause`].
    pub fn resume(&mut self) -> Result<(), ProcessError> {
        self.signal("CONT")
    }

    /// Kills the child if it runs, and starts it again in the same way. The log goes on.
    pub fn restart(&mut self) -> Result<(), ProcessError> {
        self.kill()?;
        let (child, lifeline) = self
            .launch
            .spawn()
            .map_err(|source| self.launch.error("cannot restart", source))?;
        (self.child, self.lifeline, self.ended) = (child, lifeline, None);
        Ok(())
    }

    /// Does not print the log when a panic drops it.
    pub(crate) fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    /// While the child has not been waited for, no other process can have its id.
    fn signal(&mut self, name: &str) -> Result<(), ProcessError> {
        if self.exit_status()?.is_some() {
            return Err(self
                .launch
                .error("cannot signal", io::Error::other("it has ended")));
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
            eprintln!(
                "--- the log of {program} ends ---\n{}\n--- end of that log ---",
                self.log_tail()
            );
        }
        // An error here means that it is gone.
        let _ = self.kill();
    }
}

/// A `sh` with a pipe on its standard input, in a process group of its own: signals of the terminal do not reach it.
pub(crate) fn supervisor(script: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", script, "sh"])
        .stdin(Stdio::piped())
        .process_group(0);
    command
}
