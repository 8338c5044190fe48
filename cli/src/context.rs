//! The environment of a command: directory, output streams and tools.

use std::{
    env,
    io::{self, IsTerminal, Write},
    path::PathBuf,
};

use crate::{Error, plan::IoError};

/// The environment of a command; tests construct their own.
pub struct Context<'a> {
    /// The current directory: relative paths start here.
    pub cwd: PathBuf,
    /// For data.
    pub stdout: &'a mut dyn Write,
    /// For messages.
    pub stderr: &'a mut dyn Write,
    /// The cargo executable.
    pub cargo: PathBuf,
    /// The rustfmt executable.
    pub rustfmt: PathBuf,
    /// The git executable; optional.
    pub git: PathBuf,
    /// Whether the compiler's messages may be coloured.
    pub color: bool,
}

impl<'a> Context<'a> {
    /// Returns the process's environment: its directory, the tools in `CARGO` and `RUSTFMT` or on `PATH`, and colour if
    /// stderr is a terminal and `NO_COLOR` is not set.
    pub fn from_environment(stdout: &'a mut dyn Write, stderr: &'a mut dyn Write) -> Result<Self, Error> {
        let tool = |variable, name: &str| env::var_os(variable).map_or_else(|| name.into(), PathBuf::from);
        Ok(Self {
            cwd: env::current_dir().map_err(|source| IoError::new("read", ".", source))?,
            stdout,
            stderr,
            cargo: tool("CARGO", "cargo"),
            rustfmt: tool("RUSTFMT", "rustfmt"),
            git: "git".into(),
            color: io::stderr().is_terminal() && env::var_os("NO_COLOR").is_none(),
        })
    }

    /// Writes a message line to stderr.
    pub fn message(&mut self, line: impl std::fmt::Display) -> Result<(), Error> {
        writeln!(self.stderr, "{line}").map_err(|source| IoError::new("write to", "stderr", source).into())
    }

    /// Writes data to stdout, unchanged, and flushes it.
    pub fn print(&mut self, text: &str) -> Result<(), Error> {
        self.stdout
            .write_all(text.as_bytes())
            .and_then(|()| self.stdout.flush())
            .map_err(|source| IoError::new("write to", "stdout", source).into())
    }
}
