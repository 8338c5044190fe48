//! Errors of finding and reading a project.

use std::path::PathBuf;

// ANCHOR: errors
/// The project cannot be found or read.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// Neither the directory nor its ancestors have a project file.
    #[error("no kubewright.toml in {} or its parents: change to a project's directory, or create one with `kubewright new`", .0.display())]
    Missing(PathBuf),
    /// The project file is invalid.
    #[error("{} is invalid: {message}; fix it, or restore it from version control", .path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The error, with its position.
        message: String,
    },
    /// The project file has a newer format.
    #[error(
        "{} has format {found}, and this command (version {cli_version}) supports format {supported}: \
         run `cargo install kubewright-cli` to update it",
        .path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The newest format that this command reads.
        supported: i64,
        /// The version of this command.
        cli_version: &'static str,
    },
}
// ANCHOR_END: errors
