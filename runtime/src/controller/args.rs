//! Source of the operator's own command line flags.

use std::ffi::OsString;

use clap::{ArgMatches, Command};

/// Parses the flags of [`Setup::args`](super::Setup::args). The implementation of the manager also knows the manager's flags.
pub trait ArgSource: Send + Sync {
    /// Parses the command line with the flags that `augment` adds to the command. Flags that other calls add are not known yet, and are
    /// ignored.
    fn parse(&self, augment: fn(Command) -> Command) -> Result<ArgMatches, clap::Error>;

    /// Exits with an error in the command line.
    fn refuse(&self, error: clap::Error) -> !;
}

/// Command line arguments from a list, for tests. Panics if the arguments do not fit the flags.
#[derive(Debug, Clone, Default)]
pub struct FixedArgs(Vec<OsString>);

impl FixedArgs {
    /// Takes the arguments, without the program's name.
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
