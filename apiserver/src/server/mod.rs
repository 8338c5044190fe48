//! The server: an address, the operations behind it, and who keeps house.

mod builder;
mod front;
mod kubeconfig;
mod listener;
mod start;
mod tls;
mod version;

pub use builder::Builder;
pub use front::Front;
pub use start::StartError;
pub use tls::Tls;
pub use version::VersionInfo;

use crate::audit::Audit;
use crate::auth::{Authenticator, Impersonators};
use crate::http::Layer;
use crate::registry::Registry;
use parking_lot::RwLock;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use tokio::task::JoinSet;

/// What all requests share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) registry: Arc<Registry>,
    pub(crate) authenticator: Authenticator,
    pub(crate) impersonators: Impersonators,
    pub(crate) audit: Audit,
    pub(crate) version: VersionInfo,
    pub(crate) layer: Option<Arc<dyn Layer>>,
    address: RwLock<String>,
}

impl Shared {
    /// Host and port, as discovery tells them.
    pub(crate) fn address(&self) -> String {
        self.address.read().clone()
    }
}

/// A running API server. Dropping it ends it, and everything that it held.
#[derive(Debug)]
pub struct ApiServer {
    shared: Arc<Shared>,
    address: SocketAddr,
    /// PEM of who signed the server's certificate; None without TLS, or where the certificate was given.
    certificate_authority: Option<String>,
    tls: bool,
    admin_token: String,
    tasks: JoinSet<()>,
}

impl ApiServer {
    /// What to start.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Starts one on a free loopback port, with TLS and RBAC.
    ///
    /// # Errors
    ///
    /// When there is no port, or no certificate can be made.
    pub async fn start() -> Result<Self, StartError> {
        Self::builder().start().await
    }

    /// `https://127.0.0.1:PORT`, or `http` without TLS.
    pub fn url(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// The address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Who signed the server's certificate, as PEM.
    pub fn certificate_authority(&self) -> Option<&str> {
        self.certificate_authority.as_deref()
    }

    /// The token of the administrator, of the group `system:masters`.
    pub fn admin_token(&self) -> &str {
        &self.admin_token
    }

    /// A kubeconfig for the administrator.
    pub fn kubeconfig(&self) -> String {
        self.kubeconfig_for(&self.admin_token, "default")
    }

    /// A kubeconfig for who has a token, with a default namespace.
    pub fn kubeconfig_for(&self, token: &str, namespace: &str) -> String {
        let authority = self.certificate_authority.as_deref();
        kubeconfig::text(&self.url(), authority, token, namespace)
    }

    /// Writes the administrator's kubeconfig; only its owner may read it.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn write_kubeconfig(&self, path: &Path) -> std::io::Result<()> {
        kubeconfig::write(path, &self.kubeconfig())
    }

    /// The operations, without HTTP, authentication and authorization.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.shared.registry
    }

    /// What was asked.
    pub fn audit(&self) -> &Audit {
        &self.shared.audit
    }

    /// Ends the server and waits until everything has ended. Requests under way are cut off.
    pub async fn stop(mut self) {
        self.tasks.shutdown().await;
    }

    /// Runs until the server fails, which it does not; a command waits here.
    pub async fn wait(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}
