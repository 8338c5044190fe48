//! Why a command refuses what it is to do with a kind.

use std::path::PathBuf;

use crate::plan::slashed;

// ANCHOR: errors
/// A refusal of what a command is to do with a kind. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum KindError {
    /// Neither type was selected.
    #[error("a webhook validates, defaults or does both: pass --validating, --defaulting or both")]
    NoType,
    /// The kind is unknown.
    #[error("{kind} is neither a kind of the project nor one of Kubernetes{}", did_you_mean(.similar))]
    UnknownKind {
        /// The kind, as given.
        kind: String,
        /// Kinds that may have been meant.
        similar: Vec<String>,
    },
    /// Several groups of the project have the kind.
    #[error("the project has several kinds of this name: name one of {}", .0.join(", "))]
    Ambiguous(Vec<String>),
    /// The runtime or the API server refuses webhooks of the kind.
    #[error("{kind} cannot have webhooks: {reason}; choose another kind")]
    NotReviewed {
        /// The kind.
        kind: String,
        /// The reason.
        reason: &'static str,
    },
    /// The new files would use a name twice.
    #[error(
        "the new files would use the name `{name}` twice: {reason}; write them by hand, with other names"
    )]
    NameClash {
        /// The name.
        name: String,
        /// What has it already.
        reason: String,
    },
    /// The same webhook of the kind is registered in another file.
    #[error("the {method} of {kind} is registered in {}:{line}, and a kind has one: change that one, or remove it first", slashed(.path))]
    Registered {
        /// The method that registers it.
        method: &'static str,
        /// The kind.
        kind: String,
        /// The file.
        path: PathBuf,
        /// The line of the call.
        line: usize,
    },
    /// The kind's controller is in another file than that of this command.
    #[error("{kind} has a controller in {}:{line}: change that one, or remove it first", slashed(.path))]
    HasController {
        /// The kind.
        kind: String,
        /// The file.
        path: PathBuf,
        /// The line of its type.
        line: usize,
    },
    /// `--owns` names a cluster-scoped kind, and the controller's kind is namespaced.
    #[error(
        "{kind} is namespaced and cannot own {owned}, which is cluster-scoped: leave out `--owns {owned}`"
    )]
    OwnsClusterScoped {
        /// The kind of the controller.
        kind: String,
        /// The owned kind.
        owned: String,
    },
    /// What is to be removed is in another file than that of the command that adds it.
    #[error(
        "{what} is in {}:{line}, and not in {}, where `kubewright add` writes it: remove it by hand",
        slashed(.path),
        slashed(.expected)
    )]
    Elsewhere {
        /// What is to be removed.
        what: String,
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The file of the command.
        expected: PathBuf,
    },
    /// Something else names what is to be removed.
    #[error("{kind} is in use:\n{}\nchange or delete these first", .places.join("\n"))]
    InUse {
        /// The kind, or the type.
        kind: String,
        /// Files and lines.
        places: Vec<String>,
    },
    /// The new name is used already.
    #[error("{name} is in use, so the renaming could not be undone:\n{}\nchange these first, or choose another name", .places.join("\n"))]
    NameInUse {
        /// The new name.
        name: String,
        /// Files and lines.
        places: Vec<String>,
    },
    /// The project has no kind in the group.
    #[error("no kind of the project has the group {group}: its groups are {}", .known.join(", "))]
    UnknownGroup {
        /// The group, as given.
        group: String,
        /// The groups of the project's kinds.
        known: Vec<String>,
    },
    /// A file to write exists and has other contents.
    #[error("{} already exists and is not about `{name}`: rename the file", slashed(.path))]
    FileExists {
        /// The file.
        path: PathBuf,
        /// The type that would be in it, or that it would test.
        name: String,
    },
    /// There is no object for the test.
    #[error(
        "{0} has no sample in manifests/samples, from which the test is made: run `kubewright generate`, which writes one"
    )]
    NoSample(String),
}
// ANCHOR_END: errors

fn did_you_mean(names: &[String]) -> String {
    match names {
        [] => ": correct the name, or add the kind with `kubewright add kind`".to_owned(),
        names => format!(": did you mean {}?", names.join(" or ")),
    }
}
