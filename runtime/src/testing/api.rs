//! [`ScriptedApi`]: an in-memory API server with scripted replies.

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
    Request, assert_requests,
    default_replies::ObjectStore,
    request::{json, with_type_meta},
};
use crate::{ApiResource, Kind, NamespacedName, client::Connection};

/// An in-memory API server without a port. It records requests and sends scripted replies. Cloning copies a pointer.
///
/// Requests without a scripted reply are served from its objects: those that were [put](Self::put) and those that were written. `create` of an
/// existing name is AlreadyExists, every other request for an unknown name is NotFound. Writes get a uid and a new resource version. Merge
/// patches, applies and status updates are merged; other patches change nothing. It has no validation, no conflicts and no watches.
#[derive(Clone, Default)]
pub struct ScriptedApi(Arc<Mutex<ScriptedState>>);

#[derive(Default)]
struct ScriptedState {
    objects: ObjectStore,
    requests: Vec<Request>,
    script: Vec<ScriptedReply>,
}

struct ScriptedReply {
    matches: Box<dyn Fn(&Request) -> bool + Send>,
    reply: Reply,
    once: bool,
}

/// A scripted reply.
#[derive(Debug, Clone)]
pub struct Reply(Option<(StatusCode, Value)>);

impl Reply {
    /// Returns a reply with an object, or any JSON.
    pub fn object(code: StatusCode, object: impl Serialize) -> Self {
        Self(Some((code, json(&object))))
    }

    /// Returns a reply with an error, and its code.
    pub fn status(status: &Status) -> Self {
        let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self::object(code, status)
    }

    /// Returns 409 Conflict: the object has been modified.
    pub fn conflict() -> Self {
        let message =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::status(&Status::failure(message, "Conflict").with_code(409))
    }

    /// Returns 403 Forbidden, as for a missing permission.
    pub fn forbidden() -> Self {
        let message = "User \"system:serviceaccount:test:operator\" cannot do this to the resource";
        Self::status(&Status::failure(message, "Forbidden").with_code(403))
    }

    /// Returns a lost connection, without a response.
    pub fn lost() -> Self {
        Self(None)
    }
}

impl ScriptedApi {
    /// Returns an API server without objects.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a connection to it. Call it within a tokio runtime.
    pub fn connection(&self) -> Connection {
        Connection::new(kube::Client::new(self.clone(), "default")).without_retries()
    }

    /// Adds or replaces an object. Panics if it has no name.
    pub fn put<K: Kind>(&self, object: &impl Serialize) {
        self.put_value(&K::info(), json(object));
    }

    pub(super) fn put_value(&self, info: &ApiResource, object: Value) {
        let metadata = &object["metadata"];
        let name = match (metadata["namespace"].as_str(), metadata["name"].as_str()) {
            (Some(namespace), Some(name)) => NamespacedName::namespaced(namespace, name),
            (None, Some(name)) => NamespacedName::cluster(name),
            (_, None) => panic!("the test's {} has no metadata.name", info.kind),
        };
        self.0
            .lock()
            .objects
            .put(info.group_resource(), name, with_type_meta(info, object));
    }

    /// Replies to the next matching request with `reply`, without changing objects. Scripted replies are matched in the order of their calls.
    pub fn reply_with(&self, matches: impl Fn(&Request) -> bool + Send + 'static, reply: Reply) {
        self.script(Box::new(matches), reply, true);
    }

    /// [`reply_with`](Self::reply_with) for every matching request.
    pub fn always_reply_with(&self, matches: impl Fn(&Request) -> bool + Send + 'static, reply: Reply) {
        self.script(Box::new(matches), reply, false);
    }

    /// Takes the requests that arrived since the last call, in order.
    pub fn requests(&self) -> Vec<Request> {
        std::mem::take(&mut self.0.lock().requests)
    }

    /// Takes the requests and panics unless they equal the expected ones, in order. A null field equals an absent one. The message lists the
    /// fields that differ.
    #[track_caller]
    pub fn assert_requests(&self, expected: &[Request]) {
        assert_requests(&self.requests(), expected);
    }

    fn script(&self, matches: Box<dyn Fn(&Request) -> bool + Send>, reply: Reply, once: bool) {
        self.0.lock().script.push(ScriptedReply { matches, reply, once });
    }

    fn reply(&self, request: Request) -> Reply {
        let mut state = self.0.lock();
        let scripted = state
            .script
            .iter()
            .position(|scripted| (scripted.matches)(&request));
        let reply = match scripted {
            Some(index) if state.script[index].once => state.script.remove(index).reply,
            Some(index) => state.script[index].reply.clone(),
            None => state.objects.reply(&request),
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
                return Err(format!(
                    "the scripted API server does not support {} {}",
                    parts.method, parts.uri
                )
                .into());
            };
            let Reply(Some((code, body))) = api.reply(request) else {
                return Err("the scripted reply lost the connection".into());
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
