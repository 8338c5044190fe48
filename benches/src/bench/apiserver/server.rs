//! The API servers: processes of their own, with TLS and RBAC, asked by their administrator.

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

/// How idle it must be: so many microseconds of CPU in that time, which is waited for at most so often.
const QUIET: Duration = Duration::from_millis(500);
const QUIET_MICROS: f64 = 25_000.0;
const QUIET_TRIES: usize = 20;

pub(crate) struct Server {
    _runs: Runs,
    processes: Vec<u32>,
    entry: Entry,
    pub(crate) ready_millis: f64,
}

/// Ends when it is dropped.
#[expect(dead_code, reason = "held for its end")]
enum Runs {
    Embedded(Process, TempDir),
    Real(Box<ControlPlane>),
}

impl Server {
    /// `kubewright api-server`, as soon as it says that it is ready.
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
        process.said("KUBECONFIG=")?;
        let entry = Entry::new(&kubeconfig).await?;
        let mut connection = entry.connect().await?;
        connection.exchange(&entry.request("GET", "/readyz", "")).await?;
        Ok(Self {
            ready_millis: start.elapsed().as_secs_f64() * 1e3,
            processes: vec![process.id()],
            entry,
            _runs: Runs::Embedded(process, folder),
        })
    }

    /// kube-apiserver and etcd. The audit log is off.
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
            entry: Entry::new(plane.admin().kubeconfig()).await?,
            _runs: Runs::Real(Box::new(plane)),
        })
    }

    /// A new connection.
    pub(crate) async fn connect(&self) -> Result<Connection> {
        self.entry.connect().await
    }

    /// The bytes of a request; without a body, if that is empty.
    pub(crate) fn request(&self, method: &str, uri: &str, body: &str) -> Vec<u8> {
        self.entry.request(method, uri, body)
    }

    /// CPU time of its processes so far, in microseconds.
    pub(crate) fn cpu_micros(&self) -> Result<f64> {
        self.processes.iter().map(|id| process::cpu_micros(*id)).sum()
    }

    /// What its processes have resident, in megabytes.
    pub(crate) fn resident(&self) -> Result<f64> {
        let kilobytes: Result<f64> = self.processes.iter().map(|id| process::resident(*id)).sum();
        Ok(kilobytes? / 1024.0)
    }

    /// Waits until it has little to do, or does not come to an end with it.
    pub(crate) async fn settle(&self) -> Result<()> {
        for _ in 0..QUIET_TRIES {
            let before = self.cpu_micros()?;
            tokio::time::sleep(QUIET).await;
            if self.cpu_micros()? - before < QUIET_MICROS {
                break;
            }
        }
        Ok(())
    }
}

/// How its administrator comes in.
struct Entry {
    address: String,
    tls: Arc<ClientConfig>,
    /// Headers of each request.
    headers: String,
}

impl Entry {
    async fn new(kubeconfig: &Path) -> Result<Self> {
        let kubeconfig = Kubeconfig::read_from(kubeconfig).context("no kubeconfig")?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        let address = config.cluster_url.authority().context("no address")?.to_string();
        let auth = serde_json::to_value(&config.auth_info)?;
        let authorization = match auth["token"].as_str() {
            Some(token) => format!("Authorization: Bearer {token}\r\n"),
            // There is a certificate.
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
