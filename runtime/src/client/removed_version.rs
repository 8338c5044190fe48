//! Applies to objects that clients of a removed version have written.
//!
//! As long as an object's `managedFields` name a version that its definition has no more, kube-apiserver refuses every apply of it with 500, by
//! whichever field manager. Any other write of the object drops `managedFields`. Without such a write an operator that applies the status
//! could not reconcile the object any more.

use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, header::CONTENT_TYPE};
use kube::core::Status;

/// How kube-apiserver's message begins.
const MESSAGE: &str = "request to convert CR to an invalid group/version: ";

/// Whether an apply was refused because `managedFields` name a removed version.
pub(super) fn is_named_by(code: StatusCode, status: &Status) -> bool {
    code == StatusCode::INTERNAL_SERVER_ERROR && status.message.starts_with(MESSAGE)
}

/// Returns the write that drops the `managedFields` of the object of an apply: a merge patch that changes nothing else. It goes to the same
/// subresource, so the permission for the apply suffices.
pub(super) fn reset_of(apply: &Request<Bytes>) -> Option<Request<Bytes>> {
    let mut reset = apply.clone();
    // Without the query: `force` is for applies alone.
    *reset.uri_mut() = apply.uri().path().parse().ok()?;
    *reset.body_mut() = Bytes::from_static(b"{}");
    let content_type = HeaderValue::from_static("application/merge-patch+json");
    reset.headers_mut().insert(CONTENT_TYPE, content_type);
    Some(reset)
}
