//! One way for tests to get an API server: embedded in the test's process, or a real control plane.
//!
//! Read this file, then requests (what the test does), operator (who is tested), front (the faults before a real server).

mod background;
mod error;
mod front;
mod operator;
mod requests;
#[cfg(feature = "simulation")]
mod simulation;

pub use error::ClusterError;

use crate::audit::{AuditEvent, AuditLog};
use crate::faults::{Faults, Matching};
use crate::folder::Folder;
use crate::plane::{self, ControlPlane, Identity, Server};
use crate::process::Launch;
use crate::proxy::Proxy;
use background::Background;
use front::FaultyFront;
use kubewright_apiserver::ApiServer;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fmt, fs, io};

/// An API server for tests, with RBAC, garbage collection and an audit log. Dropping it ends it.
///
/// - [`Cluster::embedded`] is [`kubewright_apiserver`] in this process: no Go, no Docker, no network, ready in some milliseconds, so that
///   each test has its own.
/// - [`Cluster::start_real`] is etcd and kube-apiserver, see [`ControlPlane`].
///
/// There are no nodes and no controllers for Deployments and the like: a test writes their status itself, or has it simulated
/// (`Cluster::simulate`, with the feature `simulation`). Methods block the thread, and
/// may be called from everywhere, an async test included: the embedded server answers on threads of its own.
pub struct Cluster {
    // Dropped in this order: the servers before the threads that they run on.
    side: Side,
    requester: kube::Client,
    faults: Faults,
    counter: AtomicUsize,
    background: Background,
}

#[derive(Debug)]
enum Side {
    Embedded {
        server: ApiServer,
        admin: Identity,
        folder: Folder,
    },
    Real {
        front: FaultyFront,
        plane: Arc<ControlPlane>,
    },
}

impl Cluster {
    /// Starts the embedded one.
    pub fn embedded() -> Result<Self, ClusterError> {
        let (background, faults, folder) = (Background::start()?, Faults::default(), Folder::create()?);
        let builder = ApiServer::builder().layer(Arc::new(faults.clone()));
        let server = background.wait(builder.start())??;
        let authority = server.certificate_authority().unwrap_or_default();
        fs::write(folder.certificates().join("ca.crt"), authority)?;
        let admin = Identity::write(
            &self::server(&server, &folder),
            "admin".to_owned(),
            server.admin_token().to_owned(),
            None,
            folder.kubeconfigs().join("admin.json"),
        )?;
        let requester = background.wait(client(admin.clone()))??;
        let side = Side::Embedded {
            server,
            admin,
            folder,
        };
        Ok(Self::new(side, requester, faults, background))
    }

    /// Starts a real one; see [`ControlPlane::builder`]. With the `garbage-collector-controller` it does what the embedded one does.
    pub fn start_real(builder: plane::Builder) -> Result<Self, ClusterError> {
        let (background, faults) = (Background::start()?, Faults::default());
        let plane = Arc::new(builder.start()?);
        let requester = background.wait(client(plane.admin().clone()))??;
        let (seen, before) = (plane.clone(), faults.clone());
        let front = background.wait(async move { FaultyFront::start(&seen, before).await })??;
        let side = Side::Real { front, plane };
        Ok(Self::new(side, requester, faults, background))
    }

    fn new(side: Side, requester: kube::Client, faults: Faults, background: Background) -> Self {
        Self {
            side,
            requester,
            faults,
            background,
            counter: AtomicUsize::new(1),
        }
    }

    /// The administrator, whose requests meet no faults on a real cluster, and on the embedded one those that match `admin`.
    pub fn admin(&self) -> &Identity {
        match &self.side {
            Side::Embedded { admin, .. } => admin,
            Side::Real { plane, .. } => plane.admin(),
        }
    }

    /// What goes wrong with requests: nothing, until a test says so.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// A forwarder before the API server that can be made to misbehave; [`Identity::through`] makes kubeconfigs that go through it.
    /// On a real cluster requests through it meet no [`Faults`].
    pub fn proxy(&self) -> io::Result<Proxy> {
        match &self.side {
            Side::Embedded { server, .. } => Proxy::start(server.address()),
            Side::Real { plane, .. } => plane.proxy(),
        }
    }

    /// Expires the history, for everybody: a watch that goes on from a version that anybody has seen, and a page or a list of one, are answered
    /// 410 from now on, so that whoever asks must list anew. Open watches go on, if they are not a hundred changes behind.
    ///
    /// The server forgets in earnest. A real one may remember some of it in its own cache: there the proxy answers 410 to those whom faults
    /// meet, and the administrator may still be served (see [`ControlPlane::compact_history`]).
    pub fn compact_history(&self) -> Result<(), ClusterError> {
        match &self.side {
            Side::Embedded { server, .. } => server.registry().store.compact(),
            Side::Real { plane, .. } => self.faults.forget_before(plane.compact_history()?),
        }
        Ok(())
    }

    /// [Expires the history](Self::compact_history) and ends the open watches that match, in good order, so that their clients come back too
    /// late. Says how many there were.
    pub fn expire(&self, matching: &Matching) -> Result<usize, ClusterError> {
        self.compact_history()?;
        Ok(self.faults.close(matching))
    }

    /// Every request that was answered before this call.
    pub fn audit(&self) -> Result<AuditLog, ClusterError> {
        match &self.side {
            Side::Embedded { server, .. } => {
                let records = server.audit().records().into_iter().enumerate();
                Ok(records.map(AuditEvent::from).collect())
            }
            Side::Real { plane, .. } => Ok(plane.audit()?),
        }
    }

    /// The API server in this process; None when the cluster is real.
    pub fn in_process(&self) -> Option<&ApiServer> {
        match &self.side {
            Side::Embedded { server, .. } => Some(server),
            Side::Real { .. } => None,
        }
    }

    /// The control plane; None when the cluster is embedded.
    pub fn real(&self) -> Option<&ControlPlane> {
        match &self.side {
            Side::Embedded { .. } => None,
            Side::Real { plane, .. } => Some(plane),
        }
    }

    /// A program under test, with `KUBECONFIG` set for that identity, and a log in the cluster's folder.
    pub fn launch(&self, identity: &Identity, program: impl AsRef<Path>) -> Launch {
        let program = program.as_ref();
        match &self.side {
            Side::Real { plane, .. } => plane.launch(identity, program),
            Side::Embedded { folder, .. } => {
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
            .field("side", &self.side)
            .finish_non_exhaustive()
    }
}

fn server(server: &ApiServer, folder: &Folder) -> Server {
    Server {
        url: server.url(),
        certificate_authority: folder.certificates().join("ca.crt"),
    }
}

async fn client(identity: Identity) -> Result<kube::Client, ClusterError> {
    let config = identity.config().await?;
    kube::Client::try_from(config).map_err(|source| ClusterError::Request {
        what: "the administrator's client".to_owned(),
        source: Box::new(source),
    })
}
