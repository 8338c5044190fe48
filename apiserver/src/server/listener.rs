//! Connections.

use super::tls::Acceptor;
use crate::http::{Asker, Next};
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

/// How long a client may take to agree on TLS, and to send the head of a request.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long to wait when no connection can be taken, as when there are too many.
const PAUSE: Duration = Duration::from_millis(20);

/// What answers a request of somebody.
pub(super) type Handler = Arc<dyn Fn(Request<Incoming>, Asker) -> Next + Send + Sync>;

/// Takes connections until it is dropped, which ends them all.
pub(super) async fn run(handler: Handler, listener: TcpListener, acceptor: Option<Acceptor>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connect(handler.clone(), stream, acceptor.clone()));
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connect(handler: Handler, stream: TcpStream, acceptor: Option<Acceptor>) {
    // Small answers must not wait for more.
    let _ = stream.set_nodelay(true);
    let Some(acceptor) = acceptor else {
        return talk(handler, stream, Asker::Uncertified).await;
    };
    // Who does not agree on TLS in time has nothing to say.
    if let Ok(Ok((stream, asker))) = tokio::time::timeout(PATIENCE, acceptor.accept(stream)).await {
        talk(handler, stream, asker).await;
    }
}

async fn talk(handler: Handler, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, asker: Asker) {
    let service = service_fn(move |request| handler(request, asker.clone()));
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(1000);
    // How a connection ends is the client's affair.
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
}
