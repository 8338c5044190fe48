//! A control plane for tests: etcd, kube-apiserver and, optionally, kube-controller-manager, on free loopback ports.
//!
//! Read builder (configuration), start (startup; with arguments, ports, etcd and users), identity (users), disruption (restarts and compaction).

mod arguments;
mod builder;
mod disruption;
mod etcd;
mod identity;
mod ports;
mod start;
mod users;

pub use builder::Builder;
pub use disruption::CompactError;
pub use identity::{Identity, IdentityError};
pub use start::StartError;

use crate::audit::{AuditError, AuditLog};
use crate::eventually;
use crate::kubectl::{Kubectl, KubectlError};
use crate::process::{ChildProcess, Launch};
use crate::proxy::Proxy;
use crate::temp_folder::TempFolder;
pub(crate) use identity::Server;
use serde_json::json;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Maximum delay between a response and its audit event.
const MAX_AUDIT_LAG: Duration = Duration::from_secs(10);

/// A running control plane, with RBAC, the admission plugin OwnerReferencesPermissionEnforcement and the audit log enabled. Dropping it
/// ends the processes and removes the folder. It can be used from several threads.
///
/// There are no nodes: pods stay pending, and Deployments get ReplicaSets and Pods only with the respective controllers
/// ([`Builder::controller_manager`]).
#[derive(Debug)]
pub struct ControlPlane {
    // Drop order: clients before servers, and the folder last.
    _controller_manager: Option<ChildProcess>,
    api_server: Mutex<ChildProcess>,
    port: u16,
    etcd: ChildProcess,
    etcd_port: u16,
    folder: TempFolder,
    server: Server,
    admin: Identity,
    users: Vec<Identity>,
    kubectl: PathBuf,
    /// Numbers namespaces, logs, kubeconfigs of service accounts and audit markers.
    counter: AtomicUsize,
}

impl ControlPlane {
    /// Configures a control plane.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// One control plane for all tests of a test binary, without controllers; started by the first caller, ended with the process. Tests
    /// are isolated by [`ControlPlane::create_namespace`] and by service accounts.
    ///
    /// For other settings use a `static PLANE: LazyLock<ControlPlane>` in the test; it is ended in the same way.
    ///
    /// # Panics
    ///
    /// Panics in each caller if the control plane cannot be started, with the reason.
    #[track_caller]
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Result<ControlPlane, StartError>> = OnceLock::new();
        match SHARED.get_or_init(|| Self::builder().start()) {
            Ok(plane) => plane,
            Err(error) => panic!("{error}"),
        }
    }

    /// The API server's address, `https://127.0.0.1:<port>`.
    pub fn url(&self) -> &str {
        &self.server.url
    }

    /// The CA bundle of the API server's certificate, a PEM file.
    pub fn certificate_authority(&self) -> &Path {
        &self.server.certificate_authority
    }

    /// The process ids of the API server, which change on a restart, and of etcd.
    pub fn processes(&self) -> [u32; 2] {
        let api_server = self.api_server.lock().unwrap_or_else(PoisonError::into_inner);
        [api_server.pid(), self.etcd.pid()]
    }

    /// The folder with the logs. It is removed with the control plane.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The administrator, a member of `system:masters`.
    pub fn admin(&self) -> &Identity {
        &self.admin
    }

    /// A user added with [`Builder::user`]; none for other names.
    ///
    /// kube-apiserver reads its users at startup. Identities created later are service accounts.
    pub fn user(&self, name: &str) -> Option<&Identity> {
        self.users.iter().find(|identity| identity.user() == name)
    }

    /// Creates a service account unless it exists, and a new token for it. Its kubeconfig has the namespace as default. It has only the
    /// permissions that the test binds to it.
    pub fn service_account(&self, namespace: &str, name: &str) -> Result<Identity, IdentityError> {
        let account = format!("apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: {name}\n");
        let kubectl = self.kubectl().namespace(namespace);
        kubectl
            .clone()
            .stdin(account)
            .run(["apply", "--server-side", "--filename", "-"])?;
        let token = kubectl
            .run(["create", "token", name, "--duration=24h"])?
            .trim()
            .to_owned();
        let user = format!("system:serviceaccount:{namespace}:{name}");
        let file = self
            .folder
            .kubeconfigs()
            .join(format!("{namespace}-{name}-{}.json", self.next()));
        Identity::write(&self.server, user, token, Some(namespace), file)
    }

    /// Creates a namespace with a unique name, `<prefix>-<number>`.
    pub fn create_namespace(&self, prefix: &str) -> Result<String, KubectlError> {
        let name = format!("{prefix}-{}", self.next());
        self.kubectl().run(["create", "namespace", &name])?;
        Ok(name)
    }

    /// kubectl as the administrator.
    pub fn kubectl(&self) -> Kubectl {
        self.kubectl_as(&self.admin)
    }

    /// kubectl as an identity.
    pub fn kubectl_as(&self, identity: &Identity) -> Kubectl {
        Kubectl::new(
            self.kubectl.clone(),
            identity.kubeconfig().to_owned(),
            self.folder.kubectl_cache(),
        )
    }

    /// Starts a TCP proxy in front of the API server that can misbehave. [`Identity::via_proxy`] makes kubeconfigs that use it.
    pub fn proxy(&self) -> io::Result<Proxy> {
        Proxy::start(SocketAddr::from((Ipv4Addr::LOCALHOST, self.port)))
    }

    /// Waits until the kind is served and accepted in owner references: the admission plugin that checks owner references refreshes its
    /// kinds every ten seconds, and rejects unknown ones.
    ///
    /// # Panics
    ///
    /// Panics after one minute.
    #[track_caller]
    pub fn wait_until_ownable(&self, api_version: &str, kind: &str) {
        let owner = json!({
            "apiVersion": api_version, "kind": kind, "name": "owner", "uid": "1", "blockOwnerDeletion": true,
        });
        let metadata = json!({ "name": "owned", "ownerReferences": [owner] });
        let child = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata }).to_string();
        eventually(
            &format!("{kind} of {api_version} is accepted in owner references"),
            Duration::from_mins(1),
            || {
                let kubectl = self.kubectl().namespace("default").stdin(child.clone());
                kubectl.run(["create", "--dry-run=server", "-f", "-"])
            },
        );
    }

    /// Prepares a program under test, with `KUBECONFIG` set to the identity's, and a log in the control plane's folder.
    pub fn launch(&self, identity: &Identity, program: impl AsRef<Path>) -> Launch {
        let program = program.as_ref();
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let log = self.folder.logs().join(format!("{name}-{}.log", self.next()));
        Launch::new(program, log).env("KUBECONFIG", identity.kubeconfig())
    }

    /// The file that [`ControlPlane::audit`] reads, to check cheaply whether it has grown.
    pub fn audit_log_path(&self) -> PathBuf {
        self.folder.audit_log()
    }

    /// Returns all requests that were answered before this call. Requests of the API server to itself are not logged, nor bodies of secrets
    /// and tokens.
    pub fn audit(&self) -> Result<AuditLog, AuditError> {
        let path = self.folder.audit_log();
        // Requests are logged shortly after their response. Once our marker request is logged, all earlier ones are.
        let marker = format!("/version?audit-marker={}", self.next());
        let start = Instant::now();
        let mut marker_sent = false;
        loop {
            if !marker_sent {
                marker_sent = self
                    .kubectl()
                    .try_run(["get", "--raw", &marker])
                    .is_ok_and(|output| output.success());
            }
            let text = std::fs::read(&path).map_err(|source| AuditError::Read {
                path: path.clone(),
                source,
            })?;
            let log = AuditLog::parse(&String::from_utf8_lossy(&text))?;
            if log.iter().any(|event| event.uri == marker) {
                return Ok(log.filter(|event| !event.uri.starts_with("/version?audit-marker=")));
            }
            if start.elapsed() > MAX_AUDIT_LAG {
                return Err(AuditError::Behind { path, marker });
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn next(&self) -> usize {
        self.counter.fetch_add(1, Ordering::Relaxed)
    }
}
