//! The server over TLS on loopback: responses, shutdown, and the caches that reviews wait for.

use std::net::SocketAddr;

use bytes::Bytes;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::ConfigMap;
use prometheus_client::{encoding::text::encode, registry::Registry};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _},
    server::WebPkiClientVerifier,
    sign::{CertifiedKey, SingleCertAndKey},
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    task::JoinHandle,
    time::Instant,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

#[path = "server_connections_tests.rs"]
mod connections;
#[path = "server_limits_tests.rs"]
mod limits;

use super::*;
use crate::{
    controller::{FixedArgs, Setup},
    events::Recorder,
    testing::ScriptedApi,
    webhooks::{
        AdmissionError, AdmissionRequest, Validation, Validator,
        certificates::client_verifier,
        metrics::WebhookMetrics,
        router::{WebhookFailure, WebhookHandler},
    },
};

/// Answers with what a function returns.
struct Answering<F>(F);

impl<F, R> WebhookHandler for Answering<F>
where
    F: Fn(Bytes) -> R + Send + Sync,
    R: Future<Output = Result<Vec<u8>, String>> + Send + 'static,
{
    fn review(&self, body: Bytes, _deadline: Instant) -> BoxFuture<'_, Result<Vec<u8>, WebhookFailure>> {
        let answered = self.0(body);
        Box::pin(async { answered.await.map_err(WebhookFailure::Failed) })
    }
}

struct TestServer {
    address: SocketAddr,
    connector: TlsConnector,
    roots: RootCertStore,
    shutdown: Shutdown,
    running: JoinHandle<()>,
    metrics: WebhookMetrics,
}

impl TestServer {
    async fn start(add: impl FnOnce(&mut Routes, &WebhookMetrics)) -> Self {
        Self::start_for(WebPkiClientVerifier::no_client_auth(), MAX_CONNECTIONS, add).await
    }

    /// Starts a server for clients with these certificates. Its own client has none.
    async fn start_for(
        clients: Arc<dyn ClientCertVerifier>,
        max_connections: usize,
        add: impl FnOnce(&mut Routes, &WebhookMetrics),
    ) -> Self {
        let rcgen::CertifiedKey { cert, signing_key } =
            rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::from_pem_slice(signing_key.serialize_pem().as_bytes()).unwrap();
        let certificate = CertificateDer::from_pem_slice(cert.pem().as_bytes()).unwrap();
        let certified = CertifiedKey::from_der(vec![certificate.clone()], key, &provider).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(certificate).unwrap();
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots.clone())
            .with_no_client_auth();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (mut routes, metrics) = (Routes::default(), WebhookMetrics::default());
        add(&mut routes, &metrics);
        let certificate = Arc::new(SingleCertAndKey::from(certified));
        let tls = ServerTls { certificate, clients };
        let mut server = WebhookServer::new(listener, tls, routes).unwrap();
        server.max_connections = max_connections;
        let shutdown = Shutdown::default();
        Self {
            address,
            connector: TlsConnector::from(Arc::new(config)),
            roots,
            running: tokio::spawn(server.run(shutdown.clone())),
            shutdown,
            metrics,
        }
    }

    /// A server with these handlers: `/echo`, `/slow` (never answers), `/panic`, `/broken`.
    async fn with_handlers() -> Self {
        Self::with_limit(MAX_CONNECTIONS).await
    }

    /// [`with_handlers`](Self::with_handlers), for at most this many connections.
    async fn with_limit(max_connections: usize) -> Self {
        let clients = WebPkiClientVerifier::no_client_auth();
        Self::start_for(clients, max_connections, |routes, metrics| {
            let echo = |body: Bytes| async move { Ok(body.to_vec()) };
            routes.add("/echo".to_owned(), Arc::new(Answering(echo)), metrics);
            let slow = |_| std::future::pending();
            routes.add("/slow".to_owned(), Arc::new(Answering(slow)), metrics);
            let panic = |_| async { panic!("oh") };
            routes.add("/panic".to_owned(), Arc::new(Answering(panic)), metrics);
            let broken = |_| async { Err("no disk".to_owned()) };
            routes.add("/broken".to_owned(), Arc::new(Answering(broken)), metrics);
        })
        .await
    }

    async fn connect(&self) -> TlsStream<TcpStream> {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        self.connector.connect(name, stream).await.unwrap()
    }

    /// Sends a request on a connection of its own; returns status code and body.
    async fn send(&self, head: &str, body: &str) -> (u16, String) {
        let mut stream = self.connect().await;
        let length = body.len();
        let request = format!(
            "{head} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        response(&mut stream).await
    }

    async fn post(&self, path: &str, body: &str) -> (u16, String) {
        self.send(&format!("POST {path}"), body).await
    }

    fn metrics(&self) -> String {
        let (mut registry, mut text) = (Registry::default(), String::new());
        self.metrics.register(&mut registry);
        encode(&mut text, &registry).unwrap();
        text
    }
}

/// Reads to the end of the connection; returns status code and body.
async fn response(stream: &mut TlsStream<TcpStream>) -> (u16, String) {
    let mut bytes = Vec::new();
    // The server may close without a notice of TLS.
    if let Err(error) = stream.read_to_end(&mut bytes).await {
        assert!(!bytes.is_empty(), "{error}");
    }
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

#[tokio::test]
async fn paths_select_handlers_and_unknown_ones_are_answered_with_the_known() {
    let server = TestServer::with_handlers().await;
    assert_eq!(
        server.post("/echo?timeout=10s", "{}").await,
        (200, "{}".to_owned())
    );
    let (code, text) = server.post("/other", "{}").await;
    let expected = "no webhook has the path \"/other\": the paths are /broken, /echo, /panic, /slow\n";
    assert_eq!((code, &*text), (404, expected));
    assert_eq!(server.send("GET /echo", "").await.0, 405);
}

/// Accepts everything.
struct Policy {
    fails_closed: bool,
}

impl WebhookHandler for Policy {
    fn fails_closed(&self) -> bool {
        self.fails_closed
    }

    fn review(&self, body: Bytes, _deadline: Instant) -> BoxFuture<'_, Result<Vec<u8>, WebhookFailure>> {
        Box::pin(async move { Ok(body.to_vec()) })
    }
}

/// While a release is rolled out, another replica may answer: the API server repeats a call that is answered with `Retry-After`, on another
/// connection.
#[tokio::test]
async fn calls_that_another_release_may_serve_are_repeated_elsewhere() {
    let server = TestServer::start(|routes, metrics| {
        for (kind, fails_closed) in [("foo", true), ("baz", false)] {
            let path = format!("/validate-demo-dev-v1-{kind}");
            routes.add(path, Arc::new(Policy { fails_closed }), metrics);
        }
    })
    .await;
    let asked = async |path: &str| {
        let mut stream = server.connect().await;
        let request = format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{{}}");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut start = vec![0; 1024];
        let length = stream.read(&mut start).await.unwrap();
        String::from_utf8(start[..length].to_vec()).unwrap()
    };
    for path in ["/validate-demo-dev-v2-foo?timeout=3s", "/convert"] {
        let text = asked(path).await;
        assert!(text.starts_with("HTTP/1.1 500"), "{text}");
        assert!(
            text.contains("retry-after: 1\r\n") && text.contains("connection: close\r\n"),
            "{text}"
        );
        assert!(
            text.ends_with("the paths are /validate-demo-dev-v1-baz, /validate-demo-dev-v1-foo\n"),
            "{text}"
        );
    }
    // Such as a webhook that was removed from the code, and whose configuration was left: repeating would only take longer.
    // And one whose failure policy accepts the write.
    for path in [
        "/mutate-demo-dev-v1-foo",
        "/validate-demo-dev-v1-bar",
        "/validate-demo-dev-v2-baz",
        "/other",
    ] {
        let text = asked(path).await;
        assert!(text.contains("connection: close\r\n"), "{text}");
        assert!(
            text.starts_with("HTTP/1.1 404") && !text.contains("retry-after"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn client_without_a_certificate_of_the_client_ca_gets_no_answer() {
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(vec!["api-server".to_owned()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.crt");
    std::fs::write(&file, cert.pem()).unwrap();
    let clients = client_verifier(Some(&file)).unwrap();
    let mut server = TestServer::start_for(clients, MAX_CONNECTIONS, |routes, metrics| {
        let echo = |body: Bytes| async move { Ok(body.to_vec()) };
        routes.add("/echo".to_owned(), Arc::new(Answering(echo)), metrics);
    })
    .await;

    let mut stream = server.connect().await;
    let sent = stream
        .write_all(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
        .await;
    let answer = stream.read_to_end(&mut Vec::new()).await;
    assert!(sent.and(answer.map(drop)).is_err());

    let key = PrivateKeyDer::from_pem_slice(signing_key.serialize_pem().as_bytes()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(server.roots.clone())
        .with_client_auth_cert(vec![cert.der().clone()], key)
        .unwrap();
    server.connector = TlsConnector::from(Arc::new(config));
    assert_eq!(server.post("/echo", "{}").await, (200, "{}".to_owned()));
}

#[tokio::test]
async fn requests_in_http_1_0_are_answered() {
    let server = TestServer::with_handlers().await;
    let mut stream = server.connect().await;
    stream
        .write_all(b"POST /echo HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}")
        .await
        .unwrap();
    assert_eq!(response(&mut stream).await, (200, "{}".to_owned()));
}

#[tokio::test]
async fn panics_and_errors_fail_their_own_request_only() {
    let server = TestServer::with_handlers().await;
    let (panicked, broken, echoed) = tokio::join!(
        server.post("/panic", "{}"),
        server.post("/broken", "{}"),
        server.post("/echo", "[]")
    );
    assert_eq!(panicked, (500, "the webhook panicked: oh\n".to_owned()));
    assert_eq!(broken, (500, "no disk\n".to_owned()));
    assert_eq!(echoed, (200, "[]".to_owned()));
    assert_eq!(server.post("/panic", "{}").await.0, 500);
    let metrics = server.metrics();
    for line in [
        r#"controller_runtime_webhook_requests_total{webhook="/panic",code="500"} 2"#,
        r#"controller_runtime_webhook_requests_total{webhook="/echo",code="200"} 1"#,
        r#"controller_runtime_webhook_requests_total{webhook="/slow",code="200"} 0"#,
        r#"controller_runtime_webhook_requests_in_flight{webhook="/panic"} 0"#,
        r#"controller_runtime_webhook_latency_seconds_count{webhook="/panic"} 2"#,
    ] {
        assert!(metrics.contains(line), "{line} is not in {metrics}");
    }
}

const KEPT_ALIVE: &[u8] = b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}";

/// Sends a request whose connection stays open, and reads the start of its response.
async fn post_on(stream: &mut TlsStream<TcpStream>) {
    stream.write_all(KEPT_ALIVE).await.unwrap();
    let mut start = [0; 12];
    stream.read_exact(&mut start).await.unwrap();
    assert_eq!(start, *b"HTTP/1.1 200");
}

#[tokio::test]
async fn stop_closes_idle_connections_and_the_port() {
    let server = TestServer::with_handlers().await;
    let mut idle = server.connect().await;
    post_on(&mut idle).await;
    server.shutdown.stop.cancel();
    server.running.await.unwrap();
    assert!(TcpStream::connect(server.address).await.is_err());
}

#[tokio::test]
async fn responses_close_their_connections_once_the_operator_stops() {
    let server = TestServer::with_handlers().await;
    let mut before = server.connect().await;
    post_on(&mut before).await;
    server.shutdown.drain.cancel();
    for mut stream in [before, server.connect().await] {
        stream.write_all(KEPT_ALIVE).await.unwrap();
        // To the end of the connection, which the server closes.
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        assert!(
            text.contains("connection: close\r\n") && text.ends_with("{}"),
            "{text}"
        );
    }
    assert!(!server.running.is_finished());
}

struct Accept;

impl Validator<ConfigMap> for Accept {
    async fn delete(&self, _: &ConfigMap, _: &AdmissionRequest) -> Result<Validation, AdmissionError> {
        Err(AdmissionError::new("no disk"))
    }
}

#[tokio::test]
async fn reviews_wait_for_the_caches_within_their_timeout_and_are_counted() {
    let connection = ScriptedApi::new().connection();
    let recorder = Recorder::pipeline("shop").0;
    let mut setup = Setup::new("shop", connection, recorder, FixedArgs::new(Vec::<String>::new()));
    setup.validator::<ConfigMap>(Accept);
    let informers = setup.informers().clone();
    let webhooks = setup.take_webhooks();
    let server = TestServer::start(|routes, _| {
        webhooks.add_to(routes, &informers, &Arc::default(), |_| {
            unreachable!("there are no components")
        });
    })
    .await;
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let review = |request: AdmissionRequest| {
        let resource = json!({"group": "", "version": "v1", "resource": "configmaps"});
        let mut request = json!(request);
        request["resource"] = resource;
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
            .to_string()
    };
    let create = review(AdmissionRequest::create(&map));
    let path = "/validate--v1-configmap?timeout=1s";
    assert_eq!(
        server.post(path, &create).await,
        (500, "the operator's caches have not synced yet\n".to_owned())
    );
    let waiting = server.post("/validate--v1-configmap?timeout=30s", &create);
    let (answer, ()) = tokio::join!(waiting, async { webhooks.synced.cancel() });
    let (code, body) = answer;
    assert!(code == 200 && body.contains(r#""allowed":true"#), "{code} {body}");
    let delete = review(AdmissionRequest::delete(&map));
    assert_eq!(server.post(path, &delete).await, (500, "no disk\n".to_owned()));
    assert_eq!(server.post(path, "{").await.0, 200);

    let (mut registry, mut metrics) = (Registry::default(), String::new());
    webhooks.metrics.register(&mut registry);
    encode(&mut metrics, &registry).unwrap();
    for (operation, answer) in [
        ("", "failed"),
        ("CREATE", "allowed"),
        ("DELETE", "failed"),
        ("", "denied"),
    ] {
        let line = format!(
            r#"kubewright_webhook_reviews_total{{webhook="/validate--v1-configmap",operation="{operation}",answer="{answer}"}} 1"#
        );
        assert!(metrics.contains(&line), "{line} is not in {metrics}");
    }
}
