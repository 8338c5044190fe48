//! A small HTTP/1.1 server for health checks and metrics: GET only, answers made at once.

use std::{convert::Infallible, sync::Arc};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, Uri, header};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    time::{Duration, sleep},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, warn};

/// Makes the answer to a GET.
pub(super) type Handler = Arc<dyn Fn(&Uri) -> Answer + Send + Sync>;

/// What is answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) content_type: &'static str,
    pub(super) body: String,
}

impl Answer {
    /// An answer for people.
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

/// A client that opened a connection has this long to send a request's header.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// A bound server that does not answer yet.
pub(super) struct Server {
    listener: TcpListener,
    handler: Handler,
}

impl Server {
    pub(super) fn new(listener: TcpListener, handler: Handler) -> Self {
        Self { listener, handler }
    }

    /// Answers until `stop`; returns when the last connection is closed.
    pub(super) async fn run(self, stop: CancellationToken) {
        let connections = TaskTracker::new();
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => break,
                accepted = self.listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection(stream, self.handler.clone(), stop.clone()));
                }
                Err(error) => {
                    // Out of file descriptors, as a rule: it passes, but not at once.
                    warn!(%error, "cannot accept a connection");
                    sleep(Duration::from_millis(100)).await;
                }
            }
        }
        connections.close();
        connections.wait().await;
    }
}

async fn connection(stream: TcpStream, handler: Handler, stop: CancellationToken) {
    let service = service_fn(move |request: Request<Incoming>| {
        let answer = answer(&handler, &request);
        async move { Ok::<_, Infallible>(answer) }
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
        debug!(%error, "a connection ended early");
    }
}

fn answer(handler: &Handler, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let answer = match *request.method() {
        Method::GET | Method::HEAD => handler(request.uri()),
        _ => Answer::text(StatusCode::METHOD_NOT_ALLOWED, "only GET\n"),
    };
    let mut response = Response::new(Full::from(answer.body));
    *response.status_mut() = answer.status;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        http::HeaderValue::from_static(answer.content_type),
    );
    headers.insert(header::CACHE_CONTROL, http::HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::manager::address::BindAddress;

    async fn request(address: SocketAddr, head: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("{head} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn answers_until_it_is_stopped_and_closes_idle_connections() {
        let listener = "127.0.0.1:0"
            .parse::<BindAddress>()
            .unwrap()
            .listen()
            .await
            .unwrap()
            .unwrap();
        let handler: Handler = Arc::new(|uri| match uri.path() {
            "/healthz" => Answer::text(StatusCode::OK, "ok\n"),
            _ => Answer::not_found(),
        });
        let address = listener.local_addr().unwrap();
        let server = Server::new(listener, handler);
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

        // A connection that is open and says nothing does not hold up the end.
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
