//! The command line. Each struct has the arguments of one command.

mod api_server;
mod changes;
mod packages;
mod write_options;

pub use api_server::{ApiServer, AuthorizationMode, UpstreamFlags, command_line};
pub use changes::{
    Add, AddController, AddKind, AddVersion, AddWebhook, Import, Migrate, MigrateStorage, Remove,
    RemoveController, RemoveKind, RemoveVersion, RemoveWebhook, Rename, RenameGroup, RenameKind,
};
pub use packages::{ChartCrds, Package, PackageBundle, PackageHelm, PackageInstall};
pub use write_options::{MergeOptions, WriteOptions};

use std::{ffi::OsString, path::PathBuf};

use cargo_metadata::semver::Version;
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use crate::{
    exit,
    names::{ApiVersion, Group, KindName, ProjectPath},
};

/// Build Kubernetes operators in Rust: scaffolds a working project and generates its manifests from the code.
#[derive(Debug, Parser)]
#[command(name = "kubewright", version, after_help = exit::HELP)]
pub struct Cli {
    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Create a project with a working operator
    New(New),
    /// Add a kind or a controller to a project, or webhooks or a version to a kind
    #[command(subcommand)]
    Add(Add),
    /// Migrate the stored objects of a kind
    #[command(subcommand)]
    Migrate(Migrate),
    /// Remove a kind, or its controller, webhooks or a version
    #[command(subcommand)]
    Remove(Remove),
    /// Rename a kind, or the API group of kinds
    #[command(subcommand)]
    Rename(Rename),
    /// Import kinds that other projects define: typed structs from their CustomResourceDefinitions
    Import(Import),
    /// Upgrade a project to this version of kubewright: its dependencies, code and managed files
    Upgrade(Upgrade),
    /// Generate CRDs, roles, kustomizations and API documentation from the code
    Generate(Generate),
    /// Check the toolchain, the project and a cluster, and print what to fix
    Doctor(Doctor),
    /// Make a package of the manifests
    #[command(subcommand)]
    Package(Package),
    /// Run the operator against an in-memory API server, and rebuild and restart it when the source changes
    Dev(Dev),
    /// Run an in-memory Kubernetes API server for development and tests; not for production
    ApiServer(Box<ApiServer>),
    /// Print shell completions
    Completions(Completions),
}

/// Arguments of `kubewright new`.
#[derive(Debug, Args)]
pub struct New {
    /// The directory to create; its name is that of the operator: of its crate, its binary and its Deployment
    pub path: ProjectPath,
    /// The first kind, in UpperCamelCase
    #[arg(long)]
    pub kind: KindName,
    /// API group of the kinds: a domain name that you own
    #[arg(long)]
    pub group: Group,
    /// API version of the kind
    #[arg(long, default_value = "v1alpha1")]
    pub api_version: ApiVersion,
    /// The kind is cluster-scoped
    #[arg(long)]
    pub cluster_scoped: bool,
    /// Print the planned changes and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Depend on this published version of the kubewright crate
    #[arg(long, value_name = "VERSION")]
    pub kubewright_version: Option<Version>,
    /// Run `kubewright dev` in the new project
    #[arg(long, conflicts_with = "dry_run")]
    pub dev: bool,
}

/// Arguments of `kubewright generate`.
#[derive(Debug, Args)]
pub struct Generate {
    /// Write nothing; print a diff and exit with 1 if a file is stale
    #[arg(long, conflicts_with = "dry_run")]
    pub check: bool,
    /// Overwrite this file although it was edited by hand (may be repeated)
    #[arg(long, value_name = "PATH")]
    pub overwrite: Vec<PathBuf>,
    /// Resolve the merge conflict of this managed file with your version (may be repeated)
    #[arg(long, value_name = "PATH")]
    pub keep: Vec<PathBuf>,
    /// Print the planned changes and write nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `kubewright doctor`.
#[derive(Debug, Args)]
pub struct Doctor {
    /// Also check the CRDs and the operator's permissions in the cluster of this kubeconfig context
    #[arg(long, value_name = "CONTEXT")]
    pub cluster: Option<String>,
}

/// Arguments of `kubewright upgrade`.
#[derive(Debug, Args)]
pub struct Upgrade {
    /// How to write managed files
    #[command(flatten)]
    pub merge: MergeOptions,
}

/// Arguments of `kubewright dev`.
#[derive(Debug, Default, Args)]
pub struct Dev {
    /// Use the cluster of this kubeconfig context instead of an in-memory API server
    #[arg(long, value_name = "CONTEXT")]
    pub cluster: Option<String>,
    /// Run neither Kubernetes' controllers nor simulated nodes: Deployments get no pods, and pods do not start
    #[arg(long, conflicts_with = "cluster")]
    pub no_simulation: bool,
    /// Start time of a simulated pod in milliseconds [default: 500]
    #[arg(long, value_name = "MILLISECONDS", conflicts_with_all = ["cluster", "no_simulation"])]
    pub pod_start: Option<u64>,
    /// Print changes only of these kinds: plurals, kinds or short names such as `foos,deploy`, also with the group as in `deployments.apps`
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    pub objects: Vec<String>,
    /// Print no changes of objects
    #[arg(long, conflicts_with = "objects")]
    pub quiet: bool,
    /// Flags of the operator, after `--`
    #[arg(last = true, value_name = "OPERATOR_FLAGS")]
    pub operator_flags: Vec<OsString>,
}

/// Arguments of `kubewright completions`.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    pub shell: Shell,
}
