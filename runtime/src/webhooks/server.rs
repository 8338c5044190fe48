//! The HTTPS server of webhooks: a path is a handler of bodies.
//!
//! HTTP/1.1 and 1.0 only: API servers use no other version for webhooks, so that requests are distributed over the replicas.
//!
//! Limits: a connection handles one request at a time, and a response is written before the next request is read. So memory is bounded by
//! [`MAX_CONNECTIONS`] responses and [`MAX_BODY_BYTES_IN_FLIGHT`] of bodies, independent of the clients.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    io::{self, ErrorKind},
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use futures::{FutureExt as _, future::BoxFuture};
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use http_body::Body as _;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::server::{ResolvesServerCert, danger::ClientCertVerifier};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Duration, Instant, sleep, timeout, timeout_at},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, error, warn};

use super::{
    idle_connections::{IdleConnections, OpenConnection},
    metrics::{PathMetrics, WebhookMetrics},
    write_timeout::WriteTimeout,
};
use crate::panics;

/// The largest body: two objects of at most 3 MiB, and the rest of a review.
const MAX_BODY_BYTES: u32 = 8 << 20;

/// The sum of the bodies that are being read or reviewed. More requests wait.
const MAX_BODY_BYTES_IN_FLIGHT: u32 = 64 << 20;

/// What a request counts at least, which limits their number.
const MIN_BODY_BYTES: u32 = 64 << 10;

/// When more are open, the connection that has idled longest is closed.
const MAX_CONNECTIONS: usize = 512;

const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a client may take to send a request's header, also after the last response: longer than the 90 s after which API servers close
/// idle connections, so that no request is sent on a connection that is being closed.
const HEADER_TIMEOUT: Duration = Duration::from_mins(2);

const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a client may read nothing of a response.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// The timeout of a review without one in its URL: the API server's default.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest timeout of a webhook.
const MAX_TIMEOUT: Duration = Duration::from_secs(30);

/// The pause after a failed accept.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Answers the reviews of one path.
pub(crate) trait WebhookHandler: Send + Sync {
    /// Answers a review, by the deadline. The error is a message for the API server, which then applies the failure policy.
    fn review(&self, body: Bytes, deadline: Instant) -> BoxFuture<'_, Result<Vec<u8>, String>>;
}

/// The handlers by path.
#[derive(Default)]
pub(crate) struct Routes(BTreeMap<String, Route>);

struct Route {
    handler: Arc<dyn WebhookHandler>,
    metrics: PathMetrics,
}

impl Routes {
    /// Adds a handler, in place of another one of the same path.
    pub(crate) fn add(&mut self, path: String, handler: Arc<dyn WebhookHandler>, metrics: &WebhookMetrics) {
        let metrics = metrics.of_path(&path);
        self.0.insert(path, Route { handler, metrics });
    }

    fn paths(&self) -> String {
        self.0.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
    }
}

/// A server that is bound to its address.
pub(crate) struct WebhookServer {
    listener: TcpListener,
    tls: TlsAcceptor,
    shared: Arc<Shared>,
    max_connections: usize,
}

struct Shared {
    routes: Routes,
    body_bytes: Arc<Semaphore>,
}

/// The certificates of both sides.
pub(crate) struct ServerTls {
    /// May return another certificate for later connections.
    pub(crate) certificate: Arc<dyn ResolvesServerCert>,
    pub(crate) clients: Arc<dyn ClientCertVerifier>,
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
            shared: Arc::new(Shared {
                routes,
                body_bytes: Arc::new(Semaphore::new(MAX_BODY_BYTES_IN_FLIGHT as usize)),
            }),
            max_connections: MAX_CONNECTIONS,
        })
    }

    /// Serves until `stop`; returns when the last connection is closed.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let connections = TaskTracker::new();
        let free = Arc::new(Semaphore::new(self.max_connections));
        let idle = Arc::new(IdleConnections::default());
        let accept = async || {
            let (stream, _) = self.listener.accept().await?;
            Ok::<_, io::Error>((stream, make_room(&free, &idle).await))
        };
        while let Some(accepted) = stop.run_until_cancelled(accept()).await {
            match accepted {
                Ok((stream, permit)) => {
                    let (tls, shared, stop) = (self.tls.clone(), self.shared.clone(), stop.clone());
                    let open = Arc::new(idle.open());
                    connections.spawn(async move {
                        let _permit = permit;
                        connection(stream, tls, shared, open, stop).await;
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
    shared: Arc<Shared>,
    open: Arc<OpenConnection>,
    stop: CancellationToken,
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
        let (shared, open) = (shared.clone(), open.clone());
        async move {
            let response = respond(&shared, request).await;
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

/// Why a request has no review as its answer.
struct HttpError(StatusCode, String);

async fn respond(shared: &Shared, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let started = Instant::now();
    let Some(route) = shared.routes.0.get(request.uri().path()) else {
        let text = format!(
            "no webhook has the path {:?}: the paths are {}\n",
            request.uri().path(),
            shared.routes.paths()
        );
        return text_response(StatusCode::NOT_FOUND, text);
    };
    let in_flight = InFlight::new(&route.metrics);
    let answered = review(shared, route, request, started).await;
    drop(in_flight);
    let response = match answered {
        Ok(body) => {
            let mut response = Response::new(Full::from(body));
            let json = HeaderValue::from_static("application/json");
            response.headers_mut().insert(header::CONTENT_TYPE, json);
            response
        }
        Err(HttpError(status, message)) => text_response(status, message + "\n"),
    };
    route
        .metrics
        .answered(response.status().as_u16(), started.elapsed());
    response
}

/// A request that is being served, until it is dropped.
struct InFlight<'a>(&'a PathMetrics);

impl<'a> InFlight<'a> {
    fn new(metrics: &'a PathMetrics) -> Self {
        metrics.in_flight.inc();
        Self(metrics)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.dec();
    }
}

async fn review(
    shared: &Shared,
    route: &Route,
    request: Request<Incoming>,
    started: Instant,
) -> Result<Vec<u8>, HttpError> {
    if request.method() != Method::POST {
        return Err(HttpError(
            StatusCode::METHOD_NOT_ALLOWED,
            "only POST is allowed".to_owned(),
        ));
    }
    let allowed = requested_timeout(request.uri());
    // Earlier than the API server gives up, so that it gets the reason.
    let deadline = started + allowed - allowed / 10;
    let (_permit, body) = read_body(shared, request.into_body(), deadline).await?;
    let review = AssertUnwindSafe(async { route.handler.review(body, deadline).await }).catch_unwind();
    let path = route.metrics.path();
    match timeout_at(deadline, review).await {
        Ok(Ok(Ok(body))) => Ok(body),
        Ok(Ok(Err(message))) => {
            error!(webhook = path, message, "webhook failed");
            Err(HttpError(StatusCode::INTERNAL_SERVER_ERROR, message))
        }
        Ok(Err(panic)) => {
            let message = format!("the webhook panicked: {}", panics::message(&*panic));
            error!(webhook = path, message, "webhook failed");
            Err(HttpError(StatusCode::INTERNAL_SERVER_ERROR, message))
        }
        Err(_) => {
            let message = format!("the webhook did not answer within its timeout of {allowed:?}");
            error!(webhook = path, message, "webhook failed");
            Err(HttpError(StatusCode::GATEWAY_TIMEOUT, message))
        }
    }
}

async fn read_body(
    shared: &Shared,
    body: Incoming,
    deadline: Instant,
) -> Result<(OwnedSemaphorePermit, Bytes), HttpError> {
    let too_large = || {
        HttpError(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the body is larger than {MAX_BODY_BYTES} bytes"),
        )
    };
    // A body of unknown length counts as the largest.
    let announced = body.size_hint().exact().unwrap_or(u64::from(MAX_BODY_BYTES));
    let announced = u32::try_from(announced).unwrap_or(u32::MAX);
    if announced > MAX_BODY_BYTES {
        return Err(too_large());
    }
    let permit = shared
        .body_bytes
        .clone()
        .acquire_many_owned(announced.max(MIN_BODY_BYTES));
    let Ok(Ok(permit)) = timeout_at(deadline, permit).await else {
        let message = "too many reviews at once".to_owned();
        return Err(HttpError(StatusCode::SERVICE_UNAVAILABLE, message));
    };
    let read = Limited::new(body, MAX_BODY_BYTES as usize).collect();
    match timeout_at(deadline.min(Instant::now() + BODY_TIMEOUT), read).await {
        Ok(Ok(body)) => Ok((permit, body.to_bytes())),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) => Err(HttpError(
            StatusCode::BAD_REQUEST,
            format!("reading the body failed: {error}"),
        )),
        Err(_) => Err(HttpError(
            StatusCode::REQUEST_TIMEOUT,
            "the body took too long".to_owned(),
        )),
    }
}

/// Returns the timeout that the API server has put into the query, as in `?timeout=10s`.
fn requested_timeout(uri: &Uri) -> Duration {
    let mut parameters = uri.query().unwrap_or_default().split('&');
    let timeout = parameters.find_map(|parameter| parameter.strip_prefix("timeout="));
    timeout
        .and_then(|text| text.parse::<jiff::SignedDuration>().ok())
        .and_then(|duration| Duration::try_from(duration).ok())
        .filter(|duration| !duration.is_zero())
        .map_or(DEFAULT_TIMEOUT, |duration| duration.min(MAX_TIMEOUT))
}

fn text_response(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
