//! The faults before a real API server: a proxy that ends TLS, looks at each request, and passes it on.

use super::ClusterError;
use crate::faults::Faults;
use crate::plane::{ControlPlane, Identity, Server};
use http::Request;
use http::header::AUTHORIZATION;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use kubewright_apiserver::Front;
use kubewright_apiserver::http::{Asked, Broken, Layer as _, Next, Query, RequestInfo};
use std::collections::HashMap;
use std::fs;
use std::sync::{Arc, Mutex, PoisonError};

/// Users by their tokens.
type Users = Arc<Mutex<HashMap<String, String>>>;

/// A proxy before a plane's API server.
#[derive(Debug)]
pub(super) struct FaultyFront {
    server: Server,
    users: Users,
    _front: Front,
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
        let users = Users::default();
        let known = users.clone();
        let front = Front::start(move |request| {
            let asked = asked(&request, &known);
            faults.call(asked, pass_on(client.clone(), request))
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
            users,
            _front: front,
        })
    }

    /// The same identity, with a kubeconfig that leads here.
    pub(super) fn lead(&self, identity: &Identity) -> Result<Identity, ClusterError> {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        users.insert(identity.token().to_owned(), identity.user().to_owned());
        drop(users);
        Ok(identity.at(&self.server, "faulty")?)
    }
}

fn asked(request: &Request<Incoming>, users: &Users) -> Asked {
    let query = Query::parse(request.uri().query().unwrap_or_default());
    let header = request.headers().get(AUTHORIZATION);
    let token = header
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "));
    let users = users.lock().unwrap_or_else(PoisonError::into_inner);
    let user = token.and_then(|token| users.get(token));
    Asked {
        user: user.map_or_else(|| "system:anonymous".to_owned(), Clone::clone),
        info: RequestInfo::new(request.method(), request.uri().path(), &query),
        query,
    }
}

fn pass_on(client: kube::Client, request: Request<Incoming>) -> Next {
    Box::pin(async move {
        let (mut parts, body) = request.into_parts();
        // Those of the connection to us, which may be HTTP/2 where the one to the server is not.
        parts.version = http::Version::default();
        parts.headers.remove(http::header::HOST);
        parts.headers.remove(http::header::CONTENT_LENGTH);
        let body = body.collect().await.map_err(|_| Broken)?.to_bytes();
        let request = Request::from_parts(parts, kube::client::Body::from(body));
        let answer = client.send(request).await.map_err(|_| Broken)?;
        let (mut parts, body) = answer.into_parts();
        parts.version = http::Version::default();
        parts.headers.remove(http::header::TRANSFER_ENCODING);
        parts.headers.remove(http::header::CONNECTION);
        let body = body.map_err(|_| Broken).boxed_unsync();
        Ok(http::Response::from_parts(parts, body))
    })
}
