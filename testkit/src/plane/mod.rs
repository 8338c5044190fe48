//! A control plane for tests: etcd, kube-apiserver and, on request, kube-controller-manager, on free loopback ports.
//!
//! Read builder (what can be chosen), start (how it comes up; with arguments, ports and users), identity (who may
//! speak to it), disruption (what can happen to it).

mod arguments;
mod builder;
mod disruption;
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
use crate::folder::Folder;
use crate::kubectl::{Kubectl, KubectlError};
use crate::process::{ChildProcess, Launch};
use crate::proxy::Proxy;
pub(crate) use identity::Server;
use serde_json::json;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How long the audit log may lag behind the answers.
const AUDIT_LAG: Duration = Duration::from_secs(10);

/// A running control plane, with RBAC, the admission plugin OwnerReferencesPermissionEnforcement and the audit log
/// on. Dropping it ends the processes and removes the folder. All methods may be called from several threads.
///
/// There are no nodes: pods stay pending, and a Deployment gets ReplicaSets and Pods only where those controllers
/// were asked for ([`Builder::controller_manager`]).
#[derive(Debug)]
pub struct ControlPlane {
    // Fields are dropped in this order: who asks goes before who answers, and the folder last.
    _controller_manager: Option<ChildProcess>,
    api_server: Mutex<ChildProcess>,
    port: u16,
    etcd: ChildProcess,
    etcd_port: u16,
    folder: Folder,
    server: Server,
    admin: Identity,
    users: Vec<Identity>,
    kubectl: PathBuf,
    /// Numbers namespaces, logs, kubeconfigs of service accounts and audit markers.
    counter: AtomicUsize,
}

impl ControlPlane {
    /// What to start.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// One plane for all tests of a test binary, without controllers; the first caller starts it. Tests keep apart by
    /// [`ControlPlane::namespace`] and by service accounts. It ends with the process.
    ///
    /// For other settings write `static PLANE: LazyLock<ControlPlane>` in the test; it ends in the same way.
    ///
    /// # Panics
    ///
    /// When it cannot be started: with the reason, in each test that asks for it.
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

    /// The certificate authority of the API server's certificate, as a PEM file.
    pub fn certificate_authority(&self) -> &Path {
        &self.server.certificate_authority
    }

    /// The process ids of the API server, which a restart changes, and of etcd.
    pub fn processes(&self) -> [u32; 2] {
        let api_server = self.api_server.lock().unwrap_or_else(PoisonError::into_inner);
        [api_server.pid(), self.etcd.pid()]
    }

    /// The folder with the logs. It goes with the plane.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The administrator, of the group `system:masters`.
    pub fn admin(&self) -> &Identity {
        &self.admin
    }

    /// A user that the builder made; None for a name that it did not.
    ///
    /// kube-apiserver reads its users when it starts. Later identities are service accounts.
    pub fn user(&self, name: &str) -> Option<&Identity> {
        self.users.iter().find(|identity| identity.user() == name)
    }

    /// A service account, which is made if it does not exist, with a fresh token. Its kubeconfig names the namespace
    /// as the default one. It has no rights but those that the test binds to it.
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

    /// Makes a namespace with a name that no other call on this plane gives, `<prefix>-<number>`.
    pub fn namespace(&self, prefix: &str) -> Result<String, KubectlError> {
        let name = format!("{prefix}-{}", self.next());
        self.kubectl().run(["create", "namespace", &name])?;
        Ok(name)
    }

    /// kubectl as the administrator.
    pub fn kubectl(&self) -> Kubectl {
        self.kubectl_as(&self.admin)
    }

    /// kubectl as somebody.
    pub fn kubectl_as(&self, identity: &Identity) -> Kubectl {
        Kubectl::new(
            self.kubectl.clone(),
            identity.kubeconfig().to_owned(),
            self.folder.kubectl_cache(),
        )
    }

    /// A forwarder before the API server that can be made to misbehave. [`Identity::through`] makes kubeconfigs that go
    /// through it.
    pub fn proxy(&self) -> io::Result<Proxy> {
        Proxy::start(SocketAddr::from((Ipv4Addr::LOCALHOST, self.port)))
    }

    /// Waits until the kind is served and its objects can own others: the admission plugin that guards owner
    /// references learns of new kinds every ten seconds only, and refuses them until then.
    ///
    /// # Panics
    ///
    /// When that takes longer than a minute.
    #[track_caller]
    pub fn wait_until_ownable(&self, api_version: &str, kind: &str) {
        let owner = json!({
            "apiVersion": api_version, "kind": kind, "name": "owner", "uid": "1", "blockOwnerDeletion": true,
        });
        let metadata = json!({ "name": "owned", "ownerReferences": [owner] });
        let child = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata }).to_string();
        eventually(
            &format!("{kind} of {api_version} can own"),
            Duration::from_mins(1),
            || {
                let kubectl = self.kubectl().namespace("default").stdin(child.clone());
                kubectl.run(["create", "--dry-run=server", "-f", "-"])
            },
        );
    }

    /// A program under test, with `KUBECONFIG` set for that identity, and a log in the plane's folder.
    pub fn launch(&self, identity: &Identity, program: impl AsRef<Path>) -> Launch {
        let program = program.as_ref();
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let log = self.folder.logs().join(format!("{name}-{}.log", self.next()));
        Launch::new(program, log).env("KUBECONFIG", identity.kubeconfig())
    }

    /// The file that [`ControlPlane::audit`] reads, for those who only want to know whether it grows.
    pub fn audit_log_path(&self) -> PathBuf {
        self.folder.audit_log()
    }

    /// Every request that was answered before this call. Requests of the API server to itself are not logged; bodies
    /// of secrets and tokens neither.
    pub fn audit(&self) -> Result<AuditLog, AuditError> {
        let path = self.folder.audit_log();
        // Requests are logged just after they are answered. When one of our own is there, those before it are.
        let marker = format!("/version?audit-marker={}", self.next());
        let start = Instant::now();
        let mut asked = false;
        loop {
            if !asked {
                asked = self
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
            if start.elapsed() > AUDIT_LAG {
                return Err(AuditError::Behind { path, marker });
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn next(&self) -> usize {
        self.counter.fetch_add(1, Ordering::Relaxed)
    }
}
