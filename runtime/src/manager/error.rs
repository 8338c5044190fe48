//! The manager's errors and their exit codes.

use std::{fmt, io};

use tokio::time::Duration;

use super::{kubeconfig::ConfigError, leader::LostLease, manifests::ManifestError};
use crate::{client::ConnectError, controller::RegistrationError};

// ANCHOR: error
/// Why the operator ended. `Debug` prints the message as `Display` does, so that a `main` that returns the error prints it readably.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The command line or environment is invalid, or requests help or the version; displays as clap's message.
    #[error(transparent)]
    Usage(#[from] clap::Error),
    /// The registered controllers, runnables or metrics are invalid.
    #[error("the registration is invalid:{}", list(.0))]
    Registration(Vec<RegistrationError>),
    /// The manifests cannot be generated.
    #[error("generating the manifests failed:{}", list(.0))]
    Manifests(Vec<ManifestError>),
    /// The manifests cannot be written to stdout.
    #[error("printing the manifests failed: {0}")]
    Output(#[source] io::Error),
    /// The kubeconfig or in-cluster configuration cannot be loaded.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// No client can be made from the configuration.
    #[error("{}", with_sources(.0))]
    Connect(#[from] ConnectError),
    /// Components are to act as service accounts, but the manager was given a client, whose credentials cannot be replaced.
    #[error(
        "components cannot act as service accounts with a client: give the manager a configuration, with `with_config`"
    )]
    ServiceAccountsOfClient,
    /// The operator's name is not a valid lease name.
    #[error("invalid operator name {0:?}: write lower-case letters, digits and `-`, as in \"shop\"")]
    Name(String),
    /// `manifests` was called, and a flag of the operator has no default.
    #[error(
        "`manifests` takes none of the operator's flags, and one has no default: make it an `Option` or give it a `default_value`\n{0}"
    )]
    FlagsForManifests(#[source] clap::Error),
    /// `--controllers` has an unknown name.
    #[error("--controllers has an unknown controller {name:?}{hint}")]
    NoSuchController {
        /// The unknown name.
        name: String,
        /// A similar name, or all of them.
        hint: String,
    },
    /// The leader election timing is invalid.
    #[error("{0}")]
    LeaderElection(String),
    /// The signal handlers cannot be installed.
    #[error("installing the signal handlers failed: {0}")]
    Signals(#[source] io::Error),
    /// The certificate or the key of the servers is invalid.
    #[error("{0}")]
    Tls(String),
    /// A server cannot listen.
    #[error(
        "serving {what} on {address} failed: {source}; choose another address with {flag}, or 0 to switch it off"
    )]
    Listen {
        /// Health checks, metrics or webhooks.
        what: &'static str,
        /// The address.
        address: String,
        /// The flag that changes it.
        flag: &'static str,
        /// The I/O error.
        source: io::Error,
    },
    /// The leader lease was lost: another replica leads, or may lead.
    #[error("{0}; controllers and leader-only runnables were stopped: restart the operator")]
    LostLease(#[from] LostLease),
    /// A runnable failed.
    #[error("runnable {name:?} failed: {reason}")]
    Runnable {
        /// Its name.
        name: String,
        /// Its error with the sources, or its panic.
        reason: String,
    },
    /// A controller's workers panicked outside of a reconcile: in a rate limiter of the user's, or by a bug of this library.
    #[error("controller {name:?} ended: {reason}")]
    Controller {
        /// Its name.
        name: String,
        /// Its panic.
        reason: String,
    },
    /// An informer panicked: a backoff or another function of the user's that it calls, or a bug of this library. The controllers would go on
    /// with a cache that is no longer updated.
    #[error("{0}")]
    Informer(String),
    /// Reconciles or runnables were cancelled at the end of the grace period.
    #[error("cancelled at the end of the grace period of {period:?}: {}; shorten the work or increase --grace-period", .parts.join(", "))]
    GracePeriod {
        /// The grace period.
        period: Duration,
        /// The cancelled controllers and runnables.
        parts: Vec<String>,
    },
}
// ANCHOR_END: error

/// The result of an operator's `main`.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Prints the message and ends the process.
    pub(super) fn end_process(self) -> ! {
        match self {
            // clap prints help to stdout, and errors to stderr, with colours.
            Self::Usage(error) => error.exit(),
            error => {
                eprintln!("error: {error}");
                std::process::exit(error.exit_code())
            }
        }
    }

    /// Returns the exit code of the process: 2 for an invalid command line or environment (0 for help and version), 3 for a lost lease,
    /// 4 for a failed runnable, 5 when something was cancelled at the end of the grace period, 1 for everything else.
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

fn list<E: fmt::Display>(errors: &[E]) -> String {
    errors
        .iter()
        .fold(String::new(), |text, error| text + "\n  " + &error.to_string())
}

/// Formats an error and its sources on one line, each text once.
pub(super) fn with_sources(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    for error in std::iter::successors(error.source(), |&error| error.source()) {
        let source = error.to_string();
        if !text.contains(&source) {
            text = format!("{text}: {source}");
        }
    }
    text
}
