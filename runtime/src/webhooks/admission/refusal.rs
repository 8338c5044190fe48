//! Refusals of reviews, and their statuses, which read like the API server's own.

use kube::core::{
    Status,
    response::{StatusDetails, StatusSummary},
};

use super::{AdmissionError, AdmissionRequest, error::ErrorKind};
use crate::ApiResource;

/// Why a review is not answered with "allowed".
pub(super) enum Refusal {
    /// The write is denied.
    Denied(Box<Status>, Vec<String>),
    /// The webhook failed: the API server applies the failure policy.
    Failed(AdmissionError),
}

/// The review lacks a field that its operation has.
pub(super) fn missing(field: &str, request: &AdmissionRequest) -> Refusal {
    let message = format!("{field} is missing in a review of {}", request.operation);
    Refusal::Denied(Box::new(bad_request(message)), Vec::new())
}

/// The defaults need a larger patch than is allowed.
pub(super) fn too_large(bytes: usize, max: usize, request: &AdmissionRequest, kind: &ApiResource) -> Refusal {
    let message = format!(
        "{} becomes too large: its defaults are a JSON patch of {bytes} bytes, and at most {max} are allowed",
        named(kind, request)
    );
    let status = failure(413, "RequestEntityTooLarge", message, None);
    Refusal::Denied(Box::new(status), Vec::new())
}

/// The refusal that an error is.
pub(super) fn refusal(error: AdmissionError, request: &AdmissionRequest, kind: &ApiResource) -> Refusal {
    match error.0 {
        ErrorKind::Forbidden(message) => {
            Refusal::Denied(Box::new(failure(403, "Forbidden", message, None)), Vec::new())
        }
        ErrorKind::Invalid(validation) => {
            let details = StatusDetails {
                name: name(request),
                group: kind.group.to_string(),
                kind: kind.kind.to_string(),
                uid: String::new(),
                causes: validation.causes().to_vec(),
                retry_after_seconds: 0,
            };
            let message = format!("{} is invalid: {}", named(kind, request), validation.message());
            let status = failure(422, "Invalid", message, Some(details));
            Refusal::Denied(Box::new(status), validation.warnings().to_vec())
        }
        ErrorKind::Failed(_) => Refusal::Failed(error),
    }
}

/// `Foo.demo.dev "x"`.
pub(super) fn named(kind: &ApiResource, request: &AdmissionRequest) -> String {
    let separator = if kind.group.is_empty() { "" } else { "." };
    format!("{}{separator}{} {:?}", kind.kind, kind.group, name(request))
}

/// The name, or the prefix of a generated name.
fn name(request: &AdmissionRequest) -> String {
    if !request.name.is_empty() {
        return request.name.clone();
    }
    let metadata = request.object().map(|object| &object["metadata"]);
    let text = |field: &str| metadata.and_then(|metadata| metadata[field].as_str());
    text("name")
        .or_else(|| text("generateName"))
        .unwrap_or_default()
        .to_owned()
}

/// The status of a review, or of an object, that is malformed.
pub(super) fn bad_request(message: String) -> Status {
    failure(400, "BadRequest", message, None)
}

fn failure(code: u16, reason: &str, message: String, details: Option<StatusDetails>) -> Status {
    Status {
        status: Some(StatusSummary::Failure),
        code,
        message,
        metadata: None,
        reason: reason.to_owned(),
        details,
    }
}
