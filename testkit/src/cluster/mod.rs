//! An API server for tests: embedded in the test's process, or a real control plane.
//!
//! Read this file, then requests (requests as the administrator), operator (the identity under test), fault_proxy (faults in front of a
//! real server).

mod background_runtime;
mod error;
mod fault_proxy;
mod operator;
mod requests;
#[cfg(feature = "simulation")]
mod simulation;

pub use error::ClusterError;

use crate::audit::{AuditEvent, AuditLog, PermissionUnit};
use crate::faults::{Faults, RequestMatcher};
use crate::plane::{self, ControlPlane, Identity, Server};
use crate::process::Launch;
use crate::proxy::Proxy;
use crate::temp_folder::TempFolder;
use background_runtime::BackgroundRuntime;
use fault_proxy::FaultProxy;
use kubewright_apiserver::{AdmissionPlugin, ApiServer, ApiServerBuilder};
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::{fmt, fs, io};

/// An API server for tests, with RBAC, garbage collection and an audit log. Dropping it stops it.
///
/// - [`Cluster::embedded`] is [`kubewright_apiserver`] in this process: no Go, no Docker, no network, ready in milliseconds, so each test
///   can have its own.
/// - [`Cluster::start_real`] is etcd and kube-apiserver, see [`ControlPlane`].
///
/// There are no nodes and no controllers for Deployments and the like: a test writes their status itself, or starts the controllers of
/// `kubewright-controllers` and simulates nodes (`Cluster::simulate`, with the feature `simulation`). Methods block the thread, and may be called from anywhere, including async tests:
/// the embedded server runs on its own threads.
pub struct Cluster {
    // Drop order: the servers before the threads that they run on.
    backend: Backend,
    admin_client: kube::Client,
    faults: Faults,
    /// The permissions of each [`operator`](Self::operator), by user name.
    granted: Mutex<HashMap<String, Vec<PermissionUnit>>>,
    counter: AtomicUsize,
    background: BackgroundRuntime,
}

#[derive(Debug)]
enum Backend {
    Embedded {
        server: ApiServer,
        admin: Identity,
        folder: TempFolder,
    },
    Real {
        proxy: FaultProxy,
        plane: Arc<ControlPlane>,
    },
}

impl Cluster {
    /// Starts an embedded cluster.
    pub fn embedded() -> Result<Self, ClusterError> {
        Self::start_embedded(ApiServer::builder())
    }

    /// Starts an API server in this process with these options, and with the admission plugin OwnerReferencesPermissionEnforcement, even if
    /// `admission_plugins` leaves it out: owner references need the permissions that some clusters ask for. Its layer is replaced by the cluster's faults, and TLS must be
    /// [generated](kubewright_apiserver::Tls::Generated).
    pub fn start_embedded(builder: ApiServerBuilder) -> Result<Self, ClusterError> {
        let (background, faults, folder) = (
            BackgroundRuntime::start()?,
            Faults::default(),
            TempFolder::create()?,
        );
        let builder = builder
            .layer(Arc::new(faults.clone()))
            .enable_admission_plugin(AdmissionPlugin::OwnerReferencesPermissionEnforcement);
        let server = background.block_on(builder.start())??;
        let authority = server.certificate_authority().unwrap_or_default();
        fs::write(folder.certificates().join("ca.crt"), authority)?;
        let admin = Identity::write(
            &self::server(&server, &folder),
            "admin".to_owned(),
            server.admin_token().to_owned(),
            None,
            folder.kubeconfigs().join("admin.json"),
        )?;
        let admin_client = background.block_on(client(admin.clone()))??;
        let backend = Backend::Embedded {
            server,
            admin,
            folder,
        };
        Ok(Self::new(backend, admin_client, faults, background))
    }

    /// Starts a real cluster; see [`ControlPlane::builder`]. With the `garbage-collector-controller` it has the features of an embedded
    /// one.
    pub fn start_real(builder: plane::Builder) -> Result<Self, ClusterError> {
        let (background, faults) = (BackgroundRuntime::start()?, Faults::default());
        let plane = Arc::new(builder.start()?);
        let admin_client = background.block_on(client(plane.admin().clone()))??;
        let (proxied_plane, proxy_faults) = (plane.clone(), faults.clone());
        let proxy =
            background.block_on(async move { FaultProxy::start(&proxied_plane, proxy_faults).await })??;
        let backend = Backend::Real { proxy, plane };
        Ok(Self::new(backend, admin_client, faults, background))
    }

    fn new(
        backend: Backend,
        admin_client: kube::Client,
        faults: Faults,
        background: BackgroundRuntime,
    ) -> Self {
        Self {
            backend,
            admin_client,
            faults,
            background,
            granted: Mutex::default(),
            counter: AtomicUsize::new(1),
        }
    }

    /// The administrator. On a real cluster its requests bypass all faults; on the embedded one they bypass faults that do not match
    /// `admin`.
    pub fn admin(&self) -> &Identity {
        match &self.backend {
            Backend::Embedded { admin, .. } => admin,
            Backend::Real { plane, .. } => plane.admin(),
        }
    }

    /// The injected faults; none at first.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Starts a TCP proxy in front of the API server that can misbehave; [`Identity::via_proxy`] makes kubeconfigs that use it. On a real
    /// cluster, its connections bypass the [`Faults`].
    pub fn proxy(&self) -> io::Result<Proxy> {
        match &self.backend {
            Backend::Embedded { server, .. } => Proxy::start(server.address()),
            Backend::Real { plane, .. } => plane.proxy(),
        }
    }

    /// Compacts the history, for all clients: a watch from any version seen so far, and a page or a list at one, get 410 from now on, so
    /// that the client must relist. Open watches continue, unless they are more than a hundred changes behind.
    ///
    /// The embedded server and etcd really drop the history. A real API server may still have some of it in its watch cache: there the
    /// proxy responds 410 to clients that are subject to faults, and the administrator may still be served (see
    /// [`ControlPlane::compact_history`]).
    pub fn compact_history(&self) -> Result<(), ClusterError> {
        match &self.backend {
            Backend::Embedded { server, .. } => server.registry().store.compact(),
            Backend::Real { plane, .. } => self.faults.expire_before(plane.compact_history()?),
        }
        Ok(())
    }

    /// [Compacts the history](Self::compact_history) and gracefully closes the open watches that match, so that their clients cannot
    /// resume. Returns their number.
    pub fn expire_watches(&self, matcher: &RequestMatcher) -> Result<usize, ClusterError> {
        self.compact_history()?;
        Ok(self.faults.close_watches(matcher))
    }

    /// Returns all requests that were answered before this call.
    pub fn audit(&self) -> Result<AuditLog, ClusterError> {
        match &self.backend {
            Backend::Embedded { server, .. } => {
                let records = server.audit().records().into_iter().enumerate();
                Ok(records.map(AuditEvent::from).collect())
            }
            Backend::Real { plane, .. } => Ok(plane.audit()?),
        }
    }

    /// The API server in this process; none for a real cluster.
    pub fn embedded_server(&self) -> Option<&ApiServer> {
        match &self.backend {
            Backend::Embedded { server, .. } => Some(server),
            Backend::Real { .. } => None,
        }
    }

    /// The control plane; none for an embedded cluster.
    pub fn control_plane(&self) -> Option<&ControlPlane> {
        match &self.backend {
            Backend::Embedded { .. } => None,
            Backend::Real { plane, .. } => Some(plane),
        }
    }

    /// Prepares a program under test, with `KUBECONFIG` set to the identity's, and a log in the cluster's folder.
    pub fn launch(&self, identity: &Identity, program: impl AsRef<Path>) -> Launch {
        let program = program.as_ref();
        match &self.backend {
            Backend::Real { plane, .. } => plane.launch(identity, program),
            Backend::Embedded { folder, .. } => {
                let name = program.file_name().unwrap_or_default().to_string_lossy();
                let log = folder.logs().join(format!("{name}-{}.log", self.next()));
                Launch::new(program, log).env("KUBECONFIG", identity.kubeconfig())
            }
        }
    }

    fn next(&self) -> usize {
        self.counter.fetch_add(1, Ordering::Relaxed)
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("backend", &self.backend)
            .finish_non_exhaustive()
    }
}

fn server(server: &ApiServer, folder: &TempFolder) -> Server {
    Server {
        url: server.url(),
        certificate_authority: folder.certificates().join("ca.crt"),
    }
}

async fn client(identity: Identity) -> Result<kube::Client, ClusterError> {
    let config = identity.config().await?;
    crate::client(config).map_err(|source| ClusterError::Request {
        what: "the administrator's client".to_owned(),
        source: Box::new(source),
    })
}
