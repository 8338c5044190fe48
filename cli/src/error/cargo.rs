//! Errors of building the operator and of printing its manifests.

use std::path::PathBuf;

use crate::{cli_version::CLI_VERSION, exit};

// ANCHOR: errors
/// The operator cannot be built, or does not print its manifests.
#[derive(Debug, thiserror::Error)]
pub enum CargoError {
    /// A program cannot be started.
    #[error("cannot run {}: {source}; install Rust, or set CARGO to your cargo", .cargo.display())]
    Spawn {
        /// The program.
        cargo: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// `cargo metadata` failed.
    #[error("cargo cannot read the project{0}")]
    Metadata(String),
    /// The project's directory has no package.
    #[error("{} defines no package: move kubewright.toml beside the Cargo.toml of the operator", .0.display())]
    NoPackage(PathBuf),
    /// The package does not depend on kubewright.
    #[error("{package} does not depend on kubewright: run `cargo add kubewright@{CLI_VERSION}`")]
    MissingDependency {
        /// The package.
        package: String,
    },
    /// The crate and the command have different versions.
    #[error(
        "the project uses version {library} of the kubewright crate, and this command has version {CLI_VERSION}: \
         run `cargo install kubewright-cli --version {library}` to change the command, or `kubewright upgrade` \
         to change the project"
    )]
    VersionMismatch {
        /// The version of the crate.
        library: String,
    },
    /// The package has several binaries, and none has the operator's name.
    #[error(
        "{package} has the binaries {binaries}, and none is called {name}: set `default-run` in Cargo.toml"
    )]
    AmbiguousBinary {
        /// The package.
        package: String,
        /// Its binaries.
        binaries: String,
        /// The operator.
        name: String,
    },
    /// Cargo reported no artifact for the binary.
    #[error("cargo build reported no artifact for the binary {name}; nothing was written")]
    NoExecutable {
        /// The binary.
        name: String,
    },
    /// The build failed; the compiler has printed the errors.
    #[error("the operator does not compile (see above); nothing was written{}", help_lines(.help))]
    Compile {
        /// The errors to correct first, and the fixes of errors in conversions.
        help: Vec<String>,
    },
    /// `<operator> manifests` failed; as a rule the operator has printed the error.
    #[error(
        "`{name} manifests` failed{}; nothing was written{}",
        if *.wrote_stderr { " (see above)" } else { "" },
        help_lines(.help)
    )]
    Manifests {
        /// Whether it wrote to stderr.
        wrote_stderr: bool,
        /// The binary.
        name: String,
        /// Where the kinds are that the operator's error names.
        help: Vec<String>,
    },
    /// The output of `<operator> manifests` cannot be parsed.
    #[error("cannot parse the output of `{name} manifests`: {message}; nothing was written")]
    InvalidManifests {
        /// The binary.
        name: String,
        /// The parser's error.
        message: String,
    },
}
// ANCHOR_END: errors

impl CargoError {
    /// Returns the exit code of this error.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Spawn { .. }
            | Self::NoPackage(_)
            | Self::MissingDependency { .. }
            | Self::VersionMismatch { .. } => exit::PROJECT,
            Self::Metadata(_)
            | Self::AmbiguousBinary { .. }
            | Self::NoExecutable { .. }
            | Self::Compile { .. } => exit::COMPILE,
            Self::Manifests { .. } | Self::InvalidManifests { .. } => exit::MANIFESTS,
        }
    }
}

fn help_lines(help: &[String]) -> String {
    help.iter().flat_map(|line| ["\nhelp: ", line]).collect()
}
