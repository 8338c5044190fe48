//! The command line.

use std::{net::IpAddr, path::PathBuf};

use cargo_metadata::semver::Version;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::{
    exit,
    names::{ApiVersion, Group, KindName, OperatorName},
};

/// Operators for Kubernetes in Rust: a project that works at once, and manifests that follow the code.
#[derive(Debug, Parser)]
#[command(name = "kubewright", version, after_help = exit::HELP)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a project: an operator that already does something
    New(New),
    /// Add to a project
    #[command(subcommand)]
    Add(Add),
    /// Bring the manifests, the roles and the API's documentation up to what the code says
    Generate(Generate),
    /// Run the project's operator beside an API server in memory, and again after each change of the source
    Dev(Dev),
    /// Run a Kubernetes API server in memory, for development and tests; it is not for production
    ApiServer(ApiServer),
    /// Print completions for a shell
    Completions(Completions),
}

/// What to add.
#[derive(Debug, Subcommand)]
pub enum Add {
    /// Add a kind with its controller, test and sample
    Kind(AddKind),
}

/// `kubewright new`.
#[derive(Debug, Args)]
pub struct New {
    /// The operator: its crate, its binary, its Deployment
    pub name: OperatorName,
    /// The first kind, in upper camel case
    #[arg(long)]
    pub kind: KindName,
    /// The API group of its kinds: a domain name of yours
    #[arg(long)]
    pub group: Group,
    /// The version of the API
    #[arg(long, default_value = "v1alpha1")]
    pub api_version: ApiVersion,
    /// The folder to make [default: NAME]
    #[arg(long, value_name = "DIR")]
    pub path: Option<PathBuf>,
    /// The kind's objects live outside namespaces
    #[arg(long)]
    pub cluster_scoped: bool,
    /// Print what would be written, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Depend on this published version of the library
    #[arg(long, value_name = "VERSION")]
    pub kubewright_version: Option<Version>,
    /// Go on with `kubewright dev` in the new project
    #[arg(long, conflicts_with = "dry_run")]
    pub dev: bool,
}

/// `kubewright add kind`.
#[derive(Debug, Args)]
pub struct AddKind {
    /// The kind, in upper camel case
    pub kind: KindName,
    /// The API group [default: the one of kubewright.toml]
    #[arg(long)]
    pub group: Option<Group>,
    /// The version of the API
    #[arg(long, default_value = "v1alpha1")]
    pub api_version: ApiVersion,
    /// The kind's objects live outside namespaces
    #[arg(long)]
    pub cluster_scoped: bool,
    /// Print what would be written, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Change files that have uncommitted changes, too
    #[arg(long)]
    pub allow_dirty: bool,
}

/// `kubewright generate`.
#[derive(Debug, Args)]
pub struct Generate {
    /// Write nothing; print a diff and exit with 1 when something is stale
    #[arg(long, conflicts_with = "dry_run")]
    pub check: bool,
    /// Replace this file even though it was edited by hand (may be repeated)
    #[arg(long, value_name = "PATH")]
    pub overwrite: Vec<PathBuf>,
    /// Keep this shared file as it is where its changes conflict with kubewright's (may be repeated)
    #[arg(long, value_name = "PATH")]
    pub keep: Vec<PathBuf>,
    /// Print what would be written, and write nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// `kubewright dev`.
#[derive(Debug, Default, Args)]
pub struct Dev {
    /// Use the cluster of this context of your kubeconfig, instead of an API server in memory
    #[arg(long, value_name = "CONTEXT")]
    pub cluster: Option<String>,
    /// Leave workloads as they are: no Deployment becomes pods, and no pod runs
    #[arg(long, conflicts_with = "cluster")]
    pub no_simulation: bool,
    /// How many milliseconds a simulated pod takes to start [default: 500]
    #[arg(long, value_name = "MILLISECONDS", conflicts_with_all = ["cluster", "no_simulation"])]
    pub pod_start: Option<u64>,
}

/// `kubewright api-server`.
#[derive(Debug, Args)]
pub struct ApiServer {
    /// Where to listen
    #[arg(long, default_value = "127.0.0.1")]
    pub bind_address: IpAddr,
    /// Which port; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    pub secure_port: u16,
    /// The certificate to show, as PEM [default: one of its own]
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    pub tls_cert_file: Option<PathBuf>,
    /// The key of that certificate
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    pub tls_private_key_file: Option<PathBuf>,
    /// Speak plain HTTP; kubectl then sends no token
    #[arg(long, conflicts_with = "tls_cert_file")]
    pub plain_http: bool,
    /// Believe client certificates that these authorities signed
    #[arg(long, value_name = "FILE", conflicts_with = "plain_http")]
    pub client_ca_file: Option<PathBuf>,
    /// Users by tokens: a line a user, `token,user,uid,"group1,group2"`
    #[arg(long, value_name = "FILE")]
    pub token_auth_file: Option<PathBuf>,
    /// Who may do what; if several are named, any of them is enough
    #[arg(long, value_enum, value_delimiter = ',', default_value = "RBAC")]
    pub authorization_mode: Vec<AuthorizationMode>,
    /// Write a kubeconfig for the administrator to this file
    #[arg(long, value_name = "FILE", default_value = "kubeconfig.json")]
    pub kubeconfig: PathBuf,
    /// The version that it says it is
    #[arg(long, value_name = "VERSION", default_value = "v1.36.3")]
    pub report_version: String,
}

/// How it is decided who may do what.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum AuthorizationMode {
    /// Roles and bindings say it
    #[value(name = "RBAC")]
    Rbac,
    /// Everybody may do everything
    #[value(name = "AlwaysAllow")]
    AlwaysAllow,
}

/// `kubewright completions`.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    pub shell: Shell,
}
