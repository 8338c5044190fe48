//! Why a project cannot be upgraded.

use std::path::PathBuf;

use super::path_list;
use crate::{cli_version::CLI_VERSION, exit};

// ANCHOR: errors
/// A refusal of `upgrade`. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum UpgradeError {
    /// The changes would mix with the user's.
    #[error(
        "{} has uncommitted changes, which would mix with those of the upgrade: commit or stash them, or pass --allow-dirty",
        path_list(.0)
    )]
    Uncommitted(Vec<PathBuf>),
    /// `Cargo.toml` cannot be read.
    #[error("Cargo.toml: {0}; fix it first")]
    CargoToml(String),
    /// The project does not depend on kubewright.
    #[error("Cargo.toml does not depend on kubewright: run `cargo add kubewright@{CLI_VERSION}`")]
    NoDependency,
    /// The requirement is not one version.
    #[error(
        "Cargo.toml requires version {0:?} of kubewright, and the command must know from which version it upgrades: write \
         `kubewright = \"=VERSION\"`, with the version in Cargo.lock"
    )]
    Requirement(String),
    /// The project is newer than the command.
    #[error(
        "the project uses version {0} of kubewright, which is newer than this command, version {CLI_VERSION}: run `cargo install kubewright-cli \
         --version {0}`"
    )]
    Newer(String),
}
// ANCHOR_END: errors

impl UpgradeError {
    /// Returns the exit code of this error.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Uncommitted(_) => exit::UNCOMMITTED,
            Self::CargoToml(_) | Self::NoDependency | Self::Requirement(_) | Self::Newer(_) => exit::PROJECT,
        }
    }
}
