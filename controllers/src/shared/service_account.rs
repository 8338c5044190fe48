//! What the controllers read of a service account.

use k8s_openapi::api::core::v1::ServiceAccount;
use kubewright::Projection;

/// The type of Secrets with the token of a service account.
pub(crate) const TOKEN_TYPE: &str = "kubernetes.io/service-account-token";

/// The values of a service account that the controllers read.
#[derive(Projection, Clone, Debug, Default, PartialEq)]
#[projection(of = ServiceAccount)]
pub(crate) struct ServiceAccountView {
    /// The names of its Secrets.
    #[projection(path = "secrets[*].name")]
    pub(crate) secrets: Vec<String>,
}
