//! `Retry-After`: how long an API server asks to wait, in a header, in its `Status`, or in both.

use std::time::Duration;

use http::HeaderValue;
use kube::core::{Status, response::StatusDetails};

/// Parses a `Retry-After` header in seconds; 0 if there is none. API servers send no dates.
pub(in crate::client) fn parse_seconds(header: Option<&HeaderValue>) -> u32 {
    let seconds = header.and_then(|value| value.to_str().ok()?.trim().parse().ok());
    seconds.unwrap_or_default()
}

/// Puts the header's seconds into the status; the longer of both counts.
pub(in crate::client) fn set_retry_after(status: &mut Status, seconds: u32) {
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

/// Returns how long the status asks to wait.
pub(in crate::client) fn retry_after(status: &Status) -> Option<Duration> {
    let seconds = status.details.as_ref()?.retry_after_seconds;
    (seconds > 0).then(|| Duration::from_secs(seconds.into()))
}
