//! Who may get the metrics: the API server authenticates the bearer token of a request (TokenReview), and authorizes its user for the
//! request's path (SubjectAccessReview), as controller-runtime's `filters.WithAuthenticationAndAuthorization` does.

use http::{HeaderMap, Method, StatusCode, header};
use k8s_openapi::api::{
    authentication::v1::{TokenReview, TokenReviewSpec, UserInfo},
    authorization::v1::{NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec},
};
use kube::{Api, api::PostParams};
use parking_lot::Mutex;
use tokio::{
    sync::Semaphore,
    time::{Duration, Instant, timeout},
};
use tracing::{debug, warn};

use super::{error::with_sources, server::TextResponse};
use crate::{ApiResource, Kind, controller::Permission, lru::LruMap};

/// How long an allowed request is allowed again without asking the API server: a revoked token or permission works for so long.
const ALLOWED_TTL: Duration = Duration::from_mins(1);

/// How long a refused request is refused again without asking: a new permission takes effect after so long.
const REFUSED_TTL: Duration = Duration::from_secs(10);

/// How many decisions are remembered. One is 32 bytes, and a user name where it was refused.
const MAX_DECISIONS: usize = 1024;

/// How many requests may wait for the API server at the same time, so that unknown tokens do not flood it.
const MAX_CONCURRENT_REVIEWS: usize = 8;

/// How long both reviews of a request may take.
const REVIEW_TIMEOUT: Duration = Duration::from_secs(10);

/// Longer tokens are refused without a review. Tokens of service accounts have about 1 KB.
const MAX_TOKEN_BYTES: usize = 16 << 10;

/// The reason of the permissions, by which the command `kubewright` finds them.
const WHY: &str = "metrics authentication";

/// The API server's decision about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Decision {
    Allowed,
    Unauthenticated,
    /// The user may not get the path.
    Forbidden(String),
}

/// A digest of token, verb and path: no token is kept in memory.
type RequestDigest = [u8; 32];

/// Decides who may get the metrics. Decisions are remembered; errors are not.
pub(super) struct MetricsAccess {
    client: kube::Client,
    decisions: Mutex<LruMap<RequestDigest, (Instant, Decision)>>,
    reviews: Semaphore,
}

impl MetricsAccess {
    /// Asks the API server of `client`, with its permissions.
    pub(super) fn new(client: kube::Client) -> Self {
        Self {
            client,
            decisions: Mutex::new(LruMap::new(MAX_DECISIONS)),
            reviews: Semaphore::new(MAX_CONCURRENT_REVIEWS),
        }
    }

    /// Returns the refusal if the request is not allowed: 401 without a valid token, 403 without the permission, 500 if the API server did
    /// not answer.
    pub(super) async fn check(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
    ) -> Result<(), TextResponse> {
        let verb = method.as_str().to_ascii_lowercase();
        let decision = match bearer_token(headers) {
            None => Decision::Unauthenticated,
            Some(token) => self.decide(token, &verb, path).await?,
        };
        match decision {
            Decision::Allowed => Ok(()),
            Decision::Unauthenticated => Err(TextResponse::text(
                StatusCode::UNAUTHORIZED,
                "unauthorized: send the bearer token of a service account\n",
            )),
            Decision::Forbidden(user) => Err(TextResponse::text(
                StatusCode::FORBIDDEN,
                format!("forbidden: user {user:?} cannot {verb} path {path:?}\n"),
            )),
        }
    }

    async fn decide(&self, token: &str, verb: &str, path: &str) -> Result<Decision, TextResponse> {
        let digest = digest(token, verb, path);
        if let Some(known) = self.remembered(&digest) {
            return Ok(known);
        }
        let reviewed = timeout(REVIEW_TIMEOUT, async {
            // The semaphore is never closed.
            let _permit = self.reviews.acquire().await;
            match self.remembered(&digest) {
                Some(known) => Ok(known),
                None => self.review(token, verb, path).await,
            }
        });
        let reason = match reviewed.await {
            Ok(Ok(decision)) => {
                let entry = (Instant::now(), decision.clone());
                self.decisions.lock().insert(digest, entry);
                return Ok(decision);
            }
            Ok(Err(error)) => with_sources(&error),
            Err(_) => "the API server did not answer in time".to_owned(),
        };
        warn!(
            reason,
            "authenticating a request to the metrics failed: bind the ClusterRole of manifests/rbac/metrics.yaml, or serve plain metrics with \
             --metrics-secure=false"
        );
        Err(TextResponse::text(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the API server did not answer: see the operator's log\n",
        ))
    }

    fn remembered(&self, digest: &RequestDigest) -> Option<Decision> {
        let mut decisions = self.decisions.lock();
        let (since, decision) = decisions.get(digest)?;
        let ttl = match decision {
            Decision::Allowed => ALLOWED_TTL,
            Decision::Unauthenticated | Decision::Forbidden(_) => REFUSED_TTL,
        };
        (since.elapsed() < ttl).then(|| decision.clone())
    }

    async fn review(&self, token: &str, verb: &str, path: &str) -> Result<Decision, kube::Error> {
        let parameters = PostParams::default();
        let spec = TokenReviewSpec {
            token: token.to_owned(),
            ..TokenReviewSpec::default()
        };
        let review = TokenReview {
            spec,
            ..TokenReview::default()
        };
        let tokens = Api::<TokenReview>::all(self.client.clone());
        let reviewed = tokens.create(&parameters, &review).await?;
        let status = reviewed.status.unwrap_or_default();
        let (Some(user), Some(true)) = (status.user, status.authenticated) else {
            // kube-apiserver describes an invalid token as an error.
            debug!(
                reason = status.error,
                "the token of a request to the metrics is invalid"
            );
            return Ok(Decision::Unauthenticated);
        };
        let UserInfo {
            username,
            uid,
            groups,
            extra,
        } = user;
        let spec = SubjectAccessReviewSpec {
            user: username.clone(),
            uid,
            groups,
            extra,
            non_resource_attributes: Some(NonResourceAttributes {
                path: Some(path.to_owned()),
                verb: Some(verb.to_owned()),
            }),
            ..SubjectAccessReviewSpec::default()
        };
        let review = SubjectAccessReview {
            spec,
            ..SubjectAccessReview::default()
        };
        let accesses = Api::<SubjectAccessReview>::all(self.client.clone());
        let status = accesses.create(&parameters, &review).await?.status;
        if status.is_some_and(|status| status.allowed && status.denied != Some(true)) {
            return Ok(Decision::Allowed);
        }
        Ok(Decision::Forbidden(username.unwrap_or_default()))
    }
}

/// Returns the permissions that the reviews need. Every operator has them, so that its role does not depend on flags; the command
/// `kubewright` leaves them out of the roles of a project that serves plain metrics.
pub(super) fn permissions() -> [Permission; 2] {
    let create = |kind: &ApiResource, unit: &str| Permission::on(kind, None, &["create"], unit, WHY);
    [
        create(&TokenReview::info(), "metrics TokenReview"),
        create(&SubjectAccessReview::info(), "metrics SubjectAccessReview"),
    ]
}

/// Whether [`permissions`] has this permission.
pub(super) fn is_for_metrics(permission: &Permission) -> bool {
    permission.why == WHY
}

fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = text.trim().split_once(' ')?;
    let token = token.trim();
    let is_usable = !token.is_empty() && token.len() <= MAX_TOKEN_BYTES;
    (scheme.eq_ignore_ascii_case("bearer") && is_usable).then_some(token)
}

fn digest(token: &str, verb: &str, path: &str) -> RequestDigest {
    let mut context = ring::digest::Context::new(&ring::digest::SHA256);
    // None of the texts can contain the separator.
    for text in [token, "\n", verb, "\n", path] {
        context.update(text.as_bytes());
    }
    let mut digest = RequestDigest::default();
    digest.copy_from_slice(context.finish().as_ref());
    digest
}

#[cfg(test)]
#[path = "metrics_access_tests.rs"]
mod tests;
