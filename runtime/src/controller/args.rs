//! Where the operator's own flags come from.

use std::ffi::OsString;

use clap::{ArgMatches, Command};

/// Parses the flags that [`Setup::args`](super::Setup::args) asks for. The manager has one that knows its own flags besides.
pub trait ArgSource: Send + Sync {
    /// Parses the command line by what `augment` adds to the command. Flags that other calls add are not yet known, and are no error.
    fn parse(&self, augment: fn(Command) -> Command) -> Result<ArgMatches, clap::Error>;

    /// Ends the caller with an error of its command line.
    fn refuse(&self, error: clap::Error) -> !;
}

/// A command line given as a list: what tests use. A wrong one panics.
#[derive(Debug, Clone, Default)]
pub struct FixedArgs(Vec<OsString>);

impl FixedArgs {
    /// Arguments without the program's name.
    pub fn new(args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self(args.into_iter().map(Into::into).collect())
    }
}

impl ArgSource for FixedArgs {
    fn parse(&self, augment: fn(Command) -> Command) -> Result<ArgMatches, clap::Error> {
        augment(Command::new("operator").no_binary_name(true)).try_get_matches_from(&self.0)
    }

    fn refuse(&self, error: clap::Error) -> ! {
        panic!(
            "the arguments {:?} do not fit the operator's flags: {error}",
            self.0
        )
    }
}
