//! Children: cargo, and the operator. None outlives its value, nor do those that it started.

use std::{
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader},
    process::{Child, ChildStdin, Command},
    task::JoinHandle,
};

use super::console::{Console, Speaker};
use crate::cargo::CargoError;

/// How long a child may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(10);

/// Becomes the program, after it has left a watchdog behind in its process group. The kernel closes the watchdog's pipe when we are gone,
/// in whatever way, and the watchdog kills the group.
#[cfg(unix)]
const SUPERVISED: &str = r#"
exec 3<&0 </dev/null
(trap '' HUP INT QUIT TERM; while read -r _; do :; done <&3; kill -s KILL 0) >/dev/null 2>&1 &
exec 3<&- "$@"
"#;

/// A child in a process group of its own, so that a terminal's Ctrl-C reaches us alone, and we end it in order.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    group: Option<u32>,
    /// The watchdog's pipe.
    lifeline: Option<ChildStdin>,
    /// What passes its lines on.
    readers: Vec<JoinHandle<()>>,
}

/// The same command, of a program that ends with us even when we are killed, which Unix alone allows. Its standard input is empty.
fn supervised(command: &std::process::Command) -> Command {
    #[cfg(unix)]
    let mut supervised = {
        let mut shell = Command::new("sh");
        shell.args(["-c", SUPERVISED, "sh"]).arg(command.get_program());
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

/// How a child ended that was asked for its output.
pub(super) struct Finished {
    pub(super) succeeded: bool,
    /// Whether it wrote to stderr.
    pub(super) said: bool,
    pub(super) stdout: String,
}

impl Process {
    /// Starts a child whose lines `speaker` says.
    pub(super) fn start(
        command: &std::process::Command,
        speaker: Speaker,
        console: &Console,
    ) -> Result<Self, CargoError> {
        let mut process = Self::spawn(command)?;
        if let Some(pipe) = process.child.stdout.take() {
            process
                .readers
                .push(tokio::spawn(pass_on(pipe, speaker, console.clone())));
        }
        if let Some(pipe) = process.child.stderr.take() {
            process
                .readers
                .push(tokio::spawn(pass_on(pipe, speaker, console.clone())));
        }
        Ok(process)
    }

    /// Runs a child, returns what it writes to stdout, and lets `speaker` say the rest.
    pub(super) async fn finish(
        command: &std::process::Command,
        speaker: Speaker,
        console: &Console,
    ) -> Result<Finished, CargoError> {
        let program = Path::new(command.get_program()).to_owned();
        let failed = |source| CargoError::NoCargo {
            cargo: program.clone(),
            source,
        };
        let mut process = Self::spawn(command)?;
        let (out, err) = (process.child.stdout.take(), process.child.stderr.take());
        let mut stdout = Vec::new();
        let read = async {
            match out {
                Some(mut pipe) => pipe.read_to_end(&mut stdout).await.map(drop),
                None => Ok(()),
            }
        };
        let talk = async {
            match err {
                Some(pipe) => say_lines(pipe, speaker, console).await,
                None => false,
            }
        };
        let (read, said) = tokio::join!(read, talk);
        read.map_err(failed)?;
        let status = process.child.wait().await.map_err(failed)?;
        process.group = None;
        // The shell's words for a program that it cannot become.
        match status.code() {
            Some(126) => return Err(failed(std::io::ErrorKind::PermissionDenied.into())),
            Some(127) => return Err(failed(std::io::ErrorKind::NotFound.into())),
            _ => {}
        }
        Ok(Finished {
            succeeded: status.success(),
            said,
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
        })
    }

    fn spawn(command: &std::process::Command) -> Result<Self, CargoError> {
        let mut command = supervised(command);
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command
            .kill_on_drop(true)
            .spawn()
            .map_err(|source| CargoError::NoCargo {
                cargo: Path::new(command.as_std().get_program()).to_owned(),
                source,
            })?;
        let group = child.id();
        Ok(Self {
            lifeline: child.stdin.take(),
            child,
            group,
            readers: Vec::new(),
        })
    }

    /// Waits until it ends by itself, and until its last line was passed on.
    pub(super) async fn ended(&mut self) -> std::io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        self.group = None;
        self.lifeline = None;
        for reader in self.readers.drain(..) {
            let _ = reader.await;
        }
        Ok(status)
    }

    /// Asks it to end, and makes it end when it does not.
    pub(super) async fn stop(mut self) {
        self.signal(Signal::Terminate);
        if tokio::time::timeout(GRACE, self.ended()).await.is_err() {
            self.signal(Signal::Kill);
            let _ = self.ended().await;
        }
    }

    /// While the child was not waited for, no other group has its number.
    #[cfg(unix)]
    fn signal(&self, signal: Signal) {
        use rustix::process::{Pid, Signal as Number, kill_process_group};
        let group = self.group.and_then(|group| Pid::from_raw(group.try_into().ok()?));
        let number = match signal {
            Signal::Terminate => Number::TERM,
            Signal::Kill => Number::KILL,
        };
        if let Some(group) = group {
            // An error says that it has ended.
            let _ = kill_process_group(group, number);
        }
    }

    #[cfg(not(unix))]
    fn signal(&mut self, _: Signal) {
        let _ = self.child.start_kill();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::Kill);
    }
}

#[derive(Clone, Copy)]
enum Signal {
    Terminate,
    Kill,
}

async fn pass_on(pipe: impl AsyncRead + Unpin, speaker: Speaker, console: Console) {
    say_lines(pipe, speaker, &console).await;
}

/// Says what comes, line by line. Whether anything came.
async fn say_lines(pipe: impl AsyncRead + Unpin, speaker: Speaker, console: &Console) -> bool {
    let mut pipe = BufReader::new(pipe);
    let (mut line, mut any) = (Vec::new(), false);
    loop {
        line.clear();
        match pipe.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return any,
            Ok(_) => {
                any = true;
                console
                    .say(speaker, String::from_utf8_lossy(&line).trim_end())
                    .await;
            }
        }
    }
}
