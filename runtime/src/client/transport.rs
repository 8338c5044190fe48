//! HTTP/1.1 to the API server of a configuration: sockets, TLS, credentials.
//!
//! kube's own stack, made from the same parts, leaves Nagle's algorithm on. A request that follows the end of a TLS handshake then waits for
//! a delayed acknowledgement, 40 ms, and so does each that is sent in two pieces. It also asks a credential plugin once a client.

use std::time::Duration;

use http::Request;
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

use super::{inline_connection::ReaderExecutor, user_agent::UserAgent};

/// client-go's: a peer that is gone without a word is noticed although nothing is sent to it.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// What the clients of a configuration share: certificates, TLS sessions, and credentials, which are asked for once.
pub(super) struct Transport {
    connector: TimeoutConnector<HttpsConnector<HttpConnector>>,
    credentials: Option<AuthLayer>,
    headers: ExtraHeadersLayer,
    address: BaseUriLayer,
    namespace: String,
    agent: UserAgent,
}

impl Transport {
    /// Nothing is sent; a credential plugin is run.
    pub(super) fn new(config: &Config, agent: UserAgent) -> Result<Self, kube::Error> {
        let secure = config.rustls_https_connector_with_connector(sockets())?;
        let mut connector = TimeoutConnector::new(secure);
        connector.set_connect_timeout(config.connect_timeout);
        connector.set_read_timeout(config.read_timeout);
        connector.set_write_timeout(config.write_timeout);
        connector.set_reset_reader_on_write(config.reset_reader_on_write);
        Ok(Self {
            connector,
            credentials: config.auth_layer()?,
            headers: config.extra_headers_layer()?,
            address: config.base_uri_layer(),
            namespace: config.default_namespace.clone(),
            agent,
        })
    }

    /// A client with connections of its own, of which so many may rest until the next request. It repeats nothing.
    pub(super) fn client(&self, resting: usize) -> kube::Client {
        let mut http = Client::builder(ReaderExecutor);
        let http: Client<_, Body> = http.pool_max_idle_per_host(resting).build(self.connector.clone());
        let service = ServiceBuilder::new()
            .layer(&self.agent)
            .layer(&self.address)
            .option_layer(self.credentials.as_ref())
            .layer(&self.headers)
            .map_err(BoxError::from)
            .service(http.map_request(logged));
        kube::Client::new(service, self.namespace.clone())
    }
}

fn sockets() -> HttpConnector {
    let mut sockets = HttpConnector::new();
    sockets.enforce_http(false);
    sockets.set_nodelay(true);
    sockets.set_keepalive(Some(KEEP_ALIVE));
    sockets
}

fn logged(request: Request<Body>) -> Request<Body> {
    tracing::debug!(method = %request.method(), url = %request.uri(), "requesting");
    request
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn nothing_that_is_sent_waits_for_an_acknowledgement() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("https://{}", listener.local_addr().unwrap());
        let stream = sockets().oneshot(address.parse().unwrap()).await.unwrap();
        assert!(stream.inner().nodelay().unwrap());
    }
}
