//! Command lines of the three programs.

use super::Builder;
use crate::process::Launch;
use crate::temp_folder::TempFolder;
use std::fmt;
use std::path::Path;

/// Audit request bodies, which name owners; but not those of secrets and tokens.
pub(super) const AUDIT_POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  users: ['system:apiserver']
- level: Metadata
  resources: [{group: '', resources: [secrets, serviceaccounts/token]}]
- level: Request
  verbs: [create, update, patch]
- level: Metadata
";

/// etcd.
pub(super) fn etcd(program: &Path, folder: &TempFolder, port: u16, peer_port: u16) -> Launch {
    Launch::new(program, folder.logs().join("etcd.log"))
        .arg(flag("--data-dir", folder.etcd_data().display()))
        .arg(format!("--listen-client-urls=http://127.0.0.1:{port}"))
        .arg(format!("--advertise-client-urls=http://127.0.0.1:{port}"))
        .arg(format!("--listen-peer-urls=http://127.0.0.1:{peer_port}"))
        .arg("--unsafe-no-fsync=true")
}

/// kube-apiserver; it reads the audit policy and the tokens at startup.
pub(super) fn api_server(
    builder: &Builder,
    program: &Path,
    folder: &TempFolder,
    etcd_port: u16,
    port: u16,
) -> Launch {
    // kube-apiserver generates its certificate and key before it reads the service account key.
    let key = folder.certificates().join("apiserver.key");
    let launch = Launch::new(program, folder.logs().join("kube-apiserver.log"))
        .arg(format!("--etcd-servers=http://127.0.0.1:{etcd_port}"))
        .arg(flag("--cert-dir", folder.certificates().display()))
        .args([
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
        ])
        .arg(flag("--secure-port", port))
        .arg("--service-account-issuer=https://kubernetes.default.svc.cluster.local")
        .arg(flag("--service-account-key-file", key.display()))
        .arg(flag("--service-account-signing-key-file", key.display()))
        .args([
            "--service-cluster-ip-range=10.0.0.0/16",
            "--allow-privileged=true",
        ])
        .arg(flag("--token-auth-file", folder.tokens().display()))
        .arg(flag("--audit-policy-file", folder.audit_policy().display()))
        .arg(flag("--audit-log-path", folder.audit_log().display()))
        // Megabytes: never rotate the log, which we read.
        .arg("--audit-log-maxsize=1000000");
    let is_switched = |plugin: &str| {
        let mut arguments = builder.api_server_arguments.iter();
        arguments.any(|argument| argument.contains("-admission-plugins=") && argument.contains(plugin))
    };
    let launch = if is_switched("OwnerReferencesPermissionEnforcement") {
        launch
    } else {
        launch.arg("--enable-admission-plugins=OwnerReferencesPermissionEnforcement")
    };
    // The plugin rejects pods in namespaces without the account that this controller creates.
    let makes_accounts = ["serviceaccount-controller", "*"];
    let has_accounts = builder
        .controllers
        .iter()
        .any(|name| makes_accounts.contains(&name.as_str()));
    let launch = if has_accounts || is_switched("ServiceAccount") {
        launch
    } else {
        launch.arg("--disable-admission-plugins=ServiceAccount")
    };
    // Modes of several flags are added up.
    let has_modes = builder
        .api_server_arguments
        .iter()
        .any(|argument| argument.starts_with("--authorization-mode="));
    let launch = if has_modes {
        launch
    } else {
        launch.arg("--authorization-mode=RBAC")
    };
    launch.args(&builder.api_server_arguments)
}

/// kube-controller-manager; it needs the certificates, which kube-apiserver generates.
pub(super) fn controller_manager(
    builder: &Builder,
    program: &Path,
    folder: &TempFolder,
    kubeconfig: &Path,
    port: u16,
) -> Launch {
    let certificates = folder.certificates();
    let key = certificates.join("apiserver.key");
    Launch::new(program, folder.logs().join("kube-controller-manager.log"))
        .arg(flag("--kubeconfig", kubeconfig.display()))
        .arg(flag("--controllers", builder.controllers.join(",")))
        .args(["--leader-elect=false", "--use-service-account-credentials=false"])
        .args(["--kube-api-qps=500", "--kube-api-burst=1000"])
        .arg(flag("--service-account-private-key-file", key.display()))
        .arg(flag("--root-ca-file", certificates.join("ca.crt").display()))
        .args(["--bind-address=127.0.0.1".to_owned(), flag("--secure-port", port)])
        .arg(flag(
            "--tls-cert-file",
            certificates.join("apiserver.crt").display(),
        ))
        .arg(flag("--tls-private-key-file", key.display()))
}

fn flag(name: &str, value: impl fmt::Display) -> String {
    format!("{name}={value}")
}
