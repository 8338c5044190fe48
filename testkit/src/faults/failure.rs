//! Answers that are no success.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use kubewright_apiserver::http::{ApiResponse, LayerRequest};
use serde_json::json;

/// A refusal, as the API server words it: a `Status`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    code: u16,
    reason: String,
    message: String,
    retry_after: Option<u64>,
}

impl Failure {
    /// Any other than those below.
    pub fn new(code: u16, reason: &str, message: &str) -> Self {
        Self {
            code,
            reason: reason.to_owned(),
            message: message.to_owned(),
            retry_after: None,
        }
    }

    /// 409: somebody else was faster.
    pub fn conflict() -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::new(
            409,
            "Conflict",
            &format!("Operation cannot be fulfilled on the object: {why}"),
        )
    }

    /// 410: the version is no longer in the history. A watch is told so by an event, as the server does it.
    pub fn expired() -> Self {
        Self::new(410, "Expired", "too old resource version")
    }

    /// 429, to be tried again after so many seconds.
    pub fn too_many_requests(seconds: u64) -> Self {
        let why = "too many requests, please try again later";
        Self::new(429, "TooManyRequests", why).retry_after(seconds)
    }

    /// 500.
    pub fn internal() -> Self {
        Self::new(500, "InternalError", "Internal error occurred: on purpose")
    }

    /// 503.
    pub fn unavailable() -> Self {
        Self::new(
            503,
            "ServiceUnavailable",
            "the server is currently unable to handle the request",
        )
    }

    /// With the header Retry-After, in seconds.
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// Whether the server says it of this request by an event: a watch from a version that it no longer has begins well, and ends at once.
    fn is_event(&self, asked: &LayerRequest) -> bool {
        self.code == 410 && asked.info.verb == "watch"
    }

    pub(super) fn answer(&self, asked: &LayerRequest) -> ApiResponse {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code,
        });
        if let Some(seconds) = self.retry_after {
            status["details"] = json!({ "retryAfterSeconds": seconds });
        }
        let (code, text) = if self.is_event(asked) {
            (200, format!("{}\n", json!({ "type": "ERROR", "object": status })))
        } else {
            (self.code, status.to_string())
        };
        let body = Full::new(Bytes::from(text));
        let mut answer = Response::new(body.map_err(|never| match never {}).boxed_unsync());
        *answer.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = answer.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        answer
    }
}
