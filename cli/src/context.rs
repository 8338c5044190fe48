//! What a command knows of the world around it.

use std::{
    env,
    io::{self, IsTerminal, Write},
    path::PathBuf,
};

use crate::{Error, plan::IoError};

/// The world around a command; tests make their own.
pub struct Context<'a> {
    /// Where relative paths start.
    pub cwd: PathBuf,
    /// Data.
    pub stdout: &'a mut dyn Write,
    /// Talk.
    pub stderr: &'a mut dyn Write,
    /// The cargo to call.
    pub cargo: PathBuf,
    /// The rustfmt to call; what it cannot format stays as it was rendered.
    pub rustfmt: PathBuf,
    /// The git to call; all works without it.
    pub git: PathBuf,
    /// Whether the compiler's messages may be coloured.
    pub color: bool,
}

impl<'a> Context<'a> {
    /// The process's own: its folder, `CARGO` and `RUSTFMT` or those of the search path, colour on a terminal unless
    /// `NO_COLOR` is set.
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

    /// Writes a line of talk.
    pub fn say(&mut self, line: impl std::fmt::Display) -> Result<(), Error> {
        writeln!(self.stderr, "{line}").map_err(|source| IoError::new("write to", "stderr", source).into())
    }

    /// Writes data as it is.
    pub fn print(&mut self, text: &str) -> Result<(), Error> {
        self.stdout
            .write_all(text.as_bytes())
            .and_then(|()| self.stdout.flush())
            .map_err(|source| IoError::new("write to", "stdout", source).into())
    }
}
