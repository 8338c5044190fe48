//! The server's listener in front of another handler: a proxy for tests.

use super::{StartError, Tls, listener, tls};
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
        let (acceptor, authority) = tls::new_acceptor(Tls::Generated, address.ip(), None)?.unzip();
        let mut tasks = JoinSet::new();
        tasks.spawn(listener::run(
            Arc::new(move |request, _| handler(request)),
            listener,
            acceptor,
        ));
        Ok(Self {
            address,
            certificate_authority: authority.flatten().unwrap_or_default(),
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
