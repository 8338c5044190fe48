//! The server's listener in front of another handler: a proxy for tests.

use super::serving_certificate::ServingCertificate;
use super::tls::ConnectionAcceptor;
use super::{StartError, listener};
use crate::http::ResponseFuture;
use http::Request;
use hyper::body::Incoming;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// A TLS listener on a free loopback port with a generated certificate. A function answers its requests. Dropping it stops it.
#[derive(Debug)]
pub struct ProxyListener {
    address: SocketAddr,
    certificate_authority: String,
    _tasks: JoinSet<()>,
}

impl ProxyListener {
    /// Starts the listener.
    ///
    /// # Errors
    ///
    /// If no port is free, or no certificate can be generated.
    pub async fn start(
        handler: impl Fn(Request<Incoming>) -> ResponseFuture + Send + Sync + 'static,
    ) -> Result<Self, StartError> {
        let failed = |source| StartError::Listen {
            address: Ipv4Addr::LOCALHOST.to_string(),
            source,
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let certificate = ServingCertificate::generate(address.ip())?;
        let acceptor = ConnectionAcceptor::new(&certificate, None)?;
        let mut tasks = JoinSet::new();
        tasks.spawn(listener::run(
            Arc::new(move |request, _| handler(request)),
            listener,
            Some(acceptor),
        ));
        Ok(Self {
            address,
            certificate_authority: certificate.authority().unwrap_or_default().to_owned(),
            _tasks: tasks,
        })
    }

    /// `https://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// The CA that signed its certificate, as PEM.
    pub fn certificate_authority(&self) -> &str {
        &self.certificate_authority
    }
}
