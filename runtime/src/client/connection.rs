//! The way to the API server, known before there is one.

use std::{
    sync::{Arc, OnceLock},
    task::{Context, Poll},
};

use futures::future::BoxFuture;
use http::{Request, Response};
use kube::client::Body;
use tower::{BoxError, Service};

/// A client that can be handed out before the operator is connected, so that registering does no I/O. Cloning copies a pointer.
#[derive(Clone)]
pub struct Connection {
    client: kube::Client,
}

/// Where the real client is put once it is known; see [`Connection::late`].
#[derive(Clone)]
pub struct ConnectionSlot(Arc<OnceLock<kube::Client>>);

/// A request was sent before the operator was connected.
#[derive(Debug, thiserror::Error)]
#[error("not connected yet: send requests from reconcile, or from a runnable, not while registering")]
struct NotConnected;

impl Connection {
    /// A connection through a client that exists.
    pub fn new(client: kube::Client) -> Self {
        Self { client }
    }

    /// A connection whose client is put into the slot later; requests before that are errors. Must be called within a tokio runtime.
    pub fn late() -> (Self, ConnectionSlot) {
        let slot = ConnectionSlot(Arc::new(OnceLock::new()));
        (
            Self {
                client: kube::Client::new(Late(slot.clone()), "default"),
            },
            slot,
        )
    }

    /// The client, for raw use.
    pub fn kube_client(&self) -> kube::Client {
        self.client.clone()
    }
}

impl ConnectionSlot {
    /// Connects; the first client stays.
    pub fn connect(&self, client: kube::Client) {
        let _ = self.0.set(client);
    }
}

#[derive(Clone)]
struct Late(ConnectionSlot);

impl Service<Request<Body>> for Late {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let client = self.0.0.get().cloned();
        Box::pin(async move { Ok(client.ok_or(NotConnected)?.send(request).await?) })
    }
}
