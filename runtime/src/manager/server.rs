//! A small HTTP/1.1 server for health checks and metrics: GET only, synchronous handlers, access control of the metrics.

use std::{convert::Infallible, sync::Arc};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri, header};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    time::{Duration, sleep, timeout},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, warn};

use super::metrics_access::MetricsAccess;

/// Handles a GET.
pub(super) type HttpHandler = Arc<dyn Fn(&Uri) -> TextResponse + Send + Sync>;

/// A response with a text body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TextResponse {
    pub(super) status: StatusCode,
    pub(super) content_type: &'static str,
    pub(super) body: String,
}

impl TextResponse {
    /// A plain text response.
    pub(super) fn text(status: StatusCode, body: impl Into<String>) -> Self {
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            body: body.into(),
        }
    }

    /// 404.
    pub(super) fn not_found() -> Self {
        Self::text(StatusCode::NOT_FOUND, "not found\n")
    }
}

/// What a server serves.
#[derive(Clone, Default)]
pub(super) struct HttpHandlers {
    /// Health checks: they need no token.
    pub(super) health: Option<HttpHandler>,
    /// What the health checks do not find.
    pub(super) metrics: Option<HttpHandler>,
    /// Checks whether a client may get the metrics. Without it every client may.
    pub(super) access: Option<Arc<MetricsAccess>>,
}

impl HttpHandlers {
    async fn respond(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> TextResponse {
        if !matches!(*method, Method::GET | Method::HEAD) {
            return TextResponse::text(StatusCode::METHOD_NOT_ALLOWED, "only GET is allowed\n");
        }
        if let Some(health) = &self.health {
            let response = health(uri);
            if response.status != StatusCode::NOT_FOUND {
                return response;
            }
        }
        let Some(metrics) = &self.metrics else {
            return TextResponse::not_found();
        };
        if let Some(access) = &self.access
            && let Err(refusal) = access.check(method, uri.path(), headers).await
        {
            return refusal;
        }
        metrics(uri)
    }
}

/// How long a client may take to send a request's header.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// The pause after a failed accept.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// A server that is bound to its address.
pub(super) struct HttpServer {
    listener: TcpListener,
    handlers: Arc<HttpHandlers>,
    /// None: plain HTTP.
    tls: Option<TlsAcceptor>,
}

impl HttpServer {
    pub(super) fn new(listener: TcpListener, handlers: HttpHandlers, tls: Option<TlsAcceptor>) -> Self {
        Self {
            listener,
            handlers: Arc::new(handlers),
            tls,
        }
    }

    /// Serves until `stop`; returns when the last connection is closed.
    pub(super) async fn run(self, stop: CancellationToken) {
        let connections = TaskTracker::new();
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => break,
                accepted = self.listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    let (handlers, tls, stop) = (self.handlers.clone(), self.tls.clone(), stop.clone());
                    connections.spawn(async move {
                        let Some(tls) = tls else {
                            return connection(stream, handlers, stop).await;
                        };
                        let accepted = timeout(HEADER_TIMEOUT, tls.accept(stream));
                        match stop.run_until_cancelled(accepted).await {
                            Some(Ok(Ok(stream))) => connection(stream, handlers, stop.clone()).await,
                            Some(Ok(Err(error))) => debug!(%error, "TLS handshake failed"),
                            // The client took too long, or the server stops.
                            Some(Err(_)) | None => {}
                        }
                    });
                }
                Err(error) => {
                    // Usually out of file descriptors, which takes a while to pass.
                    warn!(%error, "accepting a connection failed");
                    sleep(ACCEPT_RETRY_INTERVAL).await;
                }
            }
        }
        connections.close();
        connections.wait().await;
    }
}

async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    handlers: Arc<HttpHandlers>,
    stop: CancellationToken,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        let handlers = handlers.clone();
        async move { Ok::<_, Infallible>(respond(&handlers, &request).await) }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT);
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        debug!(%error, "serving a connection failed");
    }
}

async fn respond(handlers: &HttpHandlers, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let text = handlers
        .respond(request.method(), request.uri(), request.headers())
        .await;
    let mut response = Response::new(Full::from(text.body));
    *response.status_mut() = text.status;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        http::HeaderValue::from_static(text.content_type),
    );
    headers.insert(header::CACHE_CONTROL, http::HeaderValue::from_static("no-store"));
    if text.status == StatusCode::UNAUTHORIZED {
        headers.insert(header::WWW_AUTHENTICATE, http::HeaderValue::from_static("Bearer"));
    }
    response
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpStream,
    };

    use super::*;
    use crate::manager::address::BindAddress;

    async fn request(address: SocketAddr, head: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("{head} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        response
    }

    #[tokio::test]
    async fn serves_until_stopped_and_closes_idle_connections() {
        let listener = "127.0.0.1:0"
            .parse::<BindAddress>()
            .unwrap()
            .listen()
            .await
            .unwrap()
            .unwrap();
        let handler: HttpHandler = Arc::new(|uri| match uri.path() {
            "/healthz" => TextResponse::text(StatusCode::OK, "ok\n"),
            _ => TextResponse::not_found(),
        });
        let address = listener.local_addr().unwrap();
        let handlers = HttpHandlers {
            health: Some(handler),
            ..HttpHandlers::default()
        };
        let server = HttpServer::new(listener, handlers, None);
        let stop = CancellationToken::new();
        let running = tokio::spawn(server.run(stop.clone()));

        let ok = request(address, "GET /healthz").await;
        assert!(
            ok.starts_with("HTTP/1.1 200 OK\r\n") && ok.ends_with("\r\n\r\nok\n"),
            "{ok}"
        );
        assert!(request(address, "GET /other").await.starts_with("HTTP/1.1 404 "));
        assert!(
            request(address, "POST /healthz")
                .await
                .starts_with("HTTP/1.1 405 ")
        );

        // An idle connection does not delay the end.
        let mut idle = TcpStream::connect(address).await.unwrap();
        idle.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            .await
            .unwrap();
        let mut first = [0; 12];
        idle.read_exact(&mut first).await.unwrap();
        stop.cancel();
        running.await.unwrap();
        assert!(TcpStream::connect(address).await.is_err());
    }
}
