//! The error of `package`.

use std::path::{Path, PathBuf};

use crate::plan::slashed;

// ANCHOR: errors
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
// ANCHOR_END: errors

impl PackageError {
    pub(crate) fn new(path: impl AsRef<Path>, line: u64, message: impl Into<String>) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            line,
            message: message.into(),
        }
    }
}
