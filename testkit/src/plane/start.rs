//! Startup of a control plane.

use super::arguments::{self, AUDIT_POLICY};
use super::identity::{Identity, IdentityError, Server};
use super::ports::{free_ports, is_listening};
use super::users::{Identities, StaticUsers};
use super::{Builder, ControlPlane, etcd};
use crate::binaries::{Binaries, BinariesError, ETCD, KUBE_APISERVER, KUBE_CONTROLLER_MANAGER};
use crate::kubectl::Kubectl;
use crate::process::{ChildProcess, ProcessError};
use crate::temp_folder::TempFolder;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};
use std::{fmt, fs, io};

/// Startup timeout, generous for loaded machines.
const START_TIMEOUT: Duration = Duration::from_mins(2);

/// Number of startups with new ports.
const MAX_START_ATTEMPTS: usize = 5;

/// A control plane failed to start. `Debug` prints the same text as `Display`, for `unwrap` in tests.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The programs are not available.
    #[error(transparent)]
    BinariesError(#[from] BinariesError),
    /// A program could not be run.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// A file could not be written or read, or there is no free port.
    #[error("cannot prepare the control plane: {0}")]
    Prepare(#[from] io::Error),
    /// A kubeconfig could not be written.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// A program exited.
    #[error("{program} exited with {status} during startup; its log, {log}, ends with:\n{tail}", log = log.display())]
    Ended {
        /// The program.
        program: &'static str,
        /// Its exit status.
        status: ExitStatus,
        /// The complete log, which is not removed.
        log: PathBuf,
        /// The last lines of the log.
        tail: String,
    },
    /// A program did not become ready.
    #[error("{program} is not ready after {START_TIMEOUT:?}: {state}; its log, {log}, ends with:\n{tail}", log = log.display())]
    NotReady {
        /// The program.
        program: &'static str,
        /// The last response or connection error.
        state: String,
        /// The complete log, which is not removed.
        log: PathBuf,
        /// The last lines of the log.
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
        // Fail before the other programs are started.
        binaries.program(KUBE_CONTROLLER_MANAGER)?;
    }
    let mut attempt = 1;
    loop {
        let folder = TempFolder::create()?;
        match start_processes(builder, &binaries, &kubectl, &folder) {
            Ok(processes) => return Ok(processes.into_plane(folder, kubectl)),
            Err(error) if attempt < MAX_START_ATTEMPTS && port_was_taken(&error) => attempt += 1,
            Err(error) => {
                if matches!(error, StartError::Ended { .. } | StartError::NotReady { .. }) {
                    folder.keep();
                }
                return Err(error);
            }
        }
    }
}

/// The running processes, without their folder, which must outlive them on every path.
struct RunningProcesses {
    etcd: ChildProcess,
    etcd_port: u16,
    api_server: ChildProcess,
    port: u16,
    controller_manager: Option<ChildProcess>,
    server: Server,
    identities: Identities,
}

impl RunningProcesses {
    fn into_plane(self, folder: TempFolder, kubectl: PathBuf) -> ControlPlane {
        ControlPlane {
            _controller_manager: self.controller_manager,
            api_server: Mutex::new(self.api_server),
            port: self.port,
            etcd: self.etcd,
            etcd_port: self.etcd_port,
            folder,
            server: self.server,
            admin: self.identities.admin,
            users: self.identities.added,
            kubectl,
            counter: AtomicUsize::new(1),
        }
    }
}

fn start_processes(
    builder: &Builder,
    binaries: &Binaries,
    kubectl: &Path,
    folder: &TempFolder,
) -> Result<RunningProcesses, StartError> {
    let [etcd_port, peer_port, port, manager_port] = free_ports()?;
    let users = StaticUsers::new(builder);
    fs::write(folder.audit_policy(), AUDIT_POLICY)?;
    fs::write(folder.tokens(), users.csv())?;
    let start = Instant::now();

    let mut etcd = arguments::etcd(&binaries.program(ETCD)?, folder, etcd_port, peer_port)
        .start()?
        .quiet();
    // kube-apiserver gives up if etcd does not answer within 20 s.
    wait_until(start, &mut [(ETCD, &mut etcd)], || {
        is_listening(etcd_port).and_then(|()| etcd::is_ready(etcd_port))
    })?;

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
        check_ok(&client(&identities.admin), "/readyz")
    })?;

    let controller_manager = if builder.controllers.is_empty() {
        None
    } else {
        let program = binaries.program(KUBE_CONTROLLER_MANAGER)?;
        let kubeconfig = identities.manager.kubeconfig();
        let launch = arguments::controller_manager(builder, &program, folder, kubeconfig, manager_port);
        let mut manager = launch.start()?.quiet();
        // The health endpoint needs no credentials, but without any kubectl would prompt for them.
        let address = Server {
            url: url(manager_port),
            ..server.clone()
        };
        let health = folder.kubeconfigs().join("kube-controller-manager-health.json");
        let health = Identity::write(&address, "nobody".to_owned(), "none".to_owned(), None, health)?;
        wait_until(start, &mut [(KUBE_CONTROLLER_MANAGER, &mut manager)], || {
            is_listening(manager_port).and_then(|()| check_ok(&client(&health), "/healthz"))
        })?;
        Some(manager)
    };
    Ok(RunningProcesses {
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

pub(super) fn check_ok(kubectl: &Kubectl, path: &str) -> Result<(), String> {
    kubectl
        .run(["get", "--raw", path])
        .map(drop)
        .map_err(|error| error.to_string())
}

/// Polls until the probe succeeds, a process exits, or the startup times out. A timeout is reported for the first process.
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
        if start.elapsed() > START_TIMEOUT
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

/// kube-apiserver writes its certificate followed by the one of its CA.
fn last_certificate(pem: &str) -> &str {
    pem.rfind("-----BEGIN CERTIFICATE-----")
        .map_or(pem, |start| &pem[start..])
}
