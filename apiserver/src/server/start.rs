//! Startup of a server.

use super::bootstrap_objects::{BootstrapNetwork, create_bootstrap_objects};
use super::tls::ConnectionAcceptor;
use super::{ApiServer, ApiServerBuilder, TlsInput, listener};
use crate::admission::HookCache;
use crate::audit::AuditLog;
use crate::auth::{
    Authenticator, AuthorizationMode, Authorizer, ImpersonationModeCache, ServiceAccountTokens, User,
};
use crate::http::{FlowSchemas, ServerState, serve};
use crate::kinds::Catalog;
use crate::registry::Registry;
use crate::status::ApiError;
use crate::watch::SharedFeeds;
use crate::webhook_client::HttpsCaller;
use rand::RngExt as _;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::task::JoinSet;

/// The reason why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: String,
        /// The cause.
        source: std::io::Error,
    },
    /// A certificate or a private key cannot be used or generated.
    #[error("cannot use the {input}: {cause}")]
    Certificate {
        /// The input that is at fault.
        input: TlsInput,
        /// The cause.
        cause: String,
    },
    /// The key that signs tokens cannot be generated.
    #[error(
        "cannot generate the key that signs the tokens of service accounts: the system has no random numbers"
    )]
    SigningKey,
    /// The embedded table of kinds is malformed.
    #[error("the table of kinds is malformed: {0}")]
    Table(#[from] serde_json::Error),
    /// The bootstrap objects are invalid.
    #[error("cannot create the bootstrap objects: {0}")]
    Bootstrap(#[from] ApiError),
}

impl ApiServerBuilder {
    /// Starts the server. It is ready when this returns.
    ///
    /// # Errors
    ///
    /// If the address cannot be listened on, or a certificate cannot be used.
    pub async fn start(self) -> Result<ApiServer, StartError> {
        let requested = (self.address, self.port);
        let listening = TcpListener::bind(requested).await.and_then(|listener| {
            let address = listener.local_addr()?;
            Ok((listener, address))
        });
        let (listener, address) = listening.map_err(|source| StartError::Listen {
            address: format!("{}:{}", self.address, self.port),
            source,
        })?;
        let certificate = self.tls.certificate(self.address)?;
        let acceptor = certificate
            .as_ref()
            .map(|certificate| ConnectionAcceptor::new(certificate, self.client_ca.as_deref()))
            .transpose()?;
        let registry = Registry::new(
            Catalog::built_in()?,
            Authorizer::new(&self.modes),
            self.admission,
            self.service_network,
        );
        let caller = Arc::new(HttpsCaller::new(Handle::current()));
        let registry = Arc::new(registry.with_webhook_caller(caller));
        let network = BootstrapNetwork {
            address,
            services: self.service_network,
        };
        create_bootstrap_objects(&registry, network, self.client_ca.as_deref())?;
        let admin_token: String = (0..32)
            .map(|_| char::from(rand::rng().random_range(b'a'..=b'z')))
            .collect();
        let mut tokens = self.tokens;
        let admin = User {
            uid: "admin".to_owned(),
            ..User::new("admin", &["system:masters"])
        };
        tokens.insert(admin_token.clone(), admin);
        let state = Arc::new(ServerState {
            registry: registry.clone(),
            authenticator: Authenticator {
                tokens,
                accounts: ServiceAccountTokens::new(self.service_accounts)
                    .map_err(|_| StartError::SigningKey)?,
                anonymous: self.anonymous_auth && !self.modes.contains(&AuthorizationMode::AlwaysAllow),
            },
            impersonation_modes: ImpersonationModeCache::default(),
            audit: AuditLog::new(self.audit_capacity),
            version: self.version,
            layer: self.layer,
            feeds: SharedFeeds::default(),
            hooks: HookCache::default(),
            flow_schemas: FlowSchemas::default(),
            address: address.to_string(),
        });
        let mut tasks = JoinSet::new();
        for task in self.housekeeping {
            tasks.spawn(task.run(registry.clone(), self.housekeeping_delay));
        }
        let handler_state = state.clone();
        let handler: listener::Handler = Arc::new(move |request, client_cert| {
            Box::pin(serve(handler_state.clone(), request, client_cert))
        });
        tasks.spawn(listener::run(handler, listener, acceptor));
        Ok(ApiServer {
            state,
            address,
            certificate_authority: certificate
                .as_ref()
                .and_then(|certificate| certificate.authority().map(str::to_owned)),
            tls: certificate.is_some(),
            admin_token,
            tasks,
        })
    }
}
