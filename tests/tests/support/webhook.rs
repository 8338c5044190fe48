//! A webhook server whose responses are data, and which keeps the reviews that it gets.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

/// A running webhook server; it stops when it is dropped.
pub(crate) struct WebhookServer {
    pub(crate) port: u16,
    /// The CA bundle, as `caBundle` contains it.
    pub(crate) ca_bundle: String,
    state: Arc<WebhookState>,
    _tasks: JoinSet<()>,
}

/// Responds to a review; none: with status 400.
type Handler = Arc<dyn Fn(&[u8]) -> Option<Vec<u8>> + Send + Sync>;

#[derive(Default)]
struct WebhookState {
    /// Responses by path.
    responses: Mutex<BTreeMap<String, Value>>,
    /// Functions from body to body, by path.
    handlers: Mutex<BTreeMap<String, Handler>>,
    reviews: Mutex<Vec<Value>>,
}

impl WebhookServer {
    /// Starts a server on loopback, with a certificate for its address, `localhost` and these names.
    pub(crate) async fn start(names: &[&str]) -> Self {
        let ca_key = KeyPair::generate().unwrap();
        let mut ca = CertificateParams::new(vec![]).unwrap();
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca_certificate = ca.self_signed(&ca_key).unwrap();
        let issuer = Issuer::new(ca, ca_key);
        let names = ["127.0.0.1", "localhost"].iter().chain(names);
        let params = CertificateParams::new(names.map(ToString::to_string).collect::<Vec<_>>()).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &issuer).unwrap();
        let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        Self {
            ca_bundle: BASE64_STANDARD.encode(ca_certificate.pem()),
            ..Self::serve(config, true).await
        }
    }

    /// Starts a server on loopback, with a certificate of the caller's.
    pub(crate) async fn serve(config: ServerConfig, keep_alive: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(WebhookState::default());
        let mut tasks = JoinSet::new();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        tasks.spawn(accept(listener, acceptor, state.clone(), keep_alive));
        Self {
            port,
            ca_bundle: String::new(),
            state,
            _tasks: tasks,
        }
    }

    /// Sets what the server responds at a path from now on:
    ///
    /// - of an AdmissionReview, the fields of the response, with a patch as a list of operations;
    /// - of a ConversionReview, the fields of the response; without a response, an object has `spec.a` in `v1` and `spec.b` in other versions;
    /// - with `raw`, a status code, a media type and a body, and the header `Retry-After` (`retryAfter`); only so many `times`, if that is set;
    /// - with `delay`, only after so many seconds;
    /// - null: as before the first call.
    pub(crate) fn respond(&self, path: &str, response: Value) {
        let mut responses = self.state.responses.lock().unwrap();
        if response.is_null() {
            responses.remove(&format!("/{path}"));
        } else {
            responses.insert(format!("/{path}"), response);
        }
    }

    /// Lets a function respond at a path from now on.
    pub(crate) fn handle(
        &self,
        path: &str,
        handler: impl Fn(&[u8]) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) {
        let mut handlers = self.state.handlers.lock().unwrap();
        handlers.insert(path.to_owned(), Arc::new(handler));
    }

    /// Removes and returns the reviews so far, each with its path and query.
    pub(crate) fn take_reviews(&self) -> Value {
        std::mem::take(&mut *self.state.reviews.lock().unwrap()).into()
    }
}

async fn accept(listener: TcpListener, acceptor: TlsAcceptor, state: Arc<WebhookState>, keep_alive: bool) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        let (acceptor, state) = (acceptor.clone(), state.clone());
        connections.spawn(async move {
            // A client that does not trust the certificate ends the handshake.
            let Ok(stream) = acceptor.accept(stream).await else {
                return;
            };
            let service = service_fn(|request| serve(state.clone(), request));
            let _ = http1::Builder::new()
                .keep_alive(keep_alive)
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn serve(
    state: Arc<WebhookState>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let uri = request.uri().clone();
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let review: Value = serde_json::from_slice(&body).unwrap();
    state
        .reviews
        .lock()
        .unwrap()
        .push(json!({ "path": uri.to_string(), "review": review }));
    let handler = state.handlers.lock().unwrap().get(uri.path()).cloned();
    if let Some(handler) = handler {
        let (code, body) = handler(&body).map_or((400, Vec::new()), |body| (200, body));
        let response = Response::builder()
            .status(code)
            .header("Content-Type", "application/json");
        return Ok(response.body(Full::from(body)).unwrap());
    }
    let response = next_response(&state, uri.path());
    let response = match response {
        Some(response) => response,
        None if review["kind"] == "ConversionReview" => converted(&review["request"]),
        None => json!({ "allowed": true }),
    };
    if let Some(seconds) = response["delay"].as_f64() {
        tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
    }
    let retry_after = response["raw"]["retryAfter"].as_str().map(str::to_owned);
    let (code, content_type, body) = match response.get("raw") {
        Some(raw) => {
            let text = |key: &str| raw[key].as_str().unwrap_or_default().to_owned();
            let code = raw["code"].as_u64().and_then(|code| u16::try_from(code).ok());
            (code.unwrap_or(200), text("type"), text("body"))
        }
        None => (
            200,
            "application/json".to_owned(),
            reviewed(&review, response).to_string(),
        ),
    };
    let mut response = Response::builder()
        .status(code)
        .header("Content-Type", content_type);
    if let Some(pause) = retry_after {
        response = response.header("Retry-After", pause);
    }
    Ok(response.body(Full::from(body)).unwrap())
}

/// Returns the response that is set for a path, and counts it.
fn next_response(state: &WebhookState, path: &str) -> Option<Value> {
    let mut responses = state.responses.lock().unwrap();
    let next = responses.get_mut(path)?;
    let response = next.clone();
    if let Some(times) = response["raw"]["times"].as_u64() {
        if times > 1 {
            next["raw"]["times"] = json!(times - 1);
        } else if let Some(fields) = next.as_object_mut() {
            fields.remove("raw");
        }
    }
    Some(response)
}

/// Converts the objects of a ConversionReview.
fn converted(request: &Value) -> Value {
    let version = &request["desiredAPIVersion"];
    let mut objects = request["objects"].clone();
    for object in objects.as_array_mut().unwrap() {
        object["apiVersion"] = version.clone();
        let is_old = version.as_str().unwrap().ends_with("/v1");
        let (from, to) = if is_old { ("b", "a") } else { ("a", "b") };
        if let Some(value) = object["spec"].as_object_mut().and_then(|spec| spec.remove(from)) {
            object["spec"][to] = value;
        }
    }
    json!({ "result": { "status": "Success" }, "convertedObjects": objects })
}

/// The review with its response.
fn reviewed(review: &Value, mut response: Value) -> Value {
    let fields = response.as_object_mut().unwrap();
    fields.remove("delay");
    fields
        .entry("uid")
        .or_insert_with(|| review["request"]["uid"].clone());
    if let Some(patch @ Value::Array(_)) = fields.get("patch") {
        let patch = BASE64_STANDARD.encode(patch.to_string());
        fields.insert("patch".to_owned(), json!(patch));
        fields.entry("patchType").or_insert_with(|| json!("JSONPatch"));
    }
    json!({ "kind": review["kind"], "apiVersion": review["apiVersion"], "response": response })
}
