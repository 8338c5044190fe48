//! Renders the managed files: those that both the user and kubewright change.

use std::path::PathBuf;

use kubewright_templates::{Ci, DeployKustomization, Dockerfile, OperatorManifest, RenderError, render};

use crate::manifests::certificates::Certificates;

/// The settings from which managed files are rendered.
pub(super) struct ManagedFiles<'a> {
    /// The operator's name.
    pub(super) name: &'a str,
    /// The operator's own namespace.
    pub(super) namespace: &'a str,
    /// The watched namespaces; empty means all.
    pub(super) watched: &'a [String],
    /// The source of the webhooks' certificate; none without webhooks.
    pub(super) certificates: Option<Certificates>,
}

impl ManagedFiles<'_> {
    /// Renders the files.
    pub(super) fn render(&self) -> Result<Vec<(PathBuf, String)>, RenderError> {
        let Self {
            name,
            namespace,
            watched,
            certificates,
        } = *self;
        let secret = certificates.and_then(|certificates| certificates.mounted_secret(name));
        let ci = Ci {
            kubewright_version: env!("CARGO_PKG_VERSION"),
        };
        let operator = OperatorManifest {
            name,
            namespace,
            watched: &watched.join(","),
            webhooks: certificates.is_some(),
            certificate_secret: secret.as_deref().unwrap_or_default(),
            users_certificate: certificates == Some(Certificates::Files),
        };
        Ok(vec![
            ("Dockerfile".into(), render(&Dockerfile { name })?),
            (".github/workflows/ci.yml".into(), render(&ci)?),
            (
                "manifests/deploy/Kustomization".into(),
                render(&DeployKustomization { name })?,
            ),
            ("manifests/deploy/operator.yaml".into(), render(&operator)?),
        ])
    }
}
