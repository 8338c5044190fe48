//! The user agent of requests: the operator's name, and a suffix for the controller, for the API server's audit log.

use std::task::{Context, Poll};

use http::{HeaderValue, Request, header::USER_AGENT};
use tokio::task::futures::TaskLocalFuture;
use tower::{Layer, Service};

tokio::task_local! {
    /// The suffix of the user agent in this task.
    static SUFFIX: Option<HeaderValue>;
}

/// Runs `task`; its requests name the controller in their user agent. Tasks that it spawns do not inherit this.
pub(crate) fn with_controller_agent<F: Future>(controller: &str, task: F) -> WithAgentSuffix<F> {
    with_agent_suffix(
        HeaderValue::try_from(format!("controller/{controller}")).ok(),
        task,
    )
}

/// Runs `task`; its requests append `suffix` to their user agent.
pub(crate) fn with_agent_suffix<F: Future>(suffix: Option<HeaderValue>, task: F) -> WithAgentSuffix<F> {
    SUFFIX.scope(suffix, task)
}

/// Sets the running task's suffix as the request's user agent; the transport puts the operator's name before it.
pub(super) fn add_suffix<B>(request: &mut Request<B>) {
    if let Some(suffix) = agent_suffix() {
        request.headers_mut().insert(USER_AGENT, suffix);
    }
}

/// Returns the running task's suffix.
pub(crate) fn agent_suffix() -> Option<HeaderValue> {
    SUFFIX.try_with(Clone::clone).ok().flatten()
}

pub(crate) type WithAgentSuffix<F> = TaskLocalFuture<Option<HeaderValue>, F>;

/// A layer that puts the operator's user agent before a request's own.
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
        let whole = headers.get(USER_AGENT).and_then(|suffix| {
            HeaderValue::from_bytes(&[self.agent.as_bytes(), b" ", suffix.as_bytes()].concat()).ok()
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
    async fn user_agent_has_the_operator_and_then_the_controller() {
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
        let get = async || client.get(&name).await.map(drop).unwrap();
        get().await;
        with_controller_agent("web", get()).await;
        let mut watch = client.watch(None, &WatchParams::default(), "1");
        with_controller_agent("web", watch.next()).await;
        let named = "shop/1 (here) controller/web";
        assert_eq!(*seen.lock(), ["shop/1 (here)", named, named]);
    }
}
