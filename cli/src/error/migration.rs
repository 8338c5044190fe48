//! Errors of `migrate storage`.

use kubewright::{
    client::{ClientError, ConnectError},
    conversion::StorageMigrationError,
};

use crate::manifests::crds;

// ANCHOR: errors
/// Why the objects of a cluster are not migrated.
#[derive(Debug, thiserror::Error)]
pub enum MigrationError {
    /// The manifests have no such kind.
    #[error("{folder} has no definition of kind {kind}{known}: correct the name, or run `kubewright generate`", folder = crds::FOLDER)]
    UnknownKind {
        /// The kind.
        kind: String,
        /// The kinds that it has, as in `, only of Foo`.
        known: String,
    },
    /// Several definitions in the manifests are of the kind.
    #[error("{folder} has several kinds of this name: name one of {}", .0.join(", "), folder = crds::FOLDER)]
    AmbiguousKind(Vec<String>),
    /// The cluster has no such definition.
    #[error(
        "the cluster of context {context:?} has no CustomResourceDefinition {definition}: correct the context; a cluster without the kind has \
         nothing to migrate or to check"
    )]
    NotInstalled {
        /// The name of the definition.
        definition: String,
        /// The context.
        context: String,
    },
    /// The cluster does not serve the version to store.
    #[error(
        "{definition} in the cluster does not serve {version}: release the operator that serves and converts it first"
    )]
    NotServed {
        /// The name of the definition.
        definition: String,
        /// The version.
        version: String,
    },
    /// A replica may be one that does not convert.
    #[error("{0}")]
    NotReady(String),
    /// The API server cannot read objects in a version.
    #[error("the API server cannot read {definition} in {version}, so nothing was changed: {reason}")]
    NotConverted {
        /// The name of the definition.
        definition: String,
        /// The version.
        version: String,
        /// The API server's message.
        reason: String,
    },
    /// No connection can be made.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A request failed.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// Objects are not rewritten.
    #[error(transparent)]
    Storage(#[from] StorageMigrationError),
}
// ANCHOR_END: errors
