//! The HTTP/1.1 stack: sockets, TLS, credentials, user agent.
//!
//! kube's own stack, of the same parts, leaves Nagle's algorithm on: a request after a TLS handshake, or one sent in two parts, then waits
//! 40 ms for a delayed acknowledgement. It also runs a credential plugin once per client.

use std::time::Duration;

use http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper_rustls::HttpsConnector;
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use kube::{
    Config,
    client::{
        Body, ConfigExt as _,
        middleware::{AuthLayer, BaseUriLayer, ExtraHeadersLayer},
    },
};
use tower::{BoxError, ServiceBuilder, ServiceExt as _};

use super::{
    http_client::{HttpClient, HttpService},
    inline_connection::ReaderExecutor,
    service_account_token::ServiceAccountToken,
    user_agent::UserAgent,
};

/// TCP keep-alive, as in client-go: detects a dead peer on an idle connection.
const TCP_KEEP_ALIVE: Duration = Duration::from_secs(30);

/// The parts that all clients of a configuration share: certificates, TLS sessions, and credentials, which are requested once.
pub(super) struct Transport {
    connector: TimeoutConnector<HttpsConnector<HttpConnector>>,
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
        let secure = config.rustls_https_connector_with_connector(http_connector())?;
        let mut connector = TimeoutConnector::new(secure);
        connector.set_connect_timeout(config.connect_timeout);
        connector.set_read_timeout(config.read_timeout);
        connector.set_write_timeout(config.write_timeout);
        connector.set_reset_reader_on_write(config.reset_reader_on_write);
        Ok(Self {
            connector,
            credentials: config.auth_layer()?,
            token,
            headers: config.extra_headers_layer()?,
            address: config.base_uri_layer(),
            agent,
        })
    }

    /// Creates a client with its own pool of at most `max_idle` idle connections. It never resends a request.
    pub(super) fn client(&self, max_idle: usize) -> HttpClient {
        let mut http = Client::builder(ReaderExecutor);
        let http: Client<_, Body> = http
            .pool_max_idle_per_host(max_idle)
            .build(self.connector.clone());
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
    async fn sockets_have_nodelay() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("https://{}", listener.local_addr().unwrap());
        let stream = http_connector().oneshot(address.parse().unwrap()).await.unwrap();
        assert!(stream.inner().nodelay().unwrap());
    }
}
