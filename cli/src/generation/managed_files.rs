//! The files that the user and kubewright change both.

use std::path::PathBuf;

use kubewright_templates::{Ci, DeployKustomization, Dockerfile, OperatorManifest, RenderError, render};

/// What they depend on.
pub(crate) struct ManagedFiles<'a> {
    /// The operator.
    pub(crate) name: &'a str,
    /// Its own namespace.
    pub(crate) namespace: &'a str,
    /// The namespaces that it watches; empty: all.
    pub(crate) watched: &'a [String],
}

impl ManagedFiles<'_> {
    /// Their new texts.
    pub(crate) fn render(&self) -> Result<Vec<(PathBuf, String)>, RenderError> {
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
