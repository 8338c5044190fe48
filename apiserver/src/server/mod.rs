//! The server: listener, shared state and background controllers.

mod bootstrap_objects;
mod builder;
mod kubeconfig;
mod listener;
mod proxy_listener;
mod serving_certificate;
mod start;
mod tls;
mod tls_input;

pub use builder::ApiServerBuilder;
pub use proxy_listener::ProxyListener;
pub use serving_certificate::ServingCertificate;
pub use start::StartError;
pub use tls::Tls;
pub use tls_input::TlsInput;

use crate::audit::AuditLog;
use crate::http::ServerState;
use crate::registry::Registry;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use tokio::task::JoinSet;

/// A running API server. Dropping it stops it and discards its objects.
#[derive(Debug)]
pub struct ApiServer {
    state: Arc<ServerState>,
    address: SocketAddr,
    /// See [`Self::certificate_authority`].
    certificate_authority: Option<String>,
    tls: bool,
    admin_token: String,
    tasks: JoinSet<()>,
}

impl ApiServer {
    /// Returns the options of a server to start.
    pub fn builder() -> ApiServerBuilder {
        ApiServerBuilder::default()
    }

    /// Starts a server on a free loopback port, with TLS and RBAC.
    ///
    /// # Errors
    ///
    /// If no port is free, or no certificate can be generated.
    pub async fn start() -> Result<Self, StartError> {
        Self::builder().start().await
    }

    /// `https://127.0.0.1:PORT`, or `http` without TLS.
    pub fn url(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// The address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The CA at the end of the server's certificate chain, as PEM; a generated chain has one. None if there is none, and without TLS.
    pub fn certificate_authority(&self) -> Option<&str> {
        self.certificate_authority.as_deref()
    }

    /// The token of the administrator, a member of `system:masters`.
    pub fn admin_token(&self) -> &str {
        &self.admin_token
    }

    /// Returns a kubeconfig for the administrator.
    pub fn kubeconfig(&self) -> String {
        self.kubeconfig_for(&self.admin_token, "default")
    }

    /// Returns a kubeconfig with the given token and default namespace.
    pub fn kubeconfig_for(&self, token: &str, namespace: &str) -> String {
        let authority = self.certificate_authority.as_deref();
        kubeconfig::to_text(&self.url(), authority, token, namespace)
    }

    /// Writes the administrator's kubeconfig with mode 0600.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn write_kubeconfig(&self, path: &Path) -> std::io::Result<()> {
        kubeconfig::write_private_file(path, &self.kubeconfig())
    }

    /// The registry: operations without HTTP, authentication and authorization.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.state.registry
    }

    /// The audit log.
    pub fn audit(&self) -> &AuditLog {
        &self.state.audit
    }

    /// Stops the server: closes the listener and all connections. Requests in flight get no response; one that waits, as for a webhook, ends
    /// by itself.
    pub async fn stop(mut self) {
        self.tasks.shutdown().await;
    }

    /// Waits until the server stops; it never does by itself.
    pub async fn wait(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}
