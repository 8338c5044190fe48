//! The arguments of `kubewright api-server`, and its command lines under the name of kube-apiserver.

use std::{
    ffi::OsString,
    net::IpAddr,
    path::{Path, PathBuf},
};

use clap::{ArgAction, Args, ValueEnum};
use kubewright_apiserver::ServiceNetwork;

/// Returns the command line to parse. A program of the name `kube-apiserver`, such as a link to the command in envtest's folder
/// `KUBEBUILDER_ASSETS`, is `kubewright api-server`.
pub fn command_line(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    let program = arguments.first().map(Path::new).and_then(Path::file_stem);
    if program.is_some_and(|name| name == "kube-apiserver") {
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
    /// Folder of the serving certificate `apiserver.crt` and its key `apiserver.key`, which are used if both exist, and of the kubeconfig
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
    /// (serves custom kinds), extension-servers, flow-schemas, garbage-collector, namespaces (deletes what is in them), storage-protection
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
    /// Flags of kube-apiserver that change nothing.
    #[command(flatten)]
    pub upstream: UpstreamFlags,
}

/// Flags of kube-apiserver that change nothing, so that its command lines work: envtest passes them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Flags of kube-apiserver that change nothing here")]
pub struct UpstreamFlags {
    /// Privileged containers are always allowed
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    allow_privileged: Option<String>,
    /// Objects are in memory
    #[arg(long, value_name = "URLS")]
    etcd_servers: Vec<String>,
    /// Tokens of service accounts are signed with a key that the server generates
    #[arg(long, value_name = "URL")]
    service_account_issuer: Vec<String>,
    /// Tokens of service accounts are signed with a key that the server generates
    #[arg(long, value_name = "FILE")]
    service_account_key_file: Vec<PathBuf>,
    /// Tokens of service accounts are signed with a key that the server generates
    #[arg(long, value_name = "FILE")]
    service_account_signing_key_file: Option<PathBuf>,
}

impl UpstreamFlags {
    /// Returns the flags that are set, with the reason why they change nothing.
    pub fn ignored(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let own_key = "the server signs the tokens of service accounts with a key that it generates";
        let flags = [
            (
                "--allow-privileged",
                self.allow_privileged.is_some(),
                "privileged containers are always allowed",
            ),
            (
                "--etcd-servers",
                !self.etcd_servers.is_empty(),
                "the server keeps all objects in memory",
            ),
            (
                "--service-account-issuer",
                !self.service_account_issuer.is_empty(),
                own_key,
            ),
            (
                "--service-account-key-file",
                !self.service_account_key_file.is_empty(),
                own_key,
            ),
            (
                "--service-account-signing-key-file",
                self.service_account_signing_key_file.is_some(),
                own_key,
            ),
        ];
        let set = flags.into_iter().filter(|(_, is_set, _)| *is_set);
        set.map(|(flag, _, reason)| (flag, reason))
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
    use crate::args::{Cli, Command};

    fn parse(line: &[&str]) -> ApiServer {
        let line = command_line(line.iter().map(OsString::from));
        let Command::ApiServer(args) = Cli::try_parse_from(line).unwrap().command else {
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
        ]);
        assert_eq!(args.cert_dir.as_deref(), Some(Path::new("certs")));
        let ignored: Vec<&str> = args.upstream.ignored().map(|(flag, _)| flag).collect();
        let expected = [
            "--allow-privileged",
            "--etcd-servers",
            "--service-account-issuer",
            "--service-account-key-file",
            "--service-account-signing-key-file",
        ];
        assert_eq!(ignored, expected);
        assert_eq!(parse(&["kubewright", "api-server"]).upstream.ignored().count(), 0);
    }
}
