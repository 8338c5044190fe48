//! `kubewright doctor`: what keeps a project or its cluster from working, and the fix of each.
//!
//! [`toolchain`] looks at the tools, [`files`] at what `generate` would change, [`packages`] at what `package` would, [`cluster`] at CRDs and permissions in a cluster;
//! `drift` compares a CRD with that of the code.

pub mod cluster;
mod drift;
pub mod files;
pub mod packages;
pub mod toolchain;

use std::fmt;

use crate::{Context, Error};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    /// As it should be.
    Ok,
    /// The user may want it so.
    Warning,
    /// It must be fixed.
    Problem,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Problem => "problem",
        })
    }
}

/// Prints findings, one a line, and counts the problems.
pub struct Report<'a, 'c> {
    context: &'a mut Context<'c>,
    problems: usize,
}

impl<'a, 'c> Report<'a, 'c> {
    /// Creates a report that prints to the context's stdout.
    pub fn new(context: &'a mut Context<'c>) -> Self {
        Self { context, problems: 0 }
    }

    /// Returns the environment of the checks.
    pub fn context(&mut self) -> &mut Context<'c> {
        self.context
    }

    /// Reports that a subject is as it should be.
    pub fn ok(&mut self, subject: &str, detail: impl fmt::Display) -> Result<(), Error> {
        self.print(Level::Ok, subject, detail)
    }

    /// Reports what the user may want so.
    pub fn warning(&mut self, subject: &str, detail: impl fmt::Display) -> Result<(), Error> {
        self.print(Level::Warning, subject, detail)
    }

    /// Reports what must be fixed.
    pub fn problem(&mut self, subject: &str, detail: impl fmt::Display) -> Result<(), Error> {
        self.problems += 1;
        self.print(Level::Problem, subject, detail)
    }

    /// Fails if there are problems.
    pub fn finish(self) -> Result<(), Error> {
        match self.problems {
            0 => Ok(()),
            count => Err(Error::Problems(count)),
        }
    }

    fn print(&mut self, level: Level, subject: &str, detail: impl fmt::Display) -> Result<(), Error> {
        let detail = detail.to_string();
        let lines: Vec<_> = detail
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        self.context
            .print(&format!("{level:<7} {subject}: {}\n", lines.join(" ")))
    }
}
