//! Errors of commands and their exit codes.

mod cargo;
mod cluster;
mod import;
mod kind;
mod migration;
mod package;
mod project;
mod unknown_objects;
mod upgrade;
mod version;

use std::path::PathBuf;

pub use cargo::CargoError;
pub use cluster::ClusterError;
pub use import::ImportError;
pub use kind::KindError;
pub use migration::MigrationError;
pub use package::PackageError;
pub use project::ProjectError;
pub use unknown_objects::UnknownObjects;
pub use upgrade::UpgradeError;
pub use version::VersionError;

use crate::{
    exit,
    ownership::{generated::EditedFile, managed::ConflictedFile},
    plan::{IoError, slashed},
    source::InsertError,
    yaml::YamlError,
};

// ANCHOR: errors
/// Error of a command. The message names the file and the fix.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `new` does not write into a directory that has files.
    #[error("{} already exists and is not empty: choose another directory, or empty it", .0.display())]
    NotEmpty(PathBuf),
    /// The path given to `new` is a file.
    #[error("{} is a file: choose another directory", .0.display())]
    NotADirectory(PathBuf),
    /// The project already has a kind of that name.
    #[error("kind {kind} already exists in {} ({existing}): choose another name, or change that kind", .path.display())]
    DuplicateKind {
        /// The kind.
        kind: String,
        /// The file that defines it.
        path: PathBuf,
        /// Its group and version.
        existing: String,
    },
    /// A file with the new kind's module name exists and does not define the kind.
    #[error(
        "{} already exists and does not define kind {kind}: rename the file, or choose another kind",
        .path.display()
    )]
    ModuleExists {
        /// The kind.
        kind: String,
        /// The file.
        path: PathBuf,
    },
    /// A command refuses what it is to do with a kind.
    #[error("{0}; nothing was written")]
    Kind(#[from] KindError),
    /// The group in `kubewright.toml` is not valid for new kinds.
    #[error("invalid `group` {group:?} in kubewright.toml: {source}; change it there, or pass --group")]
    Group {
        /// The invalid group.
        group: String,
        /// The violated rule.
        source: crate::names::NameError,
    },
    /// A definition cannot be imported.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// `upgrade` refuses.
    #[error("{0}; nothing was written")]
    Upgrade(#[from] UpgradeError),
    /// A version cannot be added or removed.
    #[error("{0}; nothing was written")]
    Version(#[from] VersionError),
    /// See [`exit::STALE`].
    #[error("{0} stale: run `kubewright generate` and commit what it writes")]
    Stale(String),
    /// `doctor` found problems, and printed them. See [`exit::STALE`].
    #[error("{}", if *.0 == 1 { "1 problem".to_owned() } else { format!("{} problems", .0) })]
    Problems(usize),
    /// See [`exit::EDITED`].
    #[error("{}", edited_message(.0))]
    Edited(Vec<EditedFile>),
    /// See [`exit::CONFLICT`].
    #[error("{}", conflict_message(.0))]
    Conflict(Vec<ConflictedFile>),
    /// See [`exit::UNCOMMITTED`].
    #[error(
        "{} would be changed and has uncommitted changes: commit or stash them, or pass --allow-dirty; nothing was written",
        path_list(.0)
    )]
    Uncommitted(Vec<PathBuf>),
    /// git could not undo a command that deletes or rewrites code. See [`exit::UNCOMMITTED`].
    #[error(
        "the project is not in a git repository that has a commit, so nothing could undo the changes: run `git init`, `git add --all` and \
         `git commit`, or pass --allow-dirty; nothing was written"
    )]
    NoRepository,
    /// See [`exit::SAMPLE`].
    #[error(
        "the samples do not match the schemas of their kinds:\n{}\nchange them, then run `kubewright generate --check`; {files}",
        .problems.join("\n")
    )]
    Samples {
        /// Files, lines and problems.
        problems: Vec<String>,
        /// What the command did to the generated files.
        files: &'static str,
    },
    /// See [`exit::DEFINITION`].
    #[error("the API server would refuse or lose what the code defines:\n{}\nnothing was written", .0.join("\n"))]
    Definitions(Vec<String>),
    /// See [`exit::PROJECT`].
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// The code of a plan cannot be formatted. See [`exit::PROJECT`].
    #[error(
        "cannot run {}, which formats code: {reason}; run `rustup component add rustfmt`, or set RUSTFMT to your rustfmt; nothing was written",
        .program.display()
    )]
    NoRustfmt {
        /// The program.
        program: PathBuf,
        /// Why it does not run.
        reason: String,
    },
    /// The operator does not build, or does not print its manifests.
    #[error(transparent)]
    Cargo(#[from] CargoError),
    /// See [`exit::NO_INSERTION_POINT`].
    #[error("{error}; nothing was written")]
    Insert {
        /// The missing syntax, the file, and the line to add by hand.
        #[from]
        error: InsertError,
    },
    /// See [`exit::IO`].
    #[error(transparent)]
    Io(#[from] IoError),
    /// The operator's manifests cannot be written as YAML.
    #[error("cannot write the operator's manifests as YAML: {0}")]
    ManifestYaml(#[from] YamlError),
    /// The API server does not start.
    #[error("cannot start the API server: {0}")]
    ApiServer(String),
    /// The controllers of `dev` do not start, or ended.
    #[error("the controllers of the in-memory cluster failed: {0}")]
    Controllers(String),
    /// `dev` cannot reach the cluster, or a request failed.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The code has no versions of a kind of which one could be stored.
    #[error(
        "the code has no versions of kind {0}: `kubewright add version` adds one, and `setup.versions::<…>()` registers them"
    )]
    NoVersions(String),
    /// See [`exit::PACKAGE`].
    #[error("{0}; nothing was written")]
    Package(#[from] PackageError),
    /// The objects of a cluster are not migrated.
    #[error(transparent)]
    Migration(#[from] MigrationError),
    /// The cause of an error is at a line of a file in the project.
    #[error("{}:{line}: {error}", slashed(.path))]
    At {
        /// The file.
        path: PathBuf,
        /// The line.
        line: u64,
        /// The error.
        error: Box<Error>,
    },
    /// `dev --objects` names a kind that is not watched.
    #[error(transparent)]
    UnknownObjects(#[from] UnknownObjects),
    /// One of our templates does not render.
    #[error("internal error: {0}; please report it")]
    Template(#[from] kubewright_templates::RenderError),
    /// The template of a new project's manifests is invalid.
    #[error("internal error: a new project's manifests are invalid: {0}; please report it")]
    ScaffoldManifests(String),
}
// ANCHOR_END: errors

impl Error {
    /// Returns the error with the place of its cause in the project.
    pub(crate) fn at(self, path: impl Into<PathBuf>, line: u64) -> Self {
        Self::At {
            path: path.into(),
            line,
            error: Box::new(self),
        }
    }

    /// Returns the exit code of this error.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NotEmpty(_)
            | Self::NotADirectory(_)
            | Self::DuplicateKind { .. }
            | Self::UnknownObjects(_)
            | Self::NoVersions(_)
            | Self::Migration(MigrationError::UnknownKind { .. } | MigrationError::AmbiguousKind(_))
            | Self::Kind(_)
            | Self::Version(_)
            | Self::ModuleExists { .. } => exit::USAGE,
            Self::Project(_) | Self::Group { .. } | Self::NoRustfmt { .. } => exit::PROJECT,
            Self::Stale(_) | Self::Problems(_) => exit::STALE,
            Self::Edited(_) => exit::EDITED,
            Self::Conflict(_) => exit::CONFLICT,
            Self::Uncommitted(_) | Self::NoRepository => exit::UNCOMMITTED,
            Self::Samples { .. } => exit::SAMPLE,
            Self::Definitions(_) => exit::DEFINITION,
            Self::Cargo(error) => error.exit_code(),
            Self::Upgrade(error) => error.exit_code(),
            Self::Insert { .. } => exit::NO_INSERTION_POINT,
            Self::Io(_) | Self::Template(_) | Self::ScaffoldManifests(_) => exit::IO,
            Self::ManifestYaml(_) => exit::MANIFESTS,
            Self::Package(_) => exit::PACKAGE,
            Self::ApiServer(_) | Self::Controllers(_) => exit::SERVER,
            Self::Cluster(_) | Self::Migration(_) => exit::CLUSTER,
            Self::Import(error) => error.exit_code(),
            Self::At { error, .. } => error.exit_code(),
        }
    }
}

/// Returns paths, separated by commas.
pub(crate) fn path_list(paths: &[PathBuf]) -> String {
    paths
        .iter()
        .map(|path| slashed(path))
        .collect::<Vec<_>>()
        .join(", ")
}

fn edited_message(files: &[EditedFile]) -> String {
    use std::fmt::Write as _;
    // Writing to a string cannot fail.
    let mut message = String::new();
    for EditedFile { path, diff, command } in files {
        let path = slashed(path);
        let _ = write!(
            message,
            "{path} was edited by hand and would be overwritten:\n\n{diff}\n\
             move the edit into the code that the file is generated from, or discard it with \
             `{command} --overwrite {path}`\n"
        );
    }
    message + "nothing was written"
}

fn conflict_message(files: &[ConflictedFile]) -> String {
    use std::fmt::Write as _;
    // Writing to a string cannot fail.
    let mut message = String::new();
    for file in files {
        let (path, command) = (slashed(&file.path), &file.command);
        let _ = write!(
            message,
            "{path} has a merge conflict between your changes and kubewright's:\n\n{file}\n\
             merge by hand, or run `{command} --keep {path}` to keep your version or \
             `{command} --overwrite {path}` to take kubewright's\n"
        );
    }
    message + "nothing was written"
}
