//! Errors of a cluster.

use crate::audit::AuditError;
use crate::kubectl::KubectlError;
use crate::plane::{CompactError, IdentityError, StartError};
use std::fmt;
use std::io;

/// A cluster failed to start or a request to it failed. `Debug` prints the same text as `Display`, for `unwrap` in tests.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The control plane failed to start.
    #[error(transparent)]
    Plane(#[from] StartError),
    /// The embedded server, or the proxy in front of the real one, failed to start.
    #[error(transparent)]
    Server(#[from] kubewright_apiserver::StartError),
    /// The history was not compacted.
    #[error(transparent)]
    History(#[from] CompactError),
    /// A folder or a thread could not be created.
    #[error("cluster: {0}")]
    Io(#[from] io::Error),
    /// An identity could not be created.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// A kubectl command failed; it creates identities on a real cluster.
    #[error(transparent)]
    Kubectl(#[from] KubectlError),
    /// The audit log could not be read.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// A kubeconfig is invalid.
    #[error("kubeconfig: {0}")]
    Config(#[from] kube::config::KubeconfigError),
    /// A request of the administrator failed.
    #[error("{what}: {source}")]
    Request {
        /// The request.
        what: String,
        /// The cause.
        source: Box<kube::Error>,
    },
    /// A sent or received value is not a Kubernetes object.
    #[error("not a Kubernetes object: {0}")]
    Object(String),
}

impl fmt::Debug for ClusterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
