//! How a plane comes up.

use super::arguments::{self, AUDIT_POLICY};
use super::identity::{Identity, IdentityError, Server};
use super::ports::{free_ports, is_listening};
use super::users::{Identities, Users};
use super::{Builder, ControlPlane};
use crate::binaries::{Binaries, ETCD, KUBE_APISERVER, KUBE_CONTROLLER_MANAGER, Unavailable};
use crate::folder::Folder;
use crate::kubectl::Kubectl;
use crate::process::{ChildProcess, ProcessError};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};
use std::{fmt, fs, io};

/// How long a start may take: a loaded machine is slow.
const PATIENCE: Duration = Duration::from_mins(2);

/// How often other ports are tried.
const ATTEMPTS: usize = 5;

/// A plane did not start. `Debug` shows the same text as `Display`, for `unwrap` in tests.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// There are no programs.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// A program cannot be run.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// A file of ours cannot be written or read, or there is no free port.
    #[error("cannot prepare the control plane: {0}")]
    Prepare(#[from] io::Error),
    /// A kubeconfig cannot be written.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// A program ended.
    #[error("{program} ended with {status} while the control plane started; its log, {log}, ends:\n{tail}", log = log.display())]
    Ended {
        /// Which.
        program: &'static str,
        /// How.
        status: ExitStatus,
        /// The whole log; it stays until somebody removes it.
        log: PathBuf,
        /// Its end.
        tail: String,
    },
    /// A program does not become ready.
    #[error("{program} is not ready after {PATIENCE:?}: {state}; its log, {log}, ends:\n{tail}", log = log.display())]
    NotReady {
        /// Which.
        program: &'static str,
        /// What it answers.
        state: String,
        /// The whole log; it stays until somebody removes it.
        log: PathBuf,
        /// Its end.
        tail: String,
    },
}

impl fmt::Debug for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

pub(super) fn start(builder: &Builder) -> Result<ControlPlane, StartError> {
    let binaries = builder.binaries.clone().map_or_else(Binaries::find, Ok)?;
    let kubectl = binaries.kubectl()?;
    if !builder.controllers.is_empty() {
        // Better said now than after the others have started.
        binaries.program(KUBE_CONTROLLER_MANAGER)?;
    }
    let mut attempt = 1;
    loop {
        let folder = Folder::create()?;
        match bring_up(builder, &binaries, &kubectl, &folder) {
            Ok(parts) => return Ok(parts.into_plane(folder, kubectl)),
            Err(error) if attempt < ATTEMPTS && port_was_taken(&error) => attempt += 1,
            Err(error) => {
                if matches!(error, StartError::Ended { .. } | StartError::NotReady { .. }) {
                    folder.keep();
                }
                return Err(error);
            }
        }
    }
}

/// A plane without its folder, which outlives the processes on every path.
struct Parts {
    etcd: ChildProcess,
    etcd_port: u16,
    api_server: ChildProcess,
    port: u16,
    controller_manager: Option<ChildProcess>,
    server: Server,
    identities: Identities,
}

impl Parts {
    fn into_plane(self, folder: Folder, kubectl: PathBuf) -> ControlPlane {
        ControlPlane {
            _controller_manager: self.controller_manager,
            api_server: Mutex::new(self.api_server),
            port: self.port,
            etcd: self.etcd,
            etcd_port: self.etcd_port,
            folder,
            server: self.server,
            admin: self.identities.admin,
            users: self.identities.others,
            kubectl,
            counter: AtomicUsize::new(1),
        }
    }
}

fn bring_up(
    builder: &Builder,
    binaries: &Binaries,
    kubectl: &Path,
    folder: &Folder,
) -> Result<Parts, StartError> {
    let [etcd_port, peer_port, port, manager_port] = free_ports()?;
    let users = Users::new(builder);
    fs::write(folder.audit_policy(), AUDIT_POLICY)?;
    fs::write(folder.tokens(), users.csv())?;
    let start = Instant::now();

    let mut etcd = arguments::etcd(&binaries.program(ETCD)?, folder, etcd_port, peer_port)
        .start()?
        .quiet();
    wait_until(start, &mut [(ETCD, &mut etcd)], || is_listening(etcd_port))?;

    let program = binaries.program(KUBE_APISERVER)?;
    let mut api_server = arguments::api_server(builder, &program, folder, etcd_port, port)
        .start()?
        .quiet();
    let mut running = [(KUBE_APISERVER, &mut api_server), (ETCD, &mut etcd)];
    wait_until(start, &mut running, || is_listening(port))?;
    let server = Server {
        url: url(port),
        certificate_authority: folder.certificates().join("ca.crt"),
    };
    let certificates = fs::read_to_string(folder.certificates().join("apiserver.crt"))?;
    fs::write(&server.certificate_authority, last_certificate(&certificates))?;
    let identities = users.identities(&server, folder)?;
    let client = |identity: &Identity| {
        Kubectl::new(
            kubectl.to_owned(),
            identity.kubeconfig().to_owned(),
            folder.kubectl_cache(),
        )
    };
    wait_until(start, &mut running, || {
        answers_ok(&client(&identities.admin), "/readyz")
    })?;

    let controller_manager = if builder.controllers.is_empty() {
        None
    } else {
        let program = binaries.program(KUBE_CONTROLLER_MANAGER)?;
        let kubeconfig = identities.manager.kubeconfig();
        let launch = arguments::controller_manager(builder, &program, folder, kubeconfig, manager_port);
        let mut manager = launch.start()?.quiet();
        // Its health is open to all, but kubectl asks a person when it has no credentials at all.
        let address = Server {
            url: url(manager_port),
            ..server.clone()
        };
        let health = folder.kubeconfigs().join("kube-controller-manager-health.json");
        let health = Identity::write(&address, "nobody".to_owned(), "none".to_owned(), None, health)?;
        wait_until(start, &mut [(KUBE_CONTROLLER_MANAGER, &mut manager)], || {
            is_listening(manager_port).and_then(|()| answers_ok(&client(&health), "/healthz"))
        })?;
        Some(manager)
    };
    Ok(Parts {
        etcd,
        etcd_port,
        api_server,
        port,
        controller_manager,
        server,
        identities,
    })
}

fn url(port: u16) -> String {
    format!("https://127.0.0.1:{port}")
}

fn port_was_taken(error: &StartError) -> bool {
    matches!(error, StartError::Ended { log, .. }
        if fs::read_to_string(log).is_ok_and(|log| log.contains("address already in use")))
}

pub(super) fn answers_ok(kubectl: &Kubectl, path: &str) -> Result<(), String> {
    kubectl
        .run(["get", "--raw", path])
        .map(drop)
        .map_err(|error| error.to_string())
}

/// Looks until the probe is content, or one of the processes has ended, or the time is over. The first process is
/// the one that is waited for.
pub(super) fn wait_until(
    start: Instant,
    processes: &mut [(&'static str, &mut ChildProcess)],
    mut probe: impl FnMut() -> Result<(), String>,
) -> Result<(), StartError> {
    loop {
        let outcome = probe();
        for (program, process) in processes.iter_mut() {
            if let Some(status) = process.exit_status()? {
                let (log, tail) = (process.log_path().to_owned(), process.log_tail());
                return Err(StartError::Ended {
                    program,
                    status,
                    log,
                    tail,
                });
            }
        }
        let Err(state) = outcome else { return Ok(()) };
        if start.elapsed() > PATIENCE
            && let Some((program, process)) = processes.first()
        {
            let (log, tail) = (process.log_path().to_owned(), process.log_tail());
            return Err(StartError::NotReady {
                program,
                state,
                log,
                tail,
            });
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// kube-apiserver writes its certificate, and after it the authority that signed it.
fn last_certificate(pem: &str) -> &str {
    pem.rfind("-----BEGIN CERTIFICATE-----")
        .map_or(pem, |start| &pem[start..])
}
