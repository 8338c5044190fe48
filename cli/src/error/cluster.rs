//! Errors of requests to a cluster.

use kube::config::KubeconfigError;

// ANCHOR: errors
/// Error of connecting to the cluster, or of a request.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The kubeconfig context is not usable.
    #[error(
        "cannot use the context {context:?} of your kubeconfig: {source}; run `kubectl config get-contexts` to list the contexts"
    )]
    Context {
        /// The context.
        context: String,
        /// The error of loading it.
        source: Box<KubeconfigError>,
    },
    /// No client can be built from the kubeconfig.
    #[error("cannot connect: {}", error_text(.0))]
    Client(Box<kube::Error>),
    /// A request failed.
    #[error("cannot {action}: {}", error_text(source))]
    Request {
        /// The attempted action, as in `apply Foo a`.
        action: String,
        /// The error of the request.
        source: Box<kube::Error>,
    },
    /// The cluster does not serve the kind of an object.
    #[error("the cluster has no kind {kind} in {api_version}: install its CRD, or correct the object")]
    UnknownKind {
        /// The kind.
        kind: String,
        /// Group and version.
        api_version: String,
    },
    /// The cluster did not reach the expected state, or a response lacks a value.
    #[error("{0}")]
    UnexpectedState(String),
}
// ANCHOR_END: errors

impl ClusterError {
    /// Returns the error of a failed request.
    pub(crate) fn request(action: impl Into<String>, source: kube::Error) -> Self {
        Self::Request {
            action: action.into(),
            source: Box::new(source),
        }
    }

    /// Returns the field that the API server rejected, as in `spec.replicas`.
    pub(crate) fn field(&self) -> Option<&str> {
        let Self::Request { source, .. } = self else {
            return None;
        };
        let kube::Error::Api(status) = &**source else {
            return None;
        };
        let causes = &status.details.as_ref()?.causes;
        causes
            .iter()
            .map(|cause| cause.field.as_str())
            .find(|field| !field.is_empty())
    }
}

/// Formats a client error; of an API error only message, code and reason.
fn error_text(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => format!("{} ({} {})", status.message, status.code, status.reason),
        other => other.to_string(),
    }
}
