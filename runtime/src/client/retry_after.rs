//! How long an API server asks to be left alone: in a header, in its `Status`, or in both.

use std::time::Duration;

use http::HeaderValue;
use kube::core::{Status, response::StatusDetails};

/// A `Retry-After` in seconds; API servers send no dates.
pub(crate) fn seconds(header: Option<&HeaderValue>) -> u32 {
    let seconds = header.and_then(|value| value.to_str().ok()?.trim().parse().ok());
    seconds.unwrap_or_default()
}
/// Puts it into the status, where the longer of the two counts.
pub(crate) fn note(status: &mut Status, seconds: u32) {
    if seconds > 0 {
        let details = status.details.get_or_insert_with(|| StatusDetails {
            name: String::new(),
            group: String::new(),
            kind: String::new(),
            uid: String::new(),
            causes: Vec::new(),
            retry_after_seconds: 0,
        });
        details.retry_after_seconds = details.retry_after_seconds.max(seconds);
    }
}

/// What the status says.
pub(super) fn of(status: &Status) -> Option<Duration> {
    let seconds = status.details.as_ref()?.retry_after_seconds;
    (seconds > 0).then(|| Duration::from_secs(seconds.into()))
}
