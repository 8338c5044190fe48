//! Fault injection for a real API server: a proxy that terminates TLS, applies the faults to each request, and forwards it.

use super::ClusterError;
use crate::faults::Faults;
use crate::plane::{ControlPlane, Identity, Server};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Request};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use kubewright_apiserver::ProxyListener;
use kubewright_apiserver::http::{
    ConnectionAborted, Layer as _, LayerRequest, Query, RequestInfo, ResponseFuture,
};
use serde_json::Value;
use std::fs;

/// A proxy in front of a control plane's API server.
#[derive(Debug)]
pub(super) struct FaultProxy {
    server: Server,
    _listener: ProxyListener,
}

impl FaultProxy {
    /// Starts the proxy on the current tokio runtime, where it lives.
    pub(super) async fn start(plane: &ControlPlane, faults: Faults) -> Result<Self, ClusterError> {
        let mut config = plane.admin().config().await?;
        // Requests carry their own token.
        config.auth_info = kube::config::AuthInfo::default();
        let client = crate::client(config).map_err(|source| ClusterError::Request {
            what: "the proxy".to_owned(),
            source: Box::new(source),
        })?;
        let listener = ProxyListener::start(move |request| {
            faults.call(request_facts(&request), forward(client.clone(), request))
        })
        .await?;
        let file = plane.folder().join("certificates").join("proxy.crt");
        fs::write(&file, listener.certificate_authority())?;
        let server = Server {
            url: listener.url(),
            certificate_authority: file,
        };
        Ok(Self {
            server,
            _listener: listener,
        })
    }

    /// Returns the same identity with a kubeconfig that points to the proxy.
    pub(super) fn redirected(&self, identity: &Identity) -> Result<Identity, ClusterError> {
        Ok(identity.with_server(&self.server, "faults")?)
    }
}

fn request_facts(request: &Request<Incoming>) -> LayerRequest {
    let query = Query::parse(request.uri().query().unwrap_or_default());
    LayerRequest {
        user: user(request.headers()).unwrap_or_else(|| "system:anonymous".to_owned()),
        info: RequestInfo::new(request.method(), request.uri().path(), &query),
        query,
    }
}

/// The user of a request, read from its headers without verification: no permission depends on it.
fn user(headers: &HeaderMap) -> Option<String> {
    let value = |name: &str| headers.get(name)?.to_str().ok().filter(|value| !value.is_empty());
    if let Some(user) = value("impersonate-user") {
        return Some(user.to_owned());
    }
    let token = value(AUTHORIZATION.as_str())?.strip_prefix("Bearer ")?;
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    claims["sub"].as_str().map(str::to_owned)
}

fn forward(client: kube::Client, request: Request<Incoming>) -> ResponseFuture {
    Box::pin(async move {
        let (mut parts, body) = request.into_parts();
        // These belong to the connection to the proxy, which may be HTTP/2 while the one to the server is not.
        parts.version = http::Version::default();
        parts.headers.remove(http::header::HOST);
        parts.headers.remove(http::header::CONTENT_LENGTH);
        let body = body.collect().await.map_err(|_| ConnectionAborted)?.to_bytes();
        let request = Request::from_parts(parts, kube::client::Body::from(body));
        let response = client.send(request).await.map_err(|_| ConnectionAborted)?;
        let (mut parts, body) = response.into_parts();
        parts.version = http::Version::default();
        parts.headers.remove(http::header::TRANSFER_ENCODING);
        parts.headers.remove(http::header::CONNECTION);
        let body = body.map_err(|_| ConnectionAborted).boxed_unsync();
        Ok(http::Response::from_parts(parts, body))
    })
}
