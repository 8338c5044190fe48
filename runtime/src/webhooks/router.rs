//! Which handler answers a request, and within which limits of time and memory.

use std::{collections::BTreeMap, panic::AssertUnwindSafe, sync::Arc};

use bytes::Bytes;
use futures::{FutureExt as _, future::BoxFuture};
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use http_body::Body as _;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Duration, Instant, timeout_at},
};
use tracing::{error, warn};

use super::{
    metrics::{PathMetrics, WebhookMetrics},
    rollout::UnknownCalls,
};
use crate::{conversion, panics};

/// The largest body: two objects of at most 3 MiB, and the rest of a review.
pub(super) const MAX_BODY_BYTES: u32 = 8 << 20;

/// The sum of the bodies that are being read or reviewed. More requests wait.
pub(super) const MAX_BODY_BYTES_IN_FLIGHT: u32 = 64 << 20;

/// What a request counts at least, which limits their number.
const MIN_BODY_BYTES: u32 = 64 << 10;

const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// The timeout of a review without one in its URL: the API server's default.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest timeout of a webhook.
const MAX_TIMEOUT: Duration = Duration::from_secs(30);

/// The seconds after which the API server repeats a call that another release may know.
const RETRY_SECONDS: HeaderValue = HeaderValue::from_static("1");

/// Closes the connection after the response.
const CLOSE: HeaderValue = HeaderValue::from_static("close");

/// Answers the reviews of one path.
pub(crate) trait WebhookHandler: Send + Sync {
    /// The timeout of a review without one in its URL.
    fn timeout(&self) -> Duration {
        DEFAULT_TIMEOUT
    }

    /// Whether the API server refuses a write that is not reviewed.
    fn fails_closed(&self) -> bool {
        false
    }

    /// Answers a review, by the deadline.
    fn review(&self, body: Bytes, deadline: Instant) -> BoxFuture<'_, Result<Vec<u8>, WebhookFailure>>;
}

/// Why a review has no answer, for the API server.
#[derive(Debug, PartialEq)]
pub(crate) enum WebhookFailure {
    /// The API server applies the failure policy.
    Failed(String),
    /// This release does not know a version of the review, and another one may.
    UnknownVersion(String),
}

impl From<String> for WebhookFailure {
    fn from(message: String) -> Self {
        Self::Failed(message)
    }
}

/// The handlers by path.
#[derive(Default)]
pub(crate) struct Routes(BTreeMap<String, Route>);

struct Route {
    handler: Arc<dyn WebhookHandler>,
    metrics: PathMetrics,
}

impl Routes {
    /// Adds a handler, in place of another one of the same path.
    pub(crate) fn add(&mut self, path: String, handler: Arc<dyn WebhookHandler>, metrics: &WebhookMetrics) {
        let metrics = metrics.of_path(&path);
        self.0.insert(path, Route { handler, metrics });
    }

    fn paths(&self) -> String {
        self.0.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
    }

    /// Whether to repeat a call of this unknown path, which another release may serve: that of conversions, and that of the same webhook in
    /// another version. Without review, writes are accepted at once where the failure policy says so.
    fn may_be_of_another_release(&self, path: &str) -> bool {
        let webhook = without_version(path);
        let mut known = self.0.iter();
        let is_same = |known: &str| webhook.is_some() && without_version(known) == webhook;
        path == conversion::PATH || known.any(|(known, route)| route.handler.fails_closed() && is_same(known))
    }
}

/// Returns what a webhook's path has before and after the version, as in `/validate-GROUP-VERSION-KIND`.
fn without_version(path: &str) -> Option<(&str, &str)> {
    let (rest, kind) = path.rsplit_once('-')?;
    let (start, _) = rest.rsplit_once('-')?;
    Some((start, kind))
}

/// Answers requests by path. Bodies that are being read or reviewed have at most [`MAX_BODY_BYTES_IN_FLIGHT`] bytes.
pub(super) struct Router {
    routes: Routes,
    body_bytes: Arc<Semaphore>,
    unknown: UnknownCalls,
}

impl Router {
    pub(super) fn new(routes: Routes) -> Self {
        Self {
            routes,
            body_bytes: Arc::new(Semaphore::new(MAX_BODY_BYTES_IN_FLIGHT as usize)),
            unknown: UnknownCalls::default(),
        }
    }

    pub(super) async fn respond(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let started = Instant::now();
        let path = request.uri().path();
        let Some(route) = self.routes.0.get(path) else {
            let text = format!(
                "no webhook has the path {path:?}: the paths are {}",
                self.routes.paths()
            );
            let mut response = if self.routes.may_be_of_another_release(path) {
                self.unknown_version(path, text)
            } else {
                text_response(StatusCode::NOT_FOUND, text)
            };
            // The next call may reach a replica that knows it.
            response.headers_mut().insert(header::CONNECTION, CLOSE);
            return response;
        };
        let in_flight = InFlight::new(&route.metrics);
        let answered = self.review(route, request, started).await;
        drop(in_flight);
        let response = match answered {
            Ok(body) => {
                let mut response = Response::new(Full::from(body));
                let json = HeaderValue::from_static("application/json");
                response.headers_mut().insert(header::CONTENT_TYPE, json);
                response
            }
            Err(UnansweredReview::Http(status, message)) => text_response(status, message),
            Err(UnansweredReview::UnknownVersion(message)) => {
                self.unknown_version(route.metrics.path(), message)
            }
        };
        route
            .metrics
            .answered(response.status().as_u16(), started.elapsed());
        response
    }

    async fn review(
        &self,
        route: &Route,
        request: Request<Incoming>,
        started: Instant,
    ) -> Result<Vec<u8>, UnansweredReview> {
        if request.method() != Method::POST {
            return Err(UnansweredReview::Http(
                StatusCode::METHOD_NOT_ALLOWED,
                "only POST is allowed".to_owned(),
            ));
        }
        let allowed = requested_timeout(request.uri()).unwrap_or_else(|| route.handler.timeout());
        // Earlier than the API server gives up, so that it gets the reason.
        let deadline = started + allowed - allowed / 10;
        let (_permit, body) = self.read_body(request.into_body(), deadline).await?;
        let review = AssertUnwindSafe(async { route.handler.review(body, deadline).await }).catch_unwind();
        let path = route.metrics.path();
        match timeout_at(deadline, review).await {
            Ok(Ok(Ok(body))) => Ok(body),
            Ok(Ok(Err(WebhookFailure::UnknownVersion(message)))) => {
                Err(UnansweredReview::UnknownVersion(message))
            }
            Ok(Ok(Err(WebhookFailure::Failed(message)))) => {
                error!(webhook = path, message, "webhook failed");
                Err(UnansweredReview::Http(StatusCode::INTERNAL_SERVER_ERROR, message))
            }
            Ok(Err(panic)) => {
                let message = format!("the webhook panicked: {}", panics::message(&*panic));
                error!(webhook = path, message, "webhook failed");
                Err(UnansweredReview::Http(StatusCode::INTERNAL_SERVER_ERROR, message))
            }
            Err(_) => {
                let message = format!("the webhook did not answer within its timeout of {allowed:?}");
                error!(webhook = path, message, "webhook failed");
                Err(UnansweredReview::Http(StatusCode::GATEWAY_TIMEOUT, message))
            }
        }
    }

    /// Has the API server call another replica, while a rollout may be the reason.
    fn unknown_version(&self, path: &str, message: String) -> Response<Full<Bytes>> {
        let is_rollout = self.unknown.may_be_rollout();
        warn!(
            webhook = path,
            message, is_rollout, "this release does not serve what the API server asks for"
        );
        // API servers pass on the message of this status, not that of 503.
        let mut response = text_response(StatusCode::INTERNAL_SERVER_ERROR, message);
        if is_rollout {
            let headers = response.headers_mut();
            headers.insert(header::RETRY_AFTER, RETRY_SECONDS);
            headers.insert(header::CONNECTION, CLOSE);
        }
        response
    }

    async fn read_body(
        &self,
        body: Incoming,
        deadline: Instant,
    ) -> Result<(OwnedSemaphorePermit, Bytes), UnansweredReview> {
        let too_large = || {
            UnansweredReview::Http(
                StatusCode::PAYLOAD_TOO_LARGE,
                format!("the body is larger than {MAX_BODY_BYTES} bytes"),
            )
        };
        // A body of unknown length counts as the largest.
        let announced = body.size_hint().exact().unwrap_or(u64::from(MAX_BODY_BYTES));
        let announced = u32::try_from(announced).unwrap_or(u32::MAX);
        if announced > MAX_BODY_BYTES {
            return Err(too_large());
        }
        let permit = self
            .body_bytes
            .clone()
            .acquire_many_owned(announced.max(MIN_BODY_BYTES));
        let Ok(Ok(permit)) = timeout_at(deadline, permit).await else {
            let message = "too many reviews at once".to_owned();
            return Err(UnansweredReview::Http(StatusCode::SERVICE_UNAVAILABLE, message));
        };
        let read = Limited::new(body, MAX_BODY_BYTES as usize).collect();
        match timeout_at(deadline.min(Instant::now() + BODY_TIMEOUT), read).await {
            Ok(Ok(body)) => Ok((permit, body.to_bytes())),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
            Ok(Err(error)) => Err(UnansweredReview::Http(
                StatusCode::BAD_REQUEST,
                format!("reading the body failed: {error}"),
            )),
            Err(_) => Err(UnansweredReview::Http(
                StatusCode::REQUEST_TIMEOUT,
                "the body took too long".to_owned(),
            )),
        }
    }
}

/// Why a request has no review as its answer.
enum UnansweredReview {
    Http(StatusCode, String),
    UnknownVersion(String),
}

/// A request that is being served, until it is dropped.
struct InFlight<'a>(&'a PathMetrics);

impl<'a> InFlight<'a> {
    fn new(metrics: &'a PathMetrics) -> Self {
        metrics.in_flight.inc();
        Self(metrics)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.dec();
    }
}

/// Returns the timeout that the API server has put into the query, as in `?timeout=10s`.
fn requested_timeout(uri: &Uri) -> Option<Duration> {
    let mut parameters = uri.query().unwrap_or_default().split('&');
    let timeout = parameters.find_map(|parameter| parameter.strip_prefix("timeout="));
    timeout
        .and_then(|text| text.parse::<jiff::SignedDuration>().ok())
        .and_then(|duration| Duration::try_from(duration).ok())
        .filter(|duration| !duration.is_zero())
        .map(|duration| duration.min(MAX_TIMEOUT))
}

fn text_response(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text + "\n"));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeout_of_the_url_is_that_of_the_review() {
        for (query, seconds) in [
            ("", None),
            ("?timeout=3s", Some(3)),
            ("?a=b&timeout=30s", Some(30)),
            ("?timeout=1m", Some(30)),
            ("?timeout=0s", None),
            ("?timeout=-1s", None),
            ("?timeout=soon", None),
        ] {
            let uri: Uri = format!("/validate{query}").parse().unwrap();
            let expected = seconds.map(Duration::from_secs);
            assert_eq!(requested_timeout(&uri), expected, "{query}");
        }
    }
}
