//! Webhooks over HTTPS: HTTP/1.1, on connections that are kept.

use super::bundle_verifier::BundleVerifier;
use super::ca_bundle::root_certificates;
use super::connections::{Connection, IdleConnections};
use super::go_errors::{UNKNOWN_BODY, dial_error, handshake_error, status_error};
use super::redirect::{MAX_REDIRECTS, Target, redirection};
use super::{Endpoint, PendingCall, WebhookCaller};
use crate::meta::text;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST, RETRY_AFTER, USER_AGENT};
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use parking_lot::Mutex;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout as within};
use tokio_rustls::TlsConnector;

/// A larger response is an error.
const MAX_RESPONSE_BYTES: usize = 16 << 20;
/// The number of CA bundles whose TLS configuration is kept.
const MAX_CACHED_BUNDLES: usize = 200;
/// Go's client repeats a request as often, when the response asks for it.
const MAX_REPEATS: usize = 10;
/// The program that kube-apiserver's clients name.
const PROGRAM: &str = "kube-apiserver-admission";

/// Calls webhooks over HTTPS, on the runtime that it was created in.
#[derive(Debug)]
pub(crate) struct HttpsCaller {
    runtime: Handle,
    /// What calls share, by CA bundle.
    clients: Mutex<HashMap<Vec<u8>, Arc<Client>>>,
}

/// What the calls with the same CA bundle share.
#[derive(Debug)]
struct Client {
    /// The configuration, which also holds the sessions to resume.
    tls: Arc<ClientConfig>,
    idle: IdleConnections,
}

impl HttpsCaller {
    /// Creates a caller that runs its calls on a runtime.
    pub(crate) fn new(runtime: Handle) -> Self {
        Self {
            runtime,
            clients: Mutex::default(),
        }
    }

    fn client(&self, ca_bundle: &[u8]) -> Result<Arc<Client>, String> {
        if let Some(known) = self.clients.lock().get(ca_bundle) {
            return Ok(known.clone());
        }
        let client = Arc::new(Client {
            tls: Arc::new(tls_config(ca_bundle)?),
            idle: IdleConnections::default(),
        });
        let mut cached = self.clients.lock();
        if cached.len() >= MAX_CACHED_BUNDLES {
            cached.clear();
        }
        cached.insert(ca_bundle.to_owned(), client.clone());
        Ok(client)
    }
}

impl WebhookCaller for HttpsCaller {
    fn start(&self, endpoint: &Endpoint, review: &Value, timeout: Duration) -> PendingCall {
        let (sender, receiver) = mpsc::sync_channel(1);
        // In whole seconds, rounded up.
        let seconds = timeout.as_secs() + u64::from(timeout.subsec_nanos() > 0);
        let url = format!("{}?timeout={seconds}s", endpoint.url);
        match self.client(&endpoint.ca_bundle) {
            Err(why) => drop(sender.send(Err(why))),
            Ok(client) => {
                let (endpoint, body) = (endpoint.clone(), review.to_string());
                self.runtime.spawn(async move {
                    let call = within(timeout, exchange(&endpoint, &url, &client, body)).await;
                    let call = call.unwrap_or_else(|_| {
                        Err(CallError::Transport("context deadline exceeded".to_owned()))
                    });
                    let outcome = call.map_err(|error| error.message(&url));
                    // No caller waits if the server is shutting down.
                    let _ = sender.send(outcome);
                });
            }
        }
        PendingCall::new(receiver)
    }
}

enum CallError {
    /// The request could not be sent, or its response not be received.
    Transport(String),
    /// The response is not usable.
    Response(String),
    /// The last URL of too many.
    Redirected(String, String),
}

impl CallError {
    fn message(self, url: &str) -> String {
        match self {
            Self::Transport(why) => format!("Post {url:?}: {why}"),
            Self::Response(why) => why,
            Self::Redirected(url, why) => format!("Post {url:?}: {why}"),
        }
    }
}

fn tls_config(ca_bundle: &[u8]) -> Result<ClientConfig, String> {
    let roots = root_certificates(ca_bundle)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?;
    if roots.store.is_empty() {
        return Ok(builder.with_root_certificates(roots.store).with_no_client_auth());
    }
    let verifier = BundleVerifier::new(roots, provider).map_err(|error| error.to_string())?;
    // "Dangerous" are verifiers that are not rustls' own: this one asks rustls' own first.
    let builder = builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    Ok(builder.with_no_client_auth())
}

/// Sends the body, and decodes the response. A request whose response asks for it (`Retry-After`) is sent again, as by Go's client.
async fn exchange(endpoint: &Endpoint, url: &str, client: &Client, body: String) -> Result<Value, CallError> {
    let mut repeats = 0;
    loop {
        let (response, connection) = send_and_follow(endpoint, url, client, body.clone()).await?;
        match retry_after(&response) {
            Some(pause) if repeats < MAX_REPEATS => sleep(pause).await,
            _ => {
                let outcome = read(response).await;
                client.idle.keep(connection).await;
                return outcome;
            }
        }
        repeats += 1;
    }
}

/// The pause before a request is sent again, if the response asks for that: with 429 or an error of the server, and whole seconds.
fn retry_after<B>(response: &Response<B>) -> Option<Duration> {
    let may_repeat = matches!(response.status().as_u16(), 429 | 500..=599);
    let seconds = response.headers().get(RETRY_AFTER).filter(|_| may_repeat)?;
    Some(Duration::from_secs(seconds.to_str().ok()?.parse().ok()?))
}

/// Sends the body. Follows redirections as Go's client does: with the body again after 307 and 308, otherwise with a GET.
async fn send_and_follow(
    endpoint: &Endpoint,
    url: &str,
    client: &Client,
    body: String,
) -> Result<(Response<Incoming>, Connection), CallError> {
    let mut target = Target::of(endpoint, url).map_err(CallError::Transport)?;
    let mut body = Some(body);
    for _ in 0..MAX_REDIRECTS {
        let (response, connection) = send(&target, client, body.clone()).await?;
        let Some((location, keeps_body)) = redirection(&response) else {
            return Ok((response, connection));
        };
        body = body.filter(|_| keeps_body);
        target = target.redirected(&location).map_err(CallError::Transport)?;
    }
    let why = format!("stopped after {MAX_REDIRECTS} redirects");
    Err(CallError::Redirected(target.url.to_string(), why))
}

/// Sends a request: a POST with a body, or a GET. On a new connection, if the kept ones were closed before the request was written.
async fn send(
    target: &Target,
    client: &Client,
    body: Option<String>,
) -> Result<(Response<Incoming>, Connection), CallError> {
    let mut request = request(target, body)?;
    while let Some(mut connection) = client.idle.take(target) {
        match connection.try_send(request).await {
            Ok(response) => return Ok((response, connection)),
            Err(failed) => {
                let (error, unsent) = *failed;
                request = unsent.ok_or_else(|| transport(&error))?;
            }
        }
    }
    let mut connection = connect(target, client).await?;
    match connection.try_send(request).await {
        Ok(response) => Ok((response, connection)),
        Err(failed) => Err(transport(&failed.0)),
    }
}

async fn connect(target: &Target, client: &Client) -> Result<Connection, CallError> {
    let (host, port) = &target.address;
    let stream = TcpStream::connect((host.as_str(), *port)).await;
    let stream = stream.map_err(|error| CallError::Transport(dial_error(host, *port, &error)))?;
    let _ = stream.set_nodelay(true);
    let opened = if target.is_tls {
        let name = ServerName::try_from(target.server_name.clone());
        let name = name.map_err(|error| CallError::Transport(error.to_string()))?;
        let stream = TlsConnector::from(client.tls.clone()).connect(name, stream).await;
        let stream =
            stream.map_err(|error| CallError::Transport(handshake_error(&target.server_name, &error)))?;
        Connection::open(target, stream).await
    } else {
        Connection::open(target, stream).await
    };
    opened.map_err(|error| transport(&error))
}

fn request(target: &Target, body: Option<String>) -> Result<Request<Full<Bytes>>, CallError> {
    let url = &target.url;
    let path = url.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let host = url.authority().map_or("", http::uri::Authority::as_str);
    let mut request = Request::builder()
        .uri(path)
        .method(if body.is_some() { Method::POST } else { Method::GET })
        .header(HOST, host)
        .header(USER_AGENT, PROGRAM)
        .header(ACCEPT, "application/json, */*");
    if body.is_some() {
        request = request.header(CONTENT_TYPE, "application/json");
    }
    let request = request.body(Full::from(body.unwrap_or_default()));
    request.map_err(|error| CallError::Transport(error.to_string()))
}

async fn read(response: Response<Incoming>) -> Result<Value, CallError> {
    let code = response.status().as_u16();
    let content_type = response.headers().get(CONTENT_TYPE);
    let content_type = content_type
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
        .to_owned();
    let body = Limited::new(response.into_body(), MAX_RESPONSE_BYTES)
        .collect()
        .await;
    let body = body.map_err(|error| {
        let why =
            format!("unexpected error when reading response body. Please retry. Original error: {error}");
        CallError::Response(why)
    })?;
    let body = body.to_bytes();
    if !(200..=206).contains(&code) {
        if let Some(message) = failure_message(&body) {
            return Err(CallError::Response(message));
        }
        let is_text = content_type.is_empty() || content_type.starts_with("text/");
        let text = String::from_utf8_lossy(&body);
        let text = if is_text { text.trim() } else { UNKNOWN_BODY };
        return Err(CallError::Response(status_error(code, text)));
    }
    if body.is_empty() {
        let why = format!("0-length response with status code: {code} and content type: {content_type}");
        return Err(CallError::Response(why));
    }
    decode(&body)
        .map_err(|why| CallError::Response(format!("couldn't get version/kind; json parse error: {why}")))
}

/// Returns the message of a Status that says why a request failed. client-go prefers it to what the status code says.
fn failure_message(body: &[u8]) -> Option<String> {
    let status = decode(body).ok()?;
    let is_v1 = matches!(text(&status, "apiVersion"), "" | "v1");
    let is_failure = is_v1 && status["kind"] == "Status" && status["status"] == "Failure";
    is_failure.then(|| text(&status, "message").to_owned())
}

/// Decodes a response, which Go's decoder accepts as YAML, too.
fn decode(body: &[u8]) -> Result<Value, String> {
    let value = match crate::types::decode(body) {
        Ok(decoded) => decoded.value,
        Err(why) => {
            let text = std::str::from_utf8(body).ok();
            text.and_then(|text| crate::yaml::parse(text).ok())
                .ok_or(why)?
                .value
        }
    };
    if value.is_object() {
        return Ok(value);
    }
    let found = crate::types::json_kind(&value);
    Err(format!(
        r#"json: cannot unmarshal {found} into Go value of type struct {{ APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }}"#
    ))
}

fn transport(error: &hyper::Error) -> CallError {
    if error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
        return CallError::Transport("EOF".to_owned());
    }
    CallError::Transport(error.to_string())
}

#[cfg(test)]
#[path = "connections_tests.rs"]
mod tests;
