//! Why an operator ended.

use std::{fmt, io};

use tokio::time::Duration;

pub use super::{
    connect::ConfigError,
    leader::LostLease,
    manifests::{DefinitionError, IndexError, ManifestError},
};
use crate::{client::ConnectError, controller::RegistrationError};

/// Why the operator ended. Its debug form is its message, so that a `main` that returns it says something readable.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The command line or the environment does not fit, or asks for help; displays as clap's message.
    #[error(transparent)]
    Usage(#[from] clap::Error),
    /// What was registered does not fit together.
    #[error("the operator is not set up right:{}", listed(.0))]
    Registration(Vec<RegistrationError>),
    /// The manifests cannot be made.
    #[error("no manifests:{}", listed(.0))]
    Manifests(Vec<ManifestError>),
    /// The manifests cannot be written.
    #[error("the manifests cannot be printed: {0}")]
    Output(#[source] io::Error),
    /// It is not known how to connect.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The configuration makes no client.
    #[error("{}", with_sources(.0))]
    Connect(#[from] ConnectError),
    /// The operator's name cannot name its lease.
    #[error("{0:?} cannot be an operator's name: write lower-case letters, digits and `-`, as in \"shop\"")]
    Name(String),
    /// Flags of the operator's own are required where none are given.
    #[error(
        "`manifests` prints without the operator's flags, and one has no default: make it an Option or give it `default_value`\n{0}"
    )]
    FlagsForManifests(#[source] clap::Error),
    /// The flag names a controller that is not there.
    #[error("--controllers names {name:?}, which is no controller{hint}")]
    NoSuchController {
        /// The name.
        name: String,
        /// What there is.
        hint: String,
    },
    /// The times of the leader election do not fit together.
    #[error("{0}")]
    LeaderElection(String),
    /// The process cannot listen to signals.
    #[error("cannot listen to signals: {0}")]
    Signals(#[source] io::Error),
    /// A server cannot listen.
    #[error("cannot serve {what} on {address}: {source}; choose another address with {flag}, or 0 for none")]
    Listen {
        /// Health checks or metrics.
        what: &'static str,
        /// Where.
        address: String,
        /// The flag that changes it.
        flag: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// Another replica leads, or may lead, now.
    #[error("{0}; everything that only the leader may do was stopped, the operator must be started again")]
    LostLease(#[from] LostLease),
    /// A runnable failed.
    #[error("runnable {name:?} failed: {reason}")]
    Runnable {
        /// Its name.
        name: String,
        /// Its error with the sources, or its panic.
        reason: String,
    },
    /// A controller's workers ended although nobody stopped them: a mistake of the library's.
    #[error("controller {name:?} ended: {reason}")]
    Controller {
        /// Its name.
        name: String,
        /// Its panic.
        reason: String,
    },
    /// Not everything ended in time, and was cancelled.
    #[error("not ended within the grace period of {period:?} and cancelled: {}; shorten the work or lengthen --grace-period", .parts.join(", "))]
    GracePeriod {
        /// The grace period.
        period: Duration,
        /// What was cancelled.
        parts: Vec<String>,
    },
}

/// The result of an operator's `main`.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Prints the message and ends the process.
    pub(super) fn end_process(self) -> ! {
        match self {
            // clap prints help to stdout and mistakes, with colours, to stderr.
            Self::Usage(error) => error.exit(),
            error => {
                eprintln!("error: {error}");
                std::process::exit(error.exit_code())
            }
        }
    }

    /// With what the process ends: 2 for mistakes in the command line or environment (0 for help and version), 3 for a lost
    /// lease, 4 for a failed runnable, 5 when something was cancelled at the end of the grace period, 1 for everything else.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Usage(error) => error.exit_code(),
            Self::NoSuchController { .. } | Self::LeaderElection(_) => 2,
            Self::LostLease(_) => 3,
            Self::Runnable { .. } => 4,
            Self::GracePeriod { .. } => 5,
            _ => 1,
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

fn listed<E: fmt::Display>(errors: &[E]) -> String {
    errors
        .iter()
        .fold(String::new(), |said, error| said + "\n  " + &error.to_string())
}

/// An error and its sources on one line, each text once.
pub(super) fn with_sources(error: &(dyn std::error::Error + 'static)) -> String {
    let mut said = error.to_string();
    for error in std::iter::successors(error.source(), |&error| error.source()) {
        let text = error.to_string();
        if !said.contains(&text) {
            said = format!("{said}: {text}");
        }
    }
    said
}
