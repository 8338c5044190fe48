//! kube's client without its delay.

use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use kube::{
    Config,
    client::{Body, ConfigExt as _},
};
use tower::{BoxError, ServiceBuilder};

/// Makes a client that never resends a request.
///
/// It is kube's, but its sockets have `TCP_NODELAY`: without it each request with a body waits 40 ms for a delayed acknowledgement.
///
/// Of the timeouts only that for connecting applies: tests limit their own time.
pub fn client(config: Config) -> Result<kube::Client, kube::Error> {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(config.connect_timeout);
    let connector = config.rustls_https_connector_with_connector(connector)?;
    let http: Client<_, Body> = Client::builder(TokioExecutor::new()).build(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(http);
    Ok(kube::Client::new(service, config.default_namespace))
}
