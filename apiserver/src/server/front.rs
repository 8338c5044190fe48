//! The server's listener before something else that answers: a proxy for tests.

use super::{StartError, Tls, listener, tls};
use crate::http::Next;
use http::Request;
use hyper::body::Incoming;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// Listens on a free loopback port, with a certificate of its own, and lets a function answer. Dropping it ends it.
#[derive(Debug)]
pub struct Front {
    address: SocketAddr,
    certificate_authority: String,
    _tasks: JoinSet<()>,
}

impl Front {
    /// Starts one.
    ///
    /// # Errors
    ///
    /// When there is no port, or no certificate can be made.
    pub async fn start(
        answer: impl Fn(Request<Incoming>) -> Next + Send + Sync + 'static,
    ) -> Result<Self, StartError> {
        let failed = |source| StartError::Listen {
            address: Ipv4Addr::LOCALHOST.to_string(),
            source,
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let (acceptor, authority) = match tls::acceptor(&Tls::Generated, address.ip(), None)? {
            Some((acceptor, authority)) => (Some(acceptor), authority),
            None => (None, None),
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(listener::run(
            Arc::new(move |request, _| answer(request)),
            listener,
            acceptor,
        ));
        Ok(Self {
            address,
            certificate_authority: authority.unwrap_or_default(),
            _tasks: tasks,
        })
    }

    /// `https://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Who signed its certificate, as PEM.
    pub fn certificate_authority(&self) -> &str {
        &self.certificate_authority
    }
}
