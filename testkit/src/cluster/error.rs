//! What can go wrong with a cluster.

use crate::audit::AuditError;
use crate::kubectl::KubectlError;
use crate::plane::{CompactError, IdentityError, StartError};
use std::fmt;
use std::io;

/// A cluster did not start, or did not do as it was told. `Debug` shows the same text as `Display`, for `unwrap` in tests.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The control plane.
    #[error(transparent)]
    Plane(#[from] StartError),
    /// The embedded server, or the proxy before the real one.
    #[error(transparent)]
    Server(#[from] kubewright_apiserver::StartError),
    /// The history of its objects.
    #[error(transparent)]
    History(#[from] CompactError),
    /// A folder or a thread.
    #[error("the cluster: {0}")]
    Io(#[from] io::Error),
    /// Somebody who may speak to it.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// kubectl, which makes identities on a real one.
    #[error(transparent)]
    Kubectl(#[from] KubectlError),
    /// Its audit log.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// A kubeconfig.
    #[error("the kubeconfig: {0}")]
    Config(#[from] kube::config::KubeconfigError),
    /// A request of the administrator's was refused, or lost.
    #[error("{what}: {source}")]
    Request {
        /// Which.
        what: String,
        /// Why.
        source: Box<kube::Error>,
    },
    /// What was to be sent, or came back, is no object.
    #[error("not an object of Kubernetes: {0}")]
    Object(String),
}

impl fmt::Debug for ClusterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
