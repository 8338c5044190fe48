//! The faults before a real API server: a proxy that ends TLS, looks at each request, and passes it on.

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

/// A proxy before a plane's API server.
#[derive(Debug)]
pub(super) struct FaultyFront {
    server: Server,
    _front: ProxyListener,
}

impl FaultyFront {
    /// Must be called within the runtime that it is to live in.
    pub(super) async fn start(plane: &ControlPlane, faults: Faults) -> Result<Self, ClusterError> {
        let mut config = plane.admin().config().await?;
        // Requests bring their own token along, watches are silent for long, and whether to try again is the client's affair.
        config.auth_info = kube::config::AuthInfo::default();
        config.read_timeout = None;
        config.default_retry = false;
        let client = kube::Client::try_from(config).map_err(|source| ClusterError::Request {
            what: "the proxy".to_owned(),
            source: Box::new(source),
        })?;
        let front = ProxyListener::start(move |request| {
            faults.call(asked(&request), pass_on(client.clone(), request))
        })
        .await?;
        let file = plane.folder().join("certificates").join("front.crt");
        fs::write(&file, front.certificate_authority())?;
        let server = Server {
            url: front.url(),
            certificate_authority: file,
        };
        Ok(Self {
            server,
            _front: front,
        })
    }

    /// The same identity, with a kubeconfig that leads here.
    pub(super) fn lead(&self, identity: &Identity) -> Result<Identity, ClusterError> {
        Ok(identity.at(&self.server, "faulty")?)
    }
}

fn asked(request: &Request<Incoming>) -> LayerRequest {
    let query = Query::parse(request.uri().query().unwrap_or_default());
    LayerRequest {
        user: user(request.headers()).unwrap_or_else(|| "system:anonymous".to_owned()),
        info: RequestInfo::new(request.method(), request.uri().path(), &query),
        query,
    }
}

/// Who asks, by what the request itself says: nobody's rights depend on it.
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

fn pass_on(client: kube::Client, request: Request<Incoming>) -> ResponseFuture {
    Box::pin(async move {
        let (mut parts, body) = request.into_parts();
        // Those of the connection to us, which may be HTTP/2 where the one to the server is not.
        parts.version = http::Version::default();
        parts.headers.remove(http::header::HOST);
        parts.headers.remove(http::header::CONTENT_LENGTH);
        let body = body.collect().await.map_err(|_| ConnectionAborted)?.to_bytes();
        let request = Request::from_parts(parts, kube::client::Body::from(body));
        let answer = client.send(request).await.map_err(|_| ConnectionAborted)?;
        let (mut parts, body) = answer.into_parts();
        parts.version = http::Version::default();
        parts.headers.remove(http::header::TRANSFER_ENCODING);
        parts.headers.remove(http::header::CONNECTION);
        let body = body.map_err(|_| ConnectionAborted).boxed_unsync();
        Ok(http::Response::from_parts(parts, body))
    })
}
