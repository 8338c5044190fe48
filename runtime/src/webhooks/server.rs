//! The HTTPS server of webhooks: its connections. What answers a request is the [`Router`].
//!
//! HTTP/1.1 and 1.0 only: API servers use no other version for webhooks, so that requests are distributed over the replicas.
//!
//! Limits: a connection handles one request at a time, and a response is written before the next request is read. So memory is bounded by
//! [`MAX_CONNECTIONS`] responses and the router's limit of bodies, independent of the clients.

use std::{
    convert::Infallible,
    io::{self, ErrorKind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use http::header::{CONNECTION, HeaderValue};
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::server::{ResolvesServerCert, danger::ClientCertVerifier};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Duration, sleep, timeout},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, warn};

use super::{
    idle_connections::{IdleConnections, OpenConnection},
    router::{Router, Routes},
    write_timeout::WriteTimeout,
};

/// When more are open, the connection that has idled longest is closed.
const MAX_CONNECTIONS: usize = 512;

const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a client may take to send a request's header, also after the last response: longer than the 90 s after which API servers close
/// idle connections, so that no request is sent on a connection that is being closed.
const HEADER_TIMEOUT: Duration = Duration::from_mins(2);

/// How long a client may read nothing of a response.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// The pause after a failed accept.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// A server that is bound to its address.
pub(crate) struct WebhookServer {
    listener: TcpListener,
    tls: TlsAcceptor,
    router: Arc<Router>,
    max_connections: usize,
}

/// The certificates of both sides.
pub(crate) struct ServerTls {
    /// May return another certificate for later connections.
    pub(crate) certificate: Arc<dyn ResolvesServerCert>,
    pub(crate) clients: Arc<dyn ClientCertVerifier>,
}

/// Ends a server in two steps.
#[derive(Clone, Default)]
pub(crate) struct Shutdown {
    /// From now on each response closes its connection: an API server does not repeat a review whose connection was closed while it was idle.
    pub(crate) drain: CancellationToken,
    /// Closes the port and all connections.
    pub(crate) stop: CancellationToken,
}

impl WebhookServer {
    /// Makes a server.
    pub(crate) fn new(listener: TcpListener, tls: ServerTls, routes: Routes) -> Result<Self, rustls::Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(tls.clients)
            .with_cert_resolver(tls.certificate);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self {
            listener,
            tls: TlsAcceptor::from(Arc::new(config)),
            router: Arc::new(Router::new(routes)),
            max_connections: MAX_CONNECTIONS,
        })
    }

    /// Serves until it is stopped; returns when the last connection is closed.
    pub(crate) async fn run(self, shutdown: Shutdown) {
        let connections = TaskTracker::new();
        let free = Arc::new(Semaphore::new(self.max_connections));
        let idle = Arc::new(IdleConnections::default());
        let accept = async || {
            let (stream, _) = self.listener.accept().await?;
            Ok::<_, io::Error>((stream, make_room(&free, &idle).await))
        };
        while let Some(accepted) = shutdown.stop.run_until_cancelled(accept()).await {
            match accepted {
                Ok((stream, permit)) => {
                    let (tls, router) = (self.tls.clone(), self.router.clone());
                    let shutdown = shutdown.clone();
                    let open = Arc::new(idle.open());
                    connections.spawn(async move {
                        let _permit = permit;
                        connection(stream, tls, router, open, shutdown).await;
                    });
                }
                Err(error) => {
                    // Usually out of file descriptors, which takes a while to pass.
                    warn!(%error, "accepting a connection to webhooks failed");
                    sleep(ACCEPT_RETRY_INTERVAL).await;
                }
            }
        }
        connections.close();
        connections.wait().await;
    }
}

/// Waits until another connection may be open. Has one that idles close if there are too many.
async fn make_room(free: &Arc<Semaphore>, idle: &IdleConnections) -> Option<OwnedSemaphorePermit> {
    // The semaphore is never closed, so this always returns a permit.
    loop {
        if let Ok(permit) = free.clone().try_acquire_owned() {
            return Some(permit);
        }
        if idle.close_one() {
            return free.clone().acquire_owned().await.ok();
        }
        tokio::select! {
            permit = free.clone().acquire_owned() => return permit.ok(),
            () = idle.added() => {}
        }
    }
}

async fn connection(
    stream: TcpStream,
    tls: TlsAcceptor,
    router: Arc<Router>,
    open: Arc<OpenConnection>,
    Shutdown { drain, stop }: Shutdown,
) {
    // Responses are small, and written at once.
    if let Err(error) = stream.set_nodelay(true) {
        debug!(%error, "setting TCP_NODELAY failed");
    }
    let accepted = timeout(HANDSHAKE_TIMEOUT, tls.accept(stream));
    let accepted = tokio::select! {
        accepted = accepted => Some(accepted),
        () = open.closed() => None,
        () = stop.cancelled() => None,
    };
    let stream = match accepted {
        Some(Ok(Ok(stream))) => stream,
        Some(Ok(Err(error))) if error.kind() == ErrorKind::UnexpectedEof => return, // a TCP probe
        Some(Ok(Err(error))) => {
            // An API server that does not trust the certificate: the first thing to look for when webhooks do not work.
            warn!(%error, "TLS handshake of a webhook failed");
            return;
        }
        Some(Err(_)) | None => return,
    };
    let stream = TokioIo::new(WriteTimeout::new(stream, WRITE_TIMEOUT));
    let had_request = AtomicBool::new(false);
    let service = service_fn(|request| {
        open.begin_request();
        had_request.store(true, Ordering::Relaxed);
        let (router, open, drain) = (router.clone(), open.clone(), drain.clone());
        async move {
            let mut response = router.respond(request).await;
            if drain.is_cancelled() {
                response
                    .headers_mut()
                    .insert(CONNECTION, HeaderValue::from_static("close"));
            }
            open.end_request();
            Ok::<_, Infallible>(response)
        }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT);
    let mut connection = std::pin::pin!(builder.serve_connection(stream, service));
    let ended = tokio::select! {
        ended = &mut connection => Some(ended),
        () = open.closed() => None,
        () = stop.cancelled() => None,
    };
    let ended = match ended {
        Some(ended) => ended,
        // hyper would wait for the first request.
        None if !had_request.load(Ordering::Relaxed) && !stop.is_cancelled() => return,
        None => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        debug!(%error, "serving a connection of webhooks failed");
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
