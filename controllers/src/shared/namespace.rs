//! What the controllers read of a namespace.

use k8s_openapi::api::core::v1::Namespace;
use kubewright::Projection;

/// The values of a namespace that the controllers read.
#[derive(Projection, Clone, Debug, Default, PartialEq)]
#[projection(of = Namespace)]
pub(crate) struct NamespaceView {
    #[projection(path = "status.phase", default)]
    pub(crate) phase: String,
}
