//! Renders the managed files: those that both the user and kubewright change.

use std::path::PathBuf;

use kubewright_templates::{Ci, DeployKustomization, Dockerfile, OperatorManifest, RenderError, render};

/// The settings from which managed files are rendered.
pub(super) struct ManagedFiles<'a> {
    /// The operator's name.
    pub(super) name: &'a str,
    /// The operator's own namespace.
    pub(super) namespace: &'a str,
    /// The watched namespaces; empty means all.
    pub(super) watched: &'a [String],
}

impl ManagedFiles<'_> {
    /// Renders the files.
    pub(super) fn render(&self) -> Result<Vec<(PathBuf, String)>, RenderError> {
        let Self {
            name,
            namespace,
            watched,
        } = *self;
        let ci = Ci {
            kubewright_version: env!("CARGO_PKG_VERSION"),
        };
        let operator = OperatorManifest {
            name,
            namespace,
            watched: &watched.join(","),
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
