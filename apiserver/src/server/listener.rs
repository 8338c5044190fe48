//! Accepts connections and serves HTTP on them.

use super::tls::ConnectionAcceptor;
use crate::http::{ClientCert, ResponseFuture, UpgradedSession};
use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The time limit for the TLS handshake, and for the headers of a request.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest headers of a request, as in kube-apiserver.
const MAX_HEADER_BYTES: u32 = 1 << 20;
/// The delay after a failed accept, for example because the process has too many open files.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(20);

/// Handles a request of a connection with the given client certificate.
pub(super) type Handler = Arc<dyn Fn(Request<Incoming>, ClientCert) -> ResponseFuture + Send + Sync>;

/// Accepts connections until the future is dropped, which closes all of them.
pub(super) async fn run(handler: Handler, listener: TcpListener, acceptor: Option<ConnectionAcceptor>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(accept_tls(handler.clone(), stream, acceptor.clone()));
                }
                Err(_) => tokio::time::sleep(ACCEPT_RETRY_DELAY).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn accept_tls(handler: Handler, stream: TcpStream, acceptor: Option<ConnectionAcceptor>) {
    // Send small responses without delay.
    let _ = stream.set_nodelay(true);
    let Some(acceptor) = acceptor else {
        return serve_connection(handler, stream, ClientCert::Absent).await;
    };
    // A client that fails the handshake, or is too slow, is disconnected without a response.
    if let Ok(Ok((stream, client_cert))) =
        tokio::time::timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)).await
    {
        serve_connection(handler, stream, client_cert).await;
    }
}

async fn serve_connection(
    handler: Handler,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    client_cert: ClientCert,
) {
    let session = UpgradedSession::default();
    let sessions = session.clone();
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(sessions.clone());
        handler(request, client_cert.clone())
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HANDSHAKE_TIMEOUT);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(1000)
        .max_header_list_size(MAX_HEADER_BYTES);
    // Aborted connections are not errors of the server.
    let _ = builder
        .serve_connection_with_upgrades(TokioIo::new(stream), service)
        .await;
    let upgraded = session.take();
    if let Some(upgraded) = upgraded {
        upgraded.await;
    }
}
