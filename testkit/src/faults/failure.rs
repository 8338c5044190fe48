//! Error responses.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use kubewright_apiserver::http::{ApiResponse, LayerRequest};
use serde_json::json;

/// An error response, as the API server sends it: a `Status`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    code: u16,
    reason: String,
    message: String,
    retry_after: Option<u64>,
}

impl Failure {
    /// Creates any failure that has no function of its own.
    pub fn new(code: u16, reason: &str, message: &str) -> Self {
        Self {
            code,
            reason: reason.to_owned(),
            message: message.to_owned(),
            retry_after: None,
        }
    }

    /// 409: the object was modified concurrently.
    pub fn conflict() -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::new(
            409,
            "Conflict",
            &format!("Operation cannot be fulfilled on the object: {why}"),
        )
    }

    /// 410: the version is no longer in the history. A watch gets it as an event, like from the server.
    pub fn expired() -> Self {
        Self::new(410, "Expired", "too old resource version")
    }

    /// 429 with a Retry-After of so many seconds.
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

    /// Adds the header Retry-After, in seconds.
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// Whether the failure is sent as an event: a watch from an expired version gets 200, then an ERROR event, then its end.
    fn is_sent_as_event(&self, request: &LayerRequest) -> bool {
        self.code == 410 && request.info.verb == "watch"
    }

    pub(super) fn response(&self, request: &LayerRequest) -> ApiResponse {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code,
        });
        if let Some(seconds) = self.retry_after {
            status["details"] = json!({ "retryAfterSeconds": seconds });
        }
        let (code, text) = if self.is_sent_as_event(request) {
            (200, format!("{}\n", json!({ "type": "ERROR", "object": status })))
        } else {
            (self.code, status.to_string())
        };
        let body = Full::new(Bytes::from(text));
        let mut response = Response::new(body.map_err(|never| match never {}).boxed_unsync());
        *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        response
    }
}
