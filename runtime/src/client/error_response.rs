//! Error responses of the API server, decoded as `Status`.

use http::{HeaderMap, StatusCode, header::RETRY_AFTER};
use kube::core::Status;

use super::retry::retry_after;

/// How much of a body that is not a `Status` is quoted.
const MAX_EXCERPT_CHARS: usize = 200;

/// Decodes an error response. The status has the longer `Retry-After` of header and body.
///
/// A body that is not a `Status`, as proxies send, becomes the message of one with the HTTP code.
pub(crate) fn decode_error_response(code: StatusCode, headers: &HeaderMap, body: &[u8]) -> Status {
    let is_empty =
        |status: &Status| status.code == 0 && status.reason.is_empty() && status.message.is_empty();
    let mut status = match serde_json::from_slice::<Status>(body) {
        Ok(status) if !is_empty(&status) => status,
        _ => {
            let text = String::from_utf8_lossy(body);
            let excerpt: String = text.trim().chars().take(MAX_EXCERPT_CHARS).collect();
            Status::failure(
                &format!("the response body is not a Kubernetes Status: {excerpt:?}"),
                "",
            )
        }
    };
    if status.code == 0 {
        status.code = code.as_u16();
    }
    retry_after::set_retry_after(&mut status, retry_after::parse_seconds(headers.get(RETRY_AFTER)));
    status
}

#[cfg(test)]
#[path = "error_response_tests.rs"]
mod tests;
