//! The arguments of `kubewright api-server`, and its command lines under the name of kube-apiserver.

use std::{
    ffi::OsString,
    net::IpAddr,
    path::{Path, PathBuf},
};

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use kubewright_apiserver::ServiceNetwork;

/// The housekeeping of a server by the name of kube-apiserver, which does no work of the controllers that kube-controller-manager runs.
const OWN_HOUSEKEEPING: &str = "--housekeeping=custom-resource-definitions,extension-servers,flow-schemas";

/// Returns the command line to parse. A program of the name `kube-apiserver`, such as a link to the command in envtest's folder
/// `KUBEBUILDER_ASSETS`, is `kubewright api-server`. As with kube-apiserver alone, nothing collects garbage there, unless a flag says so: tests
/// for envtest count on it.
pub fn command_line(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    let program = arguments.first().map(Path::new).and_then(Path::file_stem);
    if program.is_some_and(|name| name == "kube-apiserver") {
        let is_housekeeping = |argument: &OsString| argument.to_string_lossy().starts_with("--housekeeping");
        if !arguments.iter().any(is_housekeeping) {
            arguments.insert(1, OWN_HOUSEKEEPING.into());
        }
        arguments.insert(1, "api-server".into());
    }
    arguments
}

/// Arguments of `kubewright api-server`.
#[derive(Debug, Args)]
pub struct ApiServer {
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1")]
    pub bind_address: IpAddr,
    /// Port to listen on; 0 picks a free one
    #[arg(long, default_value_t = 0)]
    pub secure_port: u16,
    /// Serving certificate, as PEM [default: generated]
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    pub tls_cert_file: Option<PathBuf>,
    /// Private key of the serving certificate
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    pub tls_private_key_file: Option<PathBuf>,
    /// Folder of the serving certificate `apiserver.crt` and its key `apiserver.key`, which are generated unless both exist, and of the
    /// kubeconfig
    #[arg(long, value_name = "FOLDER")]
    pub cert_dir: Option<PathBuf>,
    /// Serve plain HTTP; kubectl sends no token over it
    #[arg(long, conflicts_with = "tls_cert_file")]
    pub plain_http: bool,
    /// CA bundle for verifying client certificates
    #[arg(long, value_name = "FILE", conflicts_with = "plain_http")]
    pub client_ca_file: Option<PathBuf>,
    /// Static tokens, one per line: `token,user,uid,"group1,group2"`
    #[arg(long, value_name = "FILE")]
    pub token_auth_file: Option<PathBuf>,
    /// Private key that signs the tokens of service accounts, as PEM [default: generated]
    #[arg(long, value_name = "FILE")]
    pub service_account_signing_key_file: Option<PathBuf>,
    /// Keys that verify tokens of service accounts, as PEM, such as the controller manager's key that signs tokens in Secrets
    #[arg(long, value_name = "FILE")]
    pub service_account_key_file: Vec<PathBuf>,
    /// Issuers whose tokens of service accounts are accepted; new tokens have the first [default: `https://kubernetes.default.svc.cluster.local`]
    #[arg(long, value_name = "URL")]
    pub service_account_issuer: Vec<String>,
    /// Audiences of which a token must have one [default: the issuers]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub api_audiences: Vec<String>,
    /// Authorization modes; a request is allowed if one of them allows it
    #[arg(long, value_enum, value_delimiter = ',', default_value = "RBAC")]
    pub authorization_mode: Vec<AuthorizationMode>,
    /// Serve requests without credentials as `system:anonymous`; the authorization mode `AlwaysAllow` switches this off
    #[arg(long, default_value_t = true, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub anonymous_auth: bool,
    /// Admission plugins to switch on, such as ServiceAccount, beside those that are on by default
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub enable_admission_plugins: Vec<String>,
    /// Admission plugins to switch off
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub disable_admission_plugins: Vec<String>,
    /// Tasks of a cluster's controllers that the server does: `*` is all, `-NAME` all but that one. Names: custom-resource-definitions
    /// (serves custom kinds), extension-servers, flow-schemas, garbage-collector, namespaces (deletes what is in them), storage-protection.
    /// A command of the name `kube-apiserver`, such as a link for envtest, does only the first three by default
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "*",
        allow_hyphen_values = true
    )]
    pub housekeeping: Vec<String>,
    /// IPv4 network of the cluster IPs of Services
    #[arg(long, value_name = "CIDR", default_value_t)]
    pub service_cluster_ip_range: ServiceNetwork,
    /// Write the administrator's kubeconfig to this file [default: `kubeconfig.json` in the folder of `--cert-dir`, or
    /// `target/kubewright/api-server.kubeconfig` of the project, or `kubeconfig.json` outside of projects]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Kubernetes version to report
    #[arg(long, value_name = "VERSION", default_value = "v1.36.3")]
    pub report_version: String,
    /// Print the Kubernetes version and exit
    #[arg(long)]
    pub version: bool,
    /// Flags of kube-apiserver that change nothing.
    #[command(flatten)]
    pub upstream: UpstreamFlags,
}

/// Flags of kube-apiserver that change nothing, so that its command lines work: envtest and test suites pass them. Each has its reason.
const UPSTREAM_FLAGS: [(&str, &str); 23] = [
    ("advertise-address", OWN_ADDRESS),
    ("allow-privileged", "Privileged containers are always allowed"),
    ("audit-log-path", "The command keeps no audit log"),
    ("audit-policy-file", "The command keeps no audit log"),
    (
        "enable-aggregator-routing",
        "Requests are not forwarded to extension servers",
    ),
    ("enable-priority-and-fairness", NO_LIMITS),
    ("endpoint-reconciler-type", OWN_ADDRESS),
    ("etcd-prefix", IN_MEMORY),
    ("etcd-servers", IN_MEMORY),
    ("event-ttl", "Events are kept"),
    ("external-hostname", OWN_ADDRESS),
    ("feature-gates", "The features are those that are on by default"),
    ("max-mutating-requests-inflight", NO_LIMITS),
    ("max-requests-inflight", NO_LIMITS),
    ("min-request-timeout", OWN_DEADLINES),
    ("profiling", "The server has no profiles"),
    ("request-timeout", OWN_DEADLINES),
    (
        "runtime-config",
        "The versions are those that are served by default",
    ),
    (
        "service-account-lookup",
        "Tokens always end with their service account",
    ),
    ("storage-media-type", IN_MEMORY),
    ("v", "The server logs no requests"),
    ("watch-cache", IN_MEMORY),
    ("watch-cache-sizes", IN_MEMORY),
];
const IN_MEMORY: &str = "Objects are in memory";
const NO_LIMITS: &str = "Requests are not limited";
const OWN_ADDRESS: &str = "The Service kubernetes has the address that the server listens on";
const OWN_DEADLINES: &str = "Requests have a minute, or the time that they ask for; watches are not limited";

/// The flags of kube-apiserver that are set and change nothing.
#[derive(Debug)]
pub struct UpstreamFlags {
    set: Vec<(&'static str, &'static str)>,
}

impl UpstreamFlags {
    /// Returns the names of the flags, with the reasons why they change nothing.
    pub fn ignored(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.set.iter().copied()
    }
}

impl Args for UpstreamFlags {
    fn augment_args(command: Command) -> Command {
        let flag = |(name, why): (&'static str, &'static str)| {
            Arg::new(name)
                .long(name)
                .help(why)
                .value_name("VALUE")
                .num_args(0..=1)
                .action(ArgAction::Append)
                .help_heading("Flags of kube-apiserver that change nothing here")
        };
        command.args(UPSTREAM_FLAGS.map(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for UpstreamFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let is_set = |(name, _): &(&str, &str)| matches.value_source(name).is_some();
        Ok(Self {
            set: UPSTREAM_FLAGS.into_iter().filter(is_set).collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// An authorization mode.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum AuthorizationMode {
    /// Roles and role bindings
    #[value(name = "RBAC")]
    Rbac,
    /// All requests are allowed
    #[value(name = "AlwaysAllow")]
    AlwaysAllow,
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command as CliCommand};
    use kubewright_apiserver::HousekeepingTask;

    fn parse(line: &[&str]) -> ApiServer {
        let line = command_line(line.iter().map(OsString::from));
        let CliCommand::ApiServer(args) = Cli::try_parse_from(line).unwrap().command else {
            panic!("another command");
        };
        *args
    }

    #[test]
    fn link_of_the_name_kube_apiserver_takes_the_flags_of_envtest() {
        let args = parse(&[
            "assets/kube-apiserver",
            "--allow-privileged=true",
            "--cert-dir=certs",
            "--etcd-servers=http://127.0.0.1:2379",
            "--service-account-issuer=https://127.0.0.1:6443/",
            "--service-account-key-file",
            "certs/sa.crt",
            "--service-account-signing-key-file=certs/sa.key",
            "--runtime-config=api/all=true",
            "--profiling",
            "--v=4",
        ]);
        assert_eq!(args.cert_dir.as_deref(), Some(Path::new("certs")));
        assert_eq!(args.service_account_issuer, ["https://127.0.0.1:6443/"]);
        assert_eq!(args.service_account_key_file, [Path::new("certs/sa.crt")]);
        let ignored: Vec<&str> = args.upstream.ignored().map(|(flag, _)| flag).collect();
        let expected = [
            "allow-privileged",
            "etcd-servers",
            "profiling",
            "runtime-config",
            "v",
        ];
        assert_eq!(ignored, expected);
        assert_eq!(parse(&["kubewright", "api-server"]).upstream.ignored().count(), 0);
    }

    #[test]
    fn link_of_the_name_kube_apiserver_runs_no_controllers_unless_it_is_told_to() {
        let tasks = |line: &[&str]| HousekeepingTask::select(&parse(line).housekeeping).unwrap();
        let own = [
            HousekeepingTask::CustomResourceDefinitions,
            HousekeepingTask::ExtensionServers,
            HousekeepingTask::FlowSchemas,
        ];
        assert_eq!(tasks(&["kube-apiserver"]), own);
        assert_eq!(
            tasks(&["kube-apiserver", "--housekeeping=*"]),
            HousekeepingTask::ALL
        );
        assert_eq!(tasks(&["kubewright", "api-server"]), HousekeepingTask::ALL);
    }
}
