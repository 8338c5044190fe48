//! Why an operator ended.

use std::{fmt, io};

use tokio::time::Duration;

pub use super::{
    connect::ConfigError,
    leader::LostLease,
    manifests::{DefinitionError, IndexError, ManifestError},
};
use crate::controller::RegistrationError;

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
    #[error(
        "the API server's configuration makes no client: {0}; check server, certificates and credentials in the kubeconfig"
    )]
    Client(#[source] kube::Error),
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
    /// A part of the library ended although nobody stopped it: a mistake of the library's.
    #[error("{part} ended unexpectedly: {reason}")]
    Ended {
        /// Which part.
        part: String,
        /// Its panic, as a rule.
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
    /// With what the process ends: 2 for mistakes in the command line or environment (0 for help and version), 3 for a lost
    /// lease, 4 for a failed runnable, 5 when the grace period was too short, 1 for everything else.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Usage(error) => error.exit_code(),
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
    errors.iter().map(|error| format!("\n  {error}")).collect()
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
