//! The HTTP stack: sockets, TLS, credentials, user agent.
//!
//! kube's own stack, of the same parts, leaves Nagle's algorithm on: a request after a TLS handshake, or one sent in two parts, then waits
//! 40 ms for a delayed acknowledgement. It also runs a credential plugin once per client.

use std::time::Duration;

use http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_timeout::TimeoutConnector;
use hyper_util::{
    client::legacy::{Builder, Client, connect::HttpConnector},
    rt::TokioTimer,
};
use kube::{
    Config,
    client::{
        Body, ConfigExt as _, RustlsTlsError,
        middleware::{AuthLayer, BaseUriLayer, ExtraHeadersLayer},
    },
};
use rustls::{ClientConfig, pki_types::ServerName};
use tower::{BoxError, ServiceBuilder, ServiceExt as _};

use super::{
    http_client::{HttpClient, HttpService},
    inline_connection::ReaderExecutor,
    service_account_token::ServiceAccountToken,
    user_agent::UserAgent,
};

/// TCP keep-alive, as in client-go: detects a dead peer on an idle connection.
const TCP_KEEP_ALIVE: Duration = Duration::from_secs(30);
/// A connection of HTTP/2 on which nothing arrives is pinged, and closed if there is no response. client-go waits longer, 30 s and 15 s, in which
/// no request is answered.
const PING_INTERVAL: Duration = Duration::from_secs(15);
const PING_TIMEOUT: Duration = Duration::from_secs(10);
/// How many bytes of all responses of a connection by HTTP/2 may wait for their readers, as Go's client has it. Each response has a limit of its own, of some
/// megabytes: with a small limit for all, a few responses that are not read would stop all others.
const CONNECTION_WINDOW_BYTES: u32 = 1 << 30;
/// How many idle connections are kept for the next page of a list, or renewal of the lease.
const FEW: usize = 2;

type Connector = TimeoutConnector<HttpsConnector<HttpConnector>>;

/// The parts that all clients of a configuration share: certificates, TLS sessions, and credentials, which are requested once.
pub(super) struct Transport {
    /// Opens connections for HTTP/1.1.
    connector: Connector,
    /// Opens connections for HTTP/2, if the server offers it.
    multiplexed: Connector,
    credentials: Option<AuthLayer>,
    token: Option<ServiceAccountToken>,
    headers: ExtraHeadersLayer,
    address: BaseUriLayer,
    agent: UserAgent,
}

impl Transport {
    /// Sends nothing, but runs a credential plugin.
    pub(super) fn new(
        config: &Config,
        agent: UserAgent,
        token: Option<ServiceAccountToken>,
    ) -> Result<Self, kube::Error> {
        // Once: it runs a credential plugin.
        let tls = config.rustls_client_config()?;
        let multiplexed = https_connector(config, tls.clone(), true)?;
        let connector = https_connector(config, tls, false)?;
        Ok(Self {
            connector: with_timeouts(connector, config),
            multiplexed: with_timeouts(multiplexed, config),
            credentials: config.auth_layer()?,
            token,
            headers: config.extra_headers_layer()?,
            address: config.base_uri_layer(),
            agent,
        })
    }

    /// Creates a client whose requests share one connection by HTTP/2, if the server offers it and the connection is encrypted: a pooled
    /// connection for each concurrent request needs some 45 KB. Otherwise each has one, which is kept for the next.
    pub(super) fn shared_connection(&self) -> HttpClient {
        let mut http = Client::builder(ReaderExecutor);
        http.timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .http2_initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .http2_keep_alive_interval(PING_INTERVAL)
            .http2_keep_alive_timeout(PING_TIMEOUT)
            .http2_keep_alive_while_idle(true);
        self.client(&http, self.multiplexed.clone())
    }

    /// Creates a client whose concurrent requests have a connection each. Few of them are kept for the next requests.
    pub(super) fn few_connections(&self) -> HttpClient {
        let mut http = Client::builder(ReaderExecutor);
        http.pool_max_idle_per_host(FEW);
        self.client(&http, self.connector.clone())
    }

    /// Creates a client whose requests have a connection each.
    pub(super) fn connection_each(&self) -> HttpClient {
        let mut http = Client::builder(ReaderExecutor);
        http.pool_max_idle_per_host(0);
        self.client(&http, self.connector.clone())
    }

    /// Creates a client with its own pool of connections. It never resends a request.
    fn client(&self, http: &Builder, connector: Connector) -> HttpClient {
        let http: Client<_, Body> = http.build(connector);
        let service = ServiceBuilder::new()
            .map_response(|response: Response<Incoming>| {
                response.map(|body| {
                    body.map_err(|error| kube::Error::Service(error.into()))
                        .boxed_unsync()
                })
            })
            .layer(&self.agent)
            .layer(&self.address)
            .option_layer(self.credentials.as_ref())
            .option_layer(self.token.as_ref())
            .layer(&self.headers)
            .map_err(BoxError::from)
            .service(http.map_request(log_request));
        HttpClient::Service(HttpService::new(service))
    }
}

/// Opens connections as kube's connector does. Connectors of one TLS configuration share its sessions.
fn https_connector(
    config: &Config,
    tls: ClientConfig,
    offers_http2: bool,
) -> Result<HttpsConnector<HttpConnector>, kube::Error> {
    let mut connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
    if let Some(name) = config.tls_server_name.clone() {
        let name = ServerName::try_from(name).map_err(RustlsTlsError::InvalidServerName);
        let name = name.map_err(kube::Error::RustlsTls)?;
        connector = connector.with_server_name_resolver(FixedServerNameResolver::new(name));
    }
    let connector = connector.enable_http1();
    Ok(if offers_http2 {
        connector.enable_http2().wrap_connector(http_connector())
    } else {
        connector.wrap_connector(http_connector())
    })
}

fn with_timeouts(connector: HttpsConnector<HttpConnector>, config: &Config) -> Connector {
    let mut connector = TimeoutConnector::new(connector);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    connector.set_reset_reader_on_write(config.reset_reader_on_write);
    connector
}

fn http_connector() -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_keepalive(Some(TCP_KEEP_ALIVE));
    connector
}

fn log_request(request: Request<Body>) -> Request<Body> {
    tracing::debug!(method = %request.method(), url = %request.uri(), "requesting");
    request
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn credential_plugin_runs_once_for_certificates_and_once_for_requests() {
        let folder = tempfile::tempdir().unwrap();
        let runs = folder.path().join("runs");
        let credentials = r#"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t"}}"#;
        let script = format!("echo run >> {}; echo '{credentials}'", runs.display());
        let mut config = Config::new("https://127.0.0.1:1".parse().unwrap());
        config.auth_info.exec = serde_json::from_value(serde_json::json!({
            "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never",
            "command": "sh", "args": ["-c", script],
        }))
        .unwrap();
        Transport::new(&config, UserAgent(http::HeaderValue::from_static("test")), None).unwrap();
        assert_eq!(std::fs::read_to_string(runs).unwrap().lines().count(), 2);
    }

    #[tokio::test]
    async fn invalid_server_name_is_an_error() {
        let mut config = Config::new("https://127.0.0.1:1".parse().unwrap());
        config.tls_server_name = Some("no name".to_owned());
        let transport = Transport::new(&config, UserAgent(http::HeaderValue::from_static("test")), None);
        let error = transport.err().unwrap();
        assert!(
            matches!(
                error,
                kube::Error::RustlsTls(RustlsTlsError::InvalidServerName(_))
            ),
            "{error:?}"
        );
    }

    #[tokio::test]
    async fn sockets_have_nodelay() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("https://{}", listener.local_addr().unwrap());
        let stream = http_connector().oneshot(address.parse().unwrap()).await.unwrap();
        assert!(stream.inner().nodelay().unwrap());
    }
}
