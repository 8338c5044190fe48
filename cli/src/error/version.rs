//! Why a version cannot be added or removed.

use std::path::PathBuf;

use crate::plan::slashed;

// ANCHOR: errors
/// A refusal of `add version` or `remove version`. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum VersionError {
    /// No struct of the project is the kind.
    #[error("{}", unknown_kind(kind, similar.as_deref(), known))]
    UnknownKind {
        /// The name.
        kind: String,
        /// A kind of a similar name.
        similar: Option<String>,
        /// The project's kinds.
        known: Vec<String>,
    },
    /// The kind belongs to another project, or does not derive `Informer`.
    #[error(
        "{place}: kind {kind} is not this operator's: versions need `#[derive(Informer)]`, without `external` and `#[cfg]`"
    )]
    NotOwn {
        /// The kind.
        kind: String,
        /// Its file and line.
        place: String,
    },
    /// The kind is defined in places that are not its versions.
    #[error(
        "kind {kind} is defined {reason}: {}; move its versions to one folder, a file `VERSION.rs` for each",
        .places.join(", ")
    )]
    Scattered {
        /// The kind.
        kind: String,
        /// What is wrong with them.
        reason: &'static str,
        /// Files and lines.
        places: Vec<String>,
    },
    /// The kind's file has other kinds.
    #[error("{place}: the file of {kind} also defines {others}: move each kind to a file of its own")]
    SharedFile {
        /// The kind.
        kind: String,
        /// Its file and line.
        place: String,
        /// The other kinds.
        others: String,
    },
    /// The kind is in `main.rs`, `lib.rs` or `mod.rs`.
    #[error(
        "{place}: {kind} is in the file of a module with other contents: move it to a file of its own, such as `src/api/foo.rs`"
    )]
    InRoot {
        /// The kind.
        kind: String,
        /// Its file and line.
        place: String,
    },
    /// Several versions, and no call says which is the hub.
    #[error(
        "found no `setup.versions::<HUB::{kind}>()` in {}: it says which version is the hub",
        slashed(path)
    )]
    NoRegistration {
        /// The kind.
        kind: String,
        /// The file.
        path: PathBuf,
    },
    /// The file of a kind has modules in other files.
    #[error(
        "{}:{line}: `mod {module};` is a file that would have to move, too: make it a module of the parent first",
        slashed(path)
    )]
    FileModule {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The module.
        module: String,
    },
    /// A file or folder is in the way.
    #[error(
        "{} already exists: rename it, since the versions of {kind} go there",
        slashed(path)
    )]
    PathExists {
        /// The kind.
        kind: String,
        /// The file or folder.
        path: PathBuf,
    },
    /// The version exists, and is not the hub.
    #[error(
        "version {version} of {kind} already exists in {}, and the hub is {hub}",
        slashed(path)
    )]
    VersionExists {
        /// The kind.
        kind: String,
        /// The version.
        version: String,
        /// Its file.
        path: PathBuf,
        /// The hub.
        hub: String,
    },
    /// The new version is older than the hub.
    #[error(
        "{version} is not newer than {hub}, the hub of {kind}: kubectl prefers versions in the order v2, v1, v1beta1, v1alpha1, and a new \
         version becomes the hub"
    )]
    NotNewer {
        /// The kind.
        kind: String,
        /// The version.
        version: String,
        /// The hub.
        hub: String,
    },
    /// `--from` is not the hub.
    #[error(
        "--from {from} is not the hub of {kind}: a new version is a copy of the hub {hub}, which the controllers use; leave --from out"
    )]
    FromOther {
        /// The kind.
        kind: String,
        /// The version.
        from: String,
        /// The hub.
        hub: String,
    },
    /// The kind has no such version.
    #[error("{kind} has no version {version}: the versions are {}", .known.join(", "))]
    UnknownVersion {
        /// The kind.
        kind: String,
        /// The version.
        version: String,
        /// The kind's versions.
        known: Vec<String>,
    },
    /// The hub cannot be removed.
    #[error("{version} is the hub of {kind}, which the controllers use: only other versions can be removed")]
    Hub {
        /// The kind.
        kind: String,
        /// The version.
        version: String,
    },
    /// The stored version cannot be removed.
    #[error(
        "objects of {kind} are stored in {version}: store them in {hub} first, with `kubewright migrate storage {kind} --cluster CONTEXT` in each \
         cluster and then `kubewright migrate storage {kind}` in the code"
    )]
    Stored {
        /// The kind.
        kind: String,
        /// The version.
        version: String,
        /// The hub.
        hub: String,
    },
    /// A cluster has, or may have, objects that are stored in the version.
    #[error(
        "the cluster of context {context:?} may have objects of {kind} that are stored in {version} (status.storedVersions of {definition}): \
         run `kubewright migrate storage {kind} --cluster {context}` first"
    )]
    StoredInCluster {
        /// The kind.
        kind: String,
        /// The version.
        version: String,
        /// The context.
        context: String,
        /// The definition's name.
        definition: String,
    },
    /// Code or samples name the version.
    #[error("version {version} of {kind} is in use:\n{}\nchange or delete these first", .places.join("\n"))]
    InUse {
        /// The kind.
        kind: String,
        /// The version.
        version: String,
        /// Files and lines.
        places: Vec<String>,
    },
}
// ANCHOR_END: errors

fn unknown_kind(kind: &str, similar: Option<&str>, known: &[String]) -> String {
    match similar {
        Some(similar) => format!("the project has no kind {kind}: did you mean {similar}?"),
        None if known.is_empty() => "the project has no kinds: add one with `kubewright add kind`".to_owned(),
        None => format!(
            "the project has no kind {kind}: its kinds are {}",
            known.join(", ")
        ),
    }
}
