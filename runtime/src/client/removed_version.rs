//! Applies to objects that clients of a removed version have written.
//!
//! As long as an object's `managedFields` name a version that its definition has no more, kube-apiserver refuses every apply of it with 500, by
//! whichever field manager. Any other write of the object drops `managedFields`. Without such a write an operator that applies the status
//! could not reconcile the object any more.

use bytes::Bytes;
use http::{
    HeaderValue, Method, Request, StatusCode, Uri,
    header::{CONTENT_LENGTH, CONTENT_TYPE},
};
use kube::core::Status;

/// How kube-apiserver's message begins.
const MESSAGE: &str = "request to convert CR to an invalid group/version: ";

/// Whether an apply was refused because `managedFields` name a removed version.
pub(super) fn is_named_by(code: StatusCode, status: &Status) -> bool {
    code == StatusCode::INTERNAL_SERVER_ERROR && status.message.starts_with(MESSAGE)
}

/// Returns the write that drops the `managedFields` of the object of an apply: a merge patch that changes nothing else. It goes to the same
/// subresource, so the permission for the apply suffices. None for a dry run, which must not write.
pub(super) fn reset_of(apply: &Request<Bytes>) -> Option<Request<Bytes>> {
    let is_dry_run = apply.uri().query().unwrap_or_default().contains("dryRun=");
    if is_dry_run || apply.method() != Method::PATCH {
        return None;
    }
    let mut parts = apply.uri().clone().into_parts();
    // Without the query: `force` is for applies alone.
    parts.path_and_query = Some(apply.uri().path().parse().ok()?);
    let mut reset = apply.clone();
    *reset.uri_mut() = Uri::from_parts(parts).ok()?;
    *reset.body_mut() = Bytes::from_static(b"{}");
    let headers = reset.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("application/merge-patch+json"),
    );
    headers.remove(CONTENT_LENGTH);
    Some(reset)
}
