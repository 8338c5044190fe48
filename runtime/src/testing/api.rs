//! An API server in memory that answers as it is told.

use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll},
};

use futures::future::BoxFuture;
use http::{Response, StatusCode};
use http_body_util::BodyExt;
use kube::{client::Body, core::Status};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;
use tower::{BoxError, Service};

use super::{
    Request,
    answers::Objects,
    request::{filled, json},
};
use crate::{ApiResource, Kind, NamespacedName, client::Connection};

/// An API server in memory, without a port. It keeps what it is sent and answers as scripted. Cloning copies a pointer.
///
/// Without a script it answers by the objects that it knows: those that were [put](Self::put), and those that were written. `create` of a known name
/// is AlreadyExists, everything else of an unknown name is NotFound; writes get a uid and a new resource version; merge patches, applies and
/// status updates are merged, other patches change nothing. It validates nothing, compares no resource versions, and does not watch.
#[derive(Clone, Default)]
pub struct ScriptedApi(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    objects: Objects,
    requests: Vec<Request>,
    script: Vec<Scripted>,
}

struct Scripted {
    matches: Box<dyn Fn(&Request) -> bool + Send>,
    reply: Reply,
    once: bool,
}

/// A scripted answer.
#[derive(Debug, Clone)]
pub struct Reply(Option<(StatusCode, Value)>);

impl Reply {
    /// An object, or whatever JSON.
    pub fn object(code: StatusCode, object: impl Serialize) -> Self {
        Self(Some((code, json(&object))))
    }

    /// A refusal with its code.
    pub fn status(status: &Status) -> Self {
        let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self::object(code, status)
    }

    /// 409: the object changed in the meantime.
    pub fn conflict() -> Self {
        let message =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::status(&Status::failure(message, "Conflict").with_code(409))
    }

    /// 403, with the API server's words for what no role allows.
    pub fn forbidden() -> Self {
        let message = "User \"system:serviceaccount:test:operator\" cannot do this to the resource";
        Self::status(&Status::failure(message, "Forbidden").with_code(403))
    }

    /// No answer: the connection is lost.
    pub fn lost() -> Self {
        Self(None)
    }
}

impl ScriptedApi {
    /// One that knows nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// A connection to it. Must be called within a tokio runtime.
    pub fn connection(&self) -> Connection {
        Connection::new(kube::Client::new(self.clone(), "default")).without_retries()
    }

    /// Makes an object known. Panics if it has no name.
    pub fn put<K: Kind>(&self, object: &impl Serialize) {
        self.put_value(&K::info(), json(object));
    }

    pub(super) fn put_value(&self, info: &ApiResource, object: Value) {
        let metadata = &object["metadata"];
        let name = match (metadata["namespace"].as_str(), metadata["name"].as_str()) {
            (Some(namespace), Some(name)) => NamespacedName::namespaced(namespace, name),
            (None, Some(name)) => NamespacedName::cluster(name),
            (_, None) => panic!("the {} that the test made has no metadata.name", info.kind),
        };
        self.0
            .lock()
            .objects
            .put(info.group_resource(), name, filled(info, object));
    }

    /// Answers the next request that matches with `reply`, and does nothing else. Scripts are tried in the order in which they were given.
    pub fn reply_with(&self, matches: impl Fn(&Request) -> bool + Send + 'static, reply: Reply) {
        self.script(Box::new(matches), reply, true);
    }

    /// [`reply_with`](Self::reply_with) for every request that matches.
    pub fn always_reply_with(&self, matches: impl Fn(&Request) -> bool + Send + 'static, reply: Reply) {
        self.script(Box::new(matches), reply, false);
    }

    /// Takes the requests that came since the last call, in their order.
    pub fn requests(&self) -> Vec<Request> {
        std::mem::take(&mut self.0.lock().requests)
    }

    fn script(&self, matches: Box<dyn Fn(&Request) -> bool + Send>, reply: Reply, once: bool) {
        self.0.lock().script.push(Scripted { matches, reply, once });
    }

    fn answer(&self, request: Request) -> Reply {
        let mut state = self.0.lock();
        let scripted = state
            .script
            .iter()
            .position(|scripted| (scripted.matches)(&request));
        let reply = match scripted {
            Some(place) if state.script[place].once => state.script.remove(place).reply,
            Some(place) => state.script[place].reply.clone(),
            None => state.objects.answer(&request),
        };
        state.requests.push(request);
        reply
    }
}

impl Service<http::Request<Body>> for ScriptedApi {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let api = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let Some(request) = Request::parse(&parts, &body) else {
                return Err(
                    format!("the scripted API server knows no {} {}", parts.method, parts.uri).into(),
                );
            };
            let Reply(Some((code, body))) = api.answer(request) else {
                return Err("the script lost the connection".into());
            };
            let mut response = Response::new(Body::from(serde_json::to_vec(&body)?));
            *response.status_mut() = code;
            Ok(response)
        })
    }
}

impl fmt::Debug for ScriptedApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedApi").finish_non_exhaustive()
    }
}
