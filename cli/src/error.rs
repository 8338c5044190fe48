//! Why a command failed, and with which exit code.

use std::path::PathBuf;

use crate::{
    cargo::CargoError,
    dev::ClusterError,
    exit,
    ownership::{generated::Edited, managed::Conflicted},
    plan::{IoError, slashed},
    project::ProjectError,
    source::InsertError,
    yaml::YamlError,
};

/// Why a command failed. The message names the place and the mend.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `new` makes no project where something is.
    #[error("{} is there already and is not empty: choose another folder with --path, or empty it", .0.display())]
    NotEmpty(PathBuf),
    /// `new` makes no project where a file is.
    #[error("{} is a file: choose another folder with --path", .0.display())]
    NoFolder(PathBuf),
    /// A kind of that name is there.
    #[error("kind {kind} is there already, in {} ({has}): choose another name, or change that one", .path.display())]
    DuplicateKind {
        /// The kind.
        kind: String,
        /// Where it stands.
        path: PathBuf,
        /// Its group and version.
        has: String,
    },
    /// A file of the new kind's name is there and is something else.
    #[error(
        "{} is there already and does not define kind {kind}: rename it, or choose another kind",
        .path.display()
    )]
    ModuleTaken {
        /// The kind.
        kind: String,
        /// The file.
        path: PathBuf,
    },
    /// `kubewright.toml` names a group that new kinds cannot have.
    #[error("`group` of kubewright.toml is {group:?}: {source}; mend it there, or say --group")]
    Group {
        /// What it says.
        group: String,
        /// Why not.
        source: crate::names::NameError,
    },
    /// See [`exit::STALE`].
    #[error("{0} stale: run `kubewright generate` and commit what it writes")]
    Stale(String),
    /// See [`exit::EDITED`].
    #[error("{}", edited(.0))]
    Edited(Vec<Edited>),
    /// See [`exit::CONFLICT`].
    #[error("{}", conflicts(.0))]
    Conflict(Vec<Conflicted>),
    /// See [`exit::UNCOMMITTED`].
    #[error(
        "{} would be changed and has uncommitted changes: commit or stash them, or say --allow-dirty; nothing was written",
        paths(.0)
    )]
    Uncommitted(Vec<PathBuf>),
    /// See [`exit::SAMPLE`].
    #[error("{}", .0.join("\n"))]
    Samples(Vec<String>),
    /// See [`exit::PROJECT`].
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// The operator does not build or does not answer.
    #[error(transparent)]
    Cargo(#[from] CargoError),
    /// See [`exit::NO_PLACE`].
    #[error("{error}; nothing was written")]
    Insert {
        /// What was not found, where, and what to write by hand.
        #[from]
        error: InsertError,
    },
    /// See [`exit::IO`].
    #[error(transparent)]
    Io(#[from] IoError),
    /// A file of the project is no YAML.
    #[error("{} is no YAML: {source}; mend it", .path.display())]
    Yaml {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: YamlError,
    },
    /// What the operator printed does not go into YAML.
    #[error("the manifests of the operator cannot be written as YAML: {0}")]
    Unwritable(#[from] YamlError),
    /// The API server does not start.
    #[error("the API server does not start: {0}")]
    ApiServer(String),
    /// The cluster of `dev`.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// A template of ours is wrong.
    #[error("this is a mistake of kubewright's own: {0}")]
    Template(#[from] kubewright_templates::RenderError),
}

impl Error {
    /// The exit code that stands for it.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NotEmpty(_) | Self::NoFolder(_) | Self::DuplicateKind { .. } | Self::ModuleTaken { .. } => {
                exit::USAGE
            }
            Self::Project(_) | Self::Group { .. } => exit::PROJECT,
            Self::Stale(_) => exit::STALE,
            Self::Edited(_) => exit::EDITED,
            Self::Conflict(_) => exit::CONFLICT,
            Self::Uncommitted(_) => exit::UNCOMMITTED,
            Self::Samples(_) | Self::Yaml { .. } => exit::SAMPLE,
            Self::Cargo(error) => error.exit_code(),
            Self::Insert { .. } => exit::NO_PLACE,
            Self::Io(_) | Self::Template(_) => exit::IO,
            Self::Unwritable(_) => exit::MANIFESTS,
            Self::ApiServer(_) => exit::SERVER,
            Self::Cluster(_) => exit::CLUSTER,
        }
    }
}

fn paths(paths: &[PathBuf]) -> String {
    paths
        .iter()
        .map(|path| slashed(path))
        .collect::<Vec<_>>()
        .join(", ")
}

fn edited(files: &[Edited]) -> String {
    use std::fmt::Write as _;
    // Writing to a string cannot fail.
    let mut message = String::new();
    for Edited { path, diff } in files {
        let path = slashed(path);
        let _ = write!(
            message,
            "{path} was edited by hand, and would be overwritten:\n\n{diff}\n\
             move the edit into the code that it is generated from, or give it up with \
             `kubewright generate --overwrite {path}`\n"
        );
    }
    message + "nothing was written"
}

fn conflicts(files: &[Conflicted]) -> String {
    use std::fmt::Write as _;
    // Writing to a string cannot fail.
    let mut message = String::new();
    for file in files {
        let path = slashed(&file.path);
        let _ = write!(
            message,
            "{path} was changed by you and by kubewright at the same place:\n\n{file}\n\
             make the change by hand, or decide with `kubewright generate --keep {path}` (yours) or \
             `--overwrite {path}` (kubewright's)\n"
        );
    }
    message + "nothing was written"
}
