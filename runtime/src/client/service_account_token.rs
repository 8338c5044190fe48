//! The credentials of a service account: a token from a TokenRequest, renewed before it expires. A layer adds it to each request.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use futures::{
    FutureExt as _,
    future::{BoxFuture, Shared},
};
use http::{HeaderValue, Request, Response, StatusCode, header::AUTHORIZATION};
use k8s_openapi::api::{
    authentication::v1::{TokenRequest, TokenRequestSpec},
    core::v1::ServiceAccount,
};
use kube::{
    Api,
    api::{ObjectMeta, PostParams},
    client::Body,
};
use parking_lot::Mutex;
use tokio::time::{Duration, Instant, timeout};
use tower::{BoxError, Layer, Service};

/// The lifetime that is asked for. API servers may grant another.
const LIFETIME: Duration = Duration::from_hours(1);
/// A token is renewed after this part of its lifetime, as client-go does.
const RENEWAL: (u32, u32) = (4, 5);
/// How long a token that is still valid is used after its renewal failed.
const RENEWAL_RETRY: Duration = Duration::from_secs(10);
/// How long a token may take to come.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// The token of a service account. The account is created if it does not exist. Cloning copies a pointer.
///
/// Requests that need a token at the same time share one TokenRequest. A token that the API server refuses (401) is forgotten: the refused
/// request fails, and the next one gets a new token.
#[derive(Clone)]
pub(crate) struct ServiceAccountToken(Arc<TokenSource>);

struct TokenSource {
    accounts: Api<ServiceAccount>,
    name: String,
    /// The request for a token that runs, or that ended last.
    last: Mutex<Option<PendingToken>>,
}

/// A TokenRequest that concurrent requests share.
type PendingToken = Shared<BoxFuture<'static, Result<Token, TokenError>>>;

#[derive(Clone)]
struct Token {
    authorization: HeaderValue,
    renew: Instant,
    expires: Instant,
}

/// Why there is no token.
#[derive(Clone, Debug, thiserror::Error)]
#[error("no token for service account {name:?}: {reason}")]
struct TokenError {
    name: String,
    reason: String,
}

impl ServiceAccountToken {
    /// Requests tokens with `client`, which may create service accounts in the namespace, and tokens for them.
    pub(crate) fn new(client: kube::Client, namespace: &str, name: &str) -> Self {
        Self(Arc::new(TokenSource {
            accounts: Api::namespaced(client, namespace),
            name: name.to_owned(),
            last: Mutex::default(),
        }))
    }

    async fn authorization(&self) -> Result<HeaderValue, TokenError> {
        let request = {
            let mut last = self.0.last.lock();
            let ended = last.as_ref().map(|request| request.peek().cloned());
            match (&*last, ended) {
                // It runs, or its token is good.
                (Some(request), Some(None)) => request.clone(),
                (Some(request), Some(Some(Ok(token)))) if Instant::now() < token.renew => request.clone(),
                (_, ended) => {
                    let before = ended.flatten().and_then(Result::ok);
                    let request = self.0.clone().request(before).boxed().shared();
                    *last = Some(request.clone());
                    request
                }
            }
        };
        request.await.map(|token| token.authorization)
    }

    /// Forgets the token that the API server refused, unless there is another one by now.
    fn forget(&self, refused: &HeaderValue) {
        let mut last = self.0.last.lock();
        let has_it = |token: &Result<Token, TokenError>| {
            token.as_ref().is_ok_and(|token| token.authorization == *refused)
        };
        if last.as_ref().and_then(Shared::peek).is_some_and(has_it) {
            *last = None;
        }
    }
}

impl TokenSource {
    /// Returns a new token, or the one before while that is valid and no new one can be had.
    async fn request(self: Arc<Self>, before: Option<Token>) -> Result<Token, TokenError> {
        let requested = timeout(REQUEST_TIMEOUT, self.create()).await;
        let reason = match requested {
            Ok(Ok(token)) => return Ok(token),
            Ok(Err(reason)) => reason,
            Err(_) => format!("no answer within {REQUEST_TIMEOUT:?}"),
        };
        let now = Instant::now();
        match before.filter(|token| now < token.expires) {
            Some(token) => {
                tracing::warn!(account = self.name, %reason, "the token cannot be renewed, and is used until it expires");
                Ok(Token {
                    renew: now + RENEWAL_RETRY,
                    ..token
                })
            }
            None => Err(TokenError {
                name: self.name.clone(),
                reason,
            }),
        }
    }

    async fn create(&self) -> Result<Token, String> {
        let created = match self.create_token().await {
            Err(kube::Error::Api(error)) if error.is_not_found() => {
                self.create_account().await.map_err(|error| error.to_string())?;
                self.create_token().await
            }
            created => created,
        };
        let request = created.map_err(|error| error.to_string())?;
        let status = request.status.and_then(|status| status.token);
        let token = status.ok_or("the answer has no token")?;
        let mut authorization = HeaderValue::try_from(format!("Bearer {token}"))
            .map_err(|_| "the token is not valid in a header")?;
        authorization.set_sensitive(true);
        // Not the time at which it expires: the API server's clock may be another.
        let seconds = request.spec.and_then(|spec| spec.expiration_seconds);
        let lifetime = seconds.and_then(|seconds| u64::try_from(seconds).ok());
        let (lifetime, now) = (lifetime.map_or(LIFETIME, Duration::from_secs), Instant::now());
        Ok(Token {
            authorization,
            renew: now + lifetime * RENEWAL.0 / RENEWAL.1,
            expires: now + lifetime,
        })
    }

    async fn create_token(&self) -> kube::Result<TokenRequest> {
        let request = TokenRequest {
            spec: Some(TokenRequestSpec {
                expiration_seconds: i64::try_from(LIFETIME.as_secs()).ok(),
                ..TokenRequestSpec::default()
            }),
            ..TokenRequest::default()
        };
        self.accounts
            .create_token_request(&self.name, &PostParams::default(), &request)
            .await
    }

    async fn create_account(&self) -> kube::Result<()> {
        let account = ServiceAccount {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                ..ObjectMeta::default()
            },
            ..ServiceAccount::default()
        };
        match self.accounts.create(&PostParams::default(), &account).await {
            // Another replica created it.
            Err(kube::Error::Api(error)) if error.is_already_exists() => Ok(()),
            created => created.map(drop),
        }
    }
}

impl<S> Layer<S> for ServiceAccountToken {
    type Service = WithToken<S>;

    fn layer(&self, inner: S) -> Self::Service {
        WithToken {
            token: self.clone(),
            inner,
        }
    }
}

/// A service that authenticates requests with the token.
#[derive(Clone)]
pub(crate) struct WithToken<S> {
    token: ServiceAccountToken,
    inner: S,
}

impl<S, B> Service<Request<Body>> for WithToken<S>
where
    S: Service<Request<Body>, Response = Response<B>, Error = BoxError> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<S::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let token = self.token.clone();
        // The clone may not be ready; the service that was polled is.
        let next = self.inner.clone();
        let mut ready = std::mem::replace(&mut self.inner, next);
        Box::pin(async move {
            let authorization = token.authorization().await?;
            request.headers_mut().insert(AUTHORIZATION, authorization.clone());
            let response = ready.call(request).await?;
            if response.status() == StatusCode::UNAUTHORIZED {
                token.forget(&authorization);
            }
            Ok(response)
        })
    }
}

#[cfg(test)]
#[path = "service_account_token_tests.rs"]
mod tests;
