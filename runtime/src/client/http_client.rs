//! What sends an HTTP request: kube's client, or our own stack.

use bytes::Bytes;
use futures::{FutureExt as _, TryFutureExt as _, future::BoxFuture};
use http::{Request, Response};
use http_body_util::{BodyExt as _, combinators::UnsyncBoxBody};
use kube::client::Body;
use tower::{BoxError, ServiceExt as _, util::BoxCloneSyncService};

/// The body of a response.
pub(crate) type ResponseBody = UnsyncBoxBody<Bytes, kube::Error>;

/// A request that was sent. Its size is that of a pointer: futures of reconciles contain many.
pub(super) type PendingResponse = BoxFuture<'static, Result<Response<ResponseBody>, kube::Error>>;

/// Our stack of HTTP services, see [`Transport`](super::transport::Transport).
pub(super) type HttpService = BoxCloneSyncService<Request<Body>, Response<ResponseBody>, BoxError>;

/// Sends requests.
#[derive(Clone)]
pub(super) enum HttpClient {
    /// The application's client.
    Kube(kube::Client),
    /// Without kube's client around it, whose queue hands each request to a task, and so wakes a thread, and needs memory.
    Service(HttpService),
}

impl HttpClient {
    pub(super) fn send(&self, request: Request<Body>) -> PendingResponse {
        match self {
            Self::Kube(client) => {
                let client = client.clone();
                async move { Ok(client.send(request).await?.map(Body::boxed_unsync)) }.boxed()
            }
            Self::Service(service) => service.clone().oneshot(request).map_err(to_kube_error).boxed(),
        }
    }
}

/// Finds kube's error in that of a service, as kube's client does.
fn to_kube_error(error: BoxError) -> kube::Error {
    match error.downcast() {
        Ok(error) => *error,
        Err(error) => kube::Error::Service(error),
    }
}
