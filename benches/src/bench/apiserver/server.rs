//! The measured API servers: processes of their own, with TLS and RBAC, and with access as administrator.

use std::{
    path::Path,
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use kube::{
    Config,
    client::ConfigExt as _,
    config::{KubeConfigOptions, Kubeconfig},
};
use kubewright_testkit::ControlPlane;
use tempfile::TempDir;
use tokio_rustls::rustls::ClientConfig;

use super::connection::Connection;
use crate::process::{self, Process};

/// A server is idle if it uses less than this CPU time in one interval. The wait ends after the maximum number of intervals.
const IDLE_INTERVAL: Duration = Duration::from_millis(500);
const IDLE_MAX_CPU_MICROS: f64 = 25_000.0;
const IDLE_MAX_INTERVALS: usize = 20;

pub(crate) struct MeasuredServer {
    _handle: ServerHandle,
    processes: Vec<u32>,
    admin: AdminAccess,
    pub(crate) ready_millis: f64,
}

/// Stops the server on drop.
#[expect(dead_code, reason = "stops the server on drop")]
enum ServerHandle {
    Embedded(Process, TempDir),
    Real(Box<ControlPlane>),
}

impl MeasuredServer {
    /// Starts `kubewright api-server` and waits until it is ready.
    pub(crate) async fn embedded(program: &Path) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let kubeconfig = folder.path().join("kubeconfig.json");
        let start = Instant::now();
        let mut command = Command::new(program);
        command
            .args(["api-server", "--kubeconfig"])
            .arg(&kubeconfig)
            .stderr(std::fs::File::create(folder.path().join("log"))?);
        let process = Process::start(&mut command)?;
        process.expect_line("KUBECONFIG=")?;
        let admin = AdminAccess::new(&kubeconfig).await?;
        let mut connection = admin.connect().await?;
        connection
            .send_request(&admin.request("GET", "/readyz", ""))
            .await?;
        Ok(Self {
            ready_millis: start.elapsed().as_secs_f64() * 1e3,
            processes: vec![process.id()],
            admin,
            _handle: ServerHandle::Embedded(process, folder),
        })
    }

    /// Starts kube-apiserver, without an audit log, and etcd, and waits until they are ready.
    pub(crate) async fn real() -> Result<Self> {
        let start = Instant::now();
        let plane = tokio::task::spawn_blocking(|| {
            ControlPlane::builder()
                .api_server_arg("--audit-log-path=")
                .start()
        });
        let plane = plane.await??;
        Ok(Self {
            ready_millis: start.elapsed().as_secs_f64() * 1e3,
            processes: plane.processes().to_vec(),
            admin: AdminAccess::new(plane.admin().kubeconfig()).await?,
            _handle: ServerHandle::Real(Box::new(plane)),
        })
    }

    /// Opens a new connection.
    pub(crate) async fn connect(&self) -> Result<Connection> {
        self.admin.connect().await
    }

    /// Returns the bytes of a request. An empty `body` means none.
    pub(crate) fn request(&self, method: &str, uri: &str, body: &str) -> Vec<u8> {
        self.admin.request(method, uri, body)
    }

    /// Returns the CPU time of the server's processes so far, in microseconds.
    pub(crate) fn cpu_micros(&self) -> Result<f64> {
        self.processes.iter().map(|id| process::cpu_micros(*id)).sum()
    }

    /// Returns the resident memory of the server's processes, in megabytes.
    pub(crate) fn resident_mb(&self) -> Result<f64> {
        let kilobytes: Result<f64> = self.processes.iter().map(|id| process::resident_kb(*id)).sum();
        Ok(kilobytes? / 1024.0)
    }

    /// Waits until the server is idle, for at most [`IDLE_MAX_INTERVALS`] intervals.
    pub(crate) async fn wait_until_idle(&self) -> Result<()> {
        for _ in 0..IDLE_MAX_INTERVALS {
            let before = self.cpu_micros()?;
            tokio::time::sleep(IDLE_INTERVAL).await;
            if self.cpu_micros()? - before < IDLE_MAX_CPU_MICROS {
                break;
            }
        }
        Ok(())
    }
}

/// Address and credentials of the administrator.
struct AdminAccess {
    address: String,
    tls: Arc<ClientConfig>,
    /// Headers of each request.
    headers: String,
}

impl AdminAccess {
    async fn new(kubeconfig: &Path) -> Result<Self> {
        let kubeconfig = Kubeconfig::read_from(kubeconfig).context("cannot read the kubeconfig")?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        let address = config
            .cluster_url
            .authority()
            .context("the kubeconfig has no server address")?
            .to_string();
        let auth = serde_json::to_value(&config.auth_info)?;
        let authorization = match auth["token"].as_str() {
            Some(token) => format!("Authorization: Bearer {token}\r\n"),
            // The administrator has a client certificate, which is in the TLS configuration.
            None => String::new(),
        };
        let headers =
            format!("Host: {address}\r\nUser-Agent: bench\r\nAccept: application/json\r\n{authorization}");
        Ok(Self {
            address,
            tls: Arc::new(config.rustls_client_config()?),
            headers,
        })
    }

    async fn connect(&self) -> Result<Connection> {
        Connection::open(&self.address, self.tls.clone()).await
    }

    fn request(&self, method: &str, uri: &str, body: &str) -> Vec<u8> {
        let content = match body.len() {
            0 => String::new(),
            length => format!("Content-Type: application/json\r\nContent-Length: {length}\r\n"),
        };
        let headers = &self.headers;
        format!("{method} {uri} HTTP/1.1\r\n{headers}{content}\r\n{body}").into_bytes()
    }
}
