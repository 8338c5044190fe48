//! Packages of an operator, made of the project's manifests and nothing else: one file for kubectl, a Helm chart, a bundle for OLM.
//!
//! [`build`] evaluates `manifests/Kustomization` as kustomize does, so that a user's resources and patches count. Then [`install`] writes
//! the objects as one file, [`chart`] as templates, and [`bundle`] as a ClusterServiceVersion; [`operator`] finds the operator's Deployment
//! among them. [`mod@format`] knows the packages of a project, and [`files`] plans their files.

pub mod build;
pub mod bundle;
pub mod chart;
pub mod files;
pub mod format;
mod image;
pub mod install;
pub mod operator;
mod patches;
mod transformers;
mod version;

use std::path::{Path, PathBuf};

use crate::plan::slashed;

pub use version::{Package, package};

/// The manifests cannot be packaged. The message names the file, the line and the fix.
#[derive(Debug, thiserror::Error)]
#[error("{}:{line}: {message}", slashed(.path))]
pub struct PackageError {
    /// The file, relative to the project.
    pub path: PathBuf,
    /// The line.
    pub line: u64,
    /// The cause and the fix.
    pub message: String,
}

impl PackageError {
    fn new(path: impl AsRef<Path>, line: u64, message: impl Into<String>) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            line,
            message: message.into(),
        }
    }
}
