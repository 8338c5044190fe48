//! Fuzzes the embedded API server with requests by its administrator over a connection. Writes are dry runs: each response depends only on
//! its request, so that findings can be reproduced.

use crate::request_seeds;
use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Incoming, client::conn::http1::SendRequest};
use hyper_util::rt::TokioIo;
use kubewright_apiserver::{AdmissionPlugin, ApiServer, Tls};
use serde_json::Value;
use std::{cell::RefCell, time::Duration};
use tokio::{net::TcpStream, runtime::Runtime, time::timeout};

/// A request that takes longer means that the server hangs. Without optimization, beside other tests on a slow machine, the largest documents
/// take ten seconds.
const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);

thread_local! {
    static SERVER: RefCell<FuzzServer> = RefCell::new(FuzzServer::new());
}

struct FuzzServer {
    runtime: Runtime,
    server: ApiServer,
    connection: Option<SendRequest<Full<Bytes>>>,
}

/// Sends the request that the bytes encode: method and path, content type, body.
pub fn run(bytes: &[u8]) {
    if let Some(request) = FuzzRequest::parse(bytes) {
        SERVER.with_borrow_mut(|server| server.send(&request, true));
    }
}

struct FuzzRequest<'b> {
    method: &'b str,
    path: &'b str,
    content_type: &'b [u8],
    body: &'b [u8],
}

impl<'b> FuzzRequest<'b> {
    /// Parses the bytes; none for a watch, which would not end.
    fn parse(bytes: &'b [u8]) -> Option<Self> {
        let mut parts = bytes.splitn(3, |byte| *byte == b'\n');
        let first = std::str::from_utf8(parts.next()?).ok()?;
        let (method, path) = first.split_once(' ')?;
        let request = Self {
            method,
            path,
            content_type: parts.next()?,
            body: parts.next()?,
        };
        (!path.contains("watch")).then_some(request)
    }

    /// Builds the HTTP request; none if it is not valid HTTP.
    fn request(&self, token: &str, dry_run: bool) -> Option<Request<Full<Bytes>>> {
        let path = match (self.method, self.path.split_once('?')) {
            ("GET" | "HEAD", _) => self.path.to_owned(),
            _ if !dry_run => self.path.to_owned(),
            (_, Some((path, query))) => format!("{path}?dryRun=All&{query}"),
            (_, None) => format!("{}?dryRun=All", self.path),
        };
        let request = Request::builder()
            .method(self.method)
            .uri(path)
            .header(header::HOST, "localhost")
            .header(header::CONTENT_TYPE, self.content_type)
            .header(header::AUTHORIZATION, format!("Bearer {token}"));
        let request = request.body(Full::new(Bytes::copy_from_slice(self.body))).ok()?;
        (request.method() != http::Method::CONNECT).then_some(request)
    }
}

impl FuzzServer {
    /// Starts a server with the objects that the seed requests create.
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        // A webhook of a random request could be anywhere.
        let calls_webhooks = [
            AdmissionPlugin::MutatingAdmissionWebhook,
            AdmissionPlugin::ValidatingAdmissionWebhook,
        ];
        let mut plugins = AdmissionPlugin::defaults();
        plugins.retain(|plugin| !calls_webhooks.contains(plugin));
        let server = runtime
            .block_on(
                ApiServer::builder()
                    .tls(Tls::Off)
                    .audit_capacity(10)
                    .admission_plugins(&plugins)
                    .start(),
            )
            .expect("a server");
        let mut server = Self {
            runtime,
            server,
            connection: None,
        };
        for seed in request_seeds::requests() {
            match FuzzRequest::parse(&seed) {
                Some(request) if request.method == "POST" => server.send(&request, false),
                _ => {}
            }
        }
        server
    }

    fn send(&mut self, request: &FuzzRequest<'_>, dry_run: bool) {
        let Some(request) = request.request(self.server.admin_token(), dry_run) else {
            return;
        };
        let head = request.method() == http::Method::HEAD;
        let (server, connection) = (&self.server, &mut self.connection);
        let exchange = async {
            let mut sender = match connection.take().filter(SendRequest::is_ready) {
                Some(sender) => sender,
                None => connect(server).await,
            };
            // The server may close the connection after a malformed request.
            let response = sender.send_request(request).await.ok()?;
            let response = read_response(response).await?;
            *connection = Some(sender);
            Some(response)
        };
        let response = self
            .runtime
            .block_on(async { timeout(REQUEST_TIMEOUT, exchange).await });
        let Some((code, body)) = response.expect("the server hangs") else {
            return;
        };
        let Ok(response) = serde_json::from_slice::<Value>(&body) else {
            return;
        };
        assert!(
            head || code < 500 || is_upstream_error(code, &response),
            "internal error: {response}"
        );
        if response["kind"] == "Status" && response["status"] == "Failure" {
            assert_eq!(response["code"], code, "{response}");
        }
    }
}

/// Whether kube-apiserver answers such a request with this error, too. `upstream_500.txt` has the beginnings of messages with the code 500, each
/// of which the differential suite has recorded. Any other error of the server means that this one failed.
pub fn is_upstream_error(code: u16, response: &Value) -> bool {
    let message = response["message"].as_str().unwrap_or_default();
    match code {
        500 => include_str!("../upstream_500.txt")
            .lines()
            .any(|beginning| message.starts_with(beginning)),
        // A proxy to nothing, and a resource version of the future.
        503 => response["reason"] == "ServiceUnavailable",
        504 => response["reason"] == "Timeout",
        _ => false,
    }
}

async fn connect(server: &ApiServer) -> SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(server.address()).await.expect("a connection");
    // Head and body are two packets: the second would wait 40 ms for the acknowledgement of the first.
    stream.set_nodelay(true).expect("a connection");
    let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .expect("a connection");
    tokio::spawn(connection);
    sender
}

async fn read_response(response: Response<Incoming>) -> Option<(u16, Bytes)> {
    let code = response.status().as_u16();
    Some((code, response.into_body().collect().await.ok()?.to_bytes()))
}
