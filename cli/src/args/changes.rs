//! The arguments of the commands that change a project's kinds: `add`, `import`, `rename`, `migrate` and `remove`.

use clap::{Args, Subcommand};

use super::WriteOptions;
use crate::{
    manifests::descriptions::Descriptions,
    names::{ApiVersion, Group, KindName, KindReference},
};

/// Subcommands of `kubewright add`.
#[derive(Debug, Subcommand)]
pub enum Add {
    /// Add a kind with its controller, test and sample
    Kind(AddKind),
    /// Add a controller of a kind that exists, with its test
    Controller(AddController),
    /// Add webhooks that validate or default the objects of a kind, with their test
    Webhook(AddWebhook),
    /// Add a version to a kind: the version that the controllers use; the ones before are converted from and to it
    Version(AddVersion),
}

/// Subcommands of `kubewright remove`.
#[derive(Debug, Subcommand)]
pub enum Remove {
    /// Remove a kind with its controller, webhooks, tests and samples
    Kind(RemoveKind),
    /// Remove the controller of a kind with its test; the kind stays
    Controller(RemoveController),
    /// Remove webhooks of a kind
    Webhook(RemoveWebhook),
    /// Remove a version that is not stored any more
    Version(RemoveVersion),
}

/// Arguments of `kubewright add kind`.
#[derive(Debug, Args)]
pub struct AddKind {
    /// The kind, in UpperCamelCase
    pub kind: KindName,
    /// API group [default: `group` in kubewright.toml]
    #[arg(long)]
    pub group: Option<Group>,
    /// API version of the kind
    #[arg(long, default_value = "v1alpha1")]
    pub api_version: ApiVersion,
    /// The kind is cluster-scoped
    #[arg(long)]
    pub cluster_scoped: bool,
    /// How to write files
    #[command(flatten)]
    pub write: WriteOptions,
}

/// Subcommands of `kubewright migrate`.
#[derive(Debug, Subcommand)]
pub enum Migrate {
    /// Store the objects of a kind in the version that controllers use: with --cluster in a cluster, then in the code
    Storage(MigrateStorage),
}

/// Arguments of `kubewright migrate storage`.
#[derive(Debug, Args)]
pub struct MigrateStorage {
    /// The kind, with its group if several groups have it, as in `Foo` or `Foo.demo.dev`
    pub kind: KindReference,
    /// Have the cluster of this kubeconfig context store all objects in that version, before the code does; the code is not changed
    #[arg(long, value_name = "CONTEXT")]
    pub cluster: Option<String>,
    /// Print the planned changes and make none
    #[arg(long)]
    pub dry_run: bool,
    /// Also change files that have uncommitted changes
    #[arg(long, conflicts_with = "cluster")]
    pub allow_dirty: bool,
}

/// Arguments of `kubewright add controller`.
#[derive(Debug, Args)]
pub struct AddController {
    /// A kind of Kubernetes, or one of the project without a controller, as in `Node`, `Deployment.apps/v1` or `Foo`
    pub kind: KindReference,
    /// A kind whose objects belong to those of the kind: a change enqueues the owner (may be repeated)
    #[arg(long, value_name = "KIND")]
    pub owns: Vec<KindReference>,
    /// How to write files
    #[command(flatten)]
    pub write: WriteOptions,
}

/// Arguments of `kubewright add webhook`.
#[derive(Debug, Args)]
pub struct AddWebhook {
    /// A kind of the project or of Kubernetes, as in `Foo`, `Pod` or `Deployment.apps/v1`
    pub kind: KindReference,
    /// Add a webhook that accepts or denies writes
    #[arg(long)]
    pub validating: bool,
    /// Add a webhook that changes objects before they are validated
    #[arg(long)]
    pub defaulting: bool,
    /// How to write files
    #[command(flatten)]
    pub write: WriteOptions,
}

/// Arguments of `kubewright add version`.
#[derive(Debug, Args)]
pub struct AddVersion {
    /// The kind
    pub kind: String,
    /// The new version, newer than the others
    pub version: ApiVersion,
    /// The version to copy: that which the controllers use [default: that one]
    #[arg(long, value_name = "VERSION")]
    pub from: Option<ApiVersion>,
    /// How to write files
    #[command(flatten)]
    pub write: WriteOptions,
}

/// Arguments of `kubewright remove kind`.
#[derive(Debug, Args)]
pub struct RemoveKind {
    /// The kind
    pub kind: String,
    /// How to write files
    #[command(flatten)]
    pub write: WriteOptions,
}

/// Arguments of `kubewright remove controller`.
#[derive(Debug, Args)]
pub struct RemoveController {
    /// The kind, as in `Node`, `Deployment.apps/v1` or `Foo`
    pub kind: KindReference,
    /// How to write files
    #[command(flatten)]
    pub write: WriteOptions,
}

/// Arguments of `kubewright remove webhook`.
#[derive(Debug, Args)]
pub struct RemoveWebhook {
    /// The kind, as in `Foo`, `Pod` or `Deployment.apps/v1`
    pub kind: KindReference,
    /// Remove the webhook that accepts or denies writes [default: both]
    #[arg(long)]
    pub validating: bool,
    /// Remove the webhook that changes objects
    #[arg(long)]
    pub defaulting: bool,
    /// How to write files
    #[command(flatten)]
    pub write: WriteOptions,
}

/// Arguments of `kubewright remove version`.
#[derive(Debug, Args)]
pub struct RemoveVersion {
    /// The kind
    pub kind: String,
    /// The version: not the one that the controllers use, and not the stored one
    pub version: ApiVersion,
    /// Also check that the cluster of this kubeconfig context has no objects that are stored in the version
    #[arg(long, value_name = "CONTEXT")]
    pub cluster: Option<String>,
    /// How to write files
    #[command(flatten)]
    pub write: WriteOptions,
}

/// Subcommands of `kubewright rename`.
#[derive(Debug, Subcommand)]
pub enum Rename {
    /// Rename a kind in code and samples; print the steps for clusters
    Kind(RenameKind),
    /// Move the kinds of an API group to another group; print the steps for clusters
    Group(RenameGroup),
}

/// Arguments of `kubewright rename kind`.
#[derive(Debug, Args)]
pub struct RenameKind {
    /// The kind
    pub kind: String,
    /// Its new name, in UpperCamelCase
    pub new: KindName,
    /// How to write files
    #[command(flatten)]
    pub write: WriteOptions,
}

/// Arguments of `kubewright rename group`.
#[derive(Debug, Args)]
pub struct RenameGroup {
    /// The group
    pub old: String,
    /// Its new name: a domain name that you own
    pub new: Group,
    /// How to write files
    #[command(flatten)]
    pub write: WriteOptions,
}

/// Arguments of `kubewright import`.
#[derive(Debug, Args)]
pub struct Import {
    /// A file with CustomResourceDefinitions, `-` for standard input, or with --cluster the name of a definition such as
    /// `certificates.cert-manager.io`
    #[arg(value_name = "FILE|NAME")]
    pub source: String,
    /// Read the definition from the cluster of this kubeconfig context
    #[arg(long, value_name = "CONTEXT")]
    pub cluster: Option<String>,
    /// Import only this kind of the file (may be repeated)
    #[arg(long)]
    pub kind: Vec<String>,
    /// The version to import (default: the served one of the highest priority, as v2 > v1 > v1beta1)
    #[arg(long, value_name = "VERSION")]
    pub api_version: Option<ApiVersion>,
    /// How much of the descriptions becomes documentation [default: `descriptions` in kubewright.toml]
    #[arg(long, value_enum)]
    pub descriptions: Option<Descriptions>,
    /// Keep your version of the code where the definition changed it, too
    #[arg(long, conflicts_with = "overwrite")]
    pub keep: bool,
    /// Discard your changes of the code
    #[arg(long)]
    pub overwrite: bool,
    /// How to write files
    #[command(flatten)]
    pub write: WriteOptions,
}
