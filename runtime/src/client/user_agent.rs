//! Whose requests these are, as the API server's audit log has it.

use std::task::{Context, Poll};

use http::{HeaderValue, Request, header::USER_AGENT};
use tokio::task::futures::TaskLocalFuture;
use tower::{Layer, Service};

tokio::task_local! {
    /// What the user agent ends with.
    static PART: Option<HeaderValue>;
}

/// `task`, whose requests name the controller in their user agent. Tasks that it spawns do not.
pub(crate) fn on_behalf_of<F: Future>(controller: &str, task: F) -> OnBehalf<F> {
    with_part(
        HeaderValue::try_from(format!("controller/{controller}")).ok(),
        task,
    )
}

/// `task`, whose requests add `part` to their user agent.
pub(crate) fn with_part<F: Future>(part: Option<HeaderValue>, task: F) -> OnBehalf<F> {
    PART.scope(part, task)
}

/// Adds to a request what the running task adds.
pub(super) fn sign<B>(request: &mut Request<B>) {
    if let Some(part) = part() {
        request.headers_mut().insert(USER_AGENT, part);
    }
}

/// What a request of the running task adds to the user agent.
pub(crate) fn part() -> Option<HeaderValue> {
    PART.try_with(Clone::clone).ok().flatten()
}

pub(crate) type OnBehalf<F> = TaskLocalFuture<Option<HeaderValue>, F>;

/// Gives each request the user agent, before what it has itself.
#[derive(Clone, Debug)]
pub(super) struct UserAgent(pub(super) HeaderValue);

#[derive(Clone, Debug)]
pub(super) struct WithUserAgent<S> {
    agent: HeaderValue,
    inner: S,
}

impl<S> Layer<S> for UserAgent {
    type Service = WithUserAgent<S>;

    fn layer(&self, inner: S) -> Self::Service {
        WithUserAgent {
            agent: self.0.clone(),
            inner,
        }
    }
}

impl<S: Service<Request<B>>, B> Service<Request<B>> for WithUserAgent<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let headers = request.headers_mut();
        let whole = headers.get(USER_AGENT).and_then(|part| {
            HeaderValue::from_bytes(&[self.agent.as_bytes(), b" ", part.as_bytes()].concat()).ok()
        });
        headers.insert(USER_AGENT, whole.unwrap_or_else(|| self.agent.clone()));
        self.inner.call(request)
    }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, sync::Arc};

    use futures::StreamExt as _;
    use http::Response;
    use k8s_openapi::api::core::v1::Node;
    use kube::{client::Body, core::params::WatchParams};
    use parking_lot::Mutex;
    use tower::ServiceExt as _;

    use super::*;
    use crate::{
        NamespacedName,
        client::{Connection, Get, TypedClient, Watch},
    };

    #[tokio::test]
    async fn a_controllers_requests_say_so_behind_the_operators_name() {
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let writer = seen.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let agent = request.headers()[USER_AGENT].to_str().unwrap().to_owned();
            writer.lock().push(agent);
            async { Ok::<_, Infallible>(Response::new(Body::from(b"{}".to_vec()))) }
        });
        let service = UserAgent(HeaderValue::from_static("shop/1 (here)")).layer(service);
        let connection = Connection::new(kube::Client::new(service.boxed_clone(), "default"));
        let client = TypedClient::<Node, (Get, Watch)>::new(connection);
        let name = NamespacedName::cluster("n");
        let ask = async || client.get(&name).await.map(drop).unwrap();
        ask().await;
        on_behalf_of("web", ask()).await;
        let mut watch = client.watch(None, &WatchParams::default(), "1");
        on_behalf_of("web", watch.next()).await;
        let named = "shop/1 (here) controller/web";
        assert_eq!(*seen.lock(), ["shop/1 (here)", named, named]);
    }
}
