//! List and watch: the options of reflectors, their backoff and delta queue, and the trait for sources other than the API server.
//!
//! An operator needs this module only to tune how its informers list and watch, or to feed informers from a source of its own
//! ([`SharedInformerFactory::from_sources`](super::SharedInformerFactory::from_sources)).

use std::time::Duration;

use bytes::Bytes;
use futures::{future::BoxFuture, stream::BoxStream};
use kube::core::{Status, response::reason};

pub use super::{
    backoff::{Backoff, ExponentialBackoff},
    fifo::QueueKind,
    reflector::ReflectorOptions,
};

/// The longest `Retry-After` that is honored.
const MAX_RETRY_AFTER: Duration = Duration::from_mins(5);

/// A response's body as it arrives: bytes of JSON in chunks of any size. Its end is the end of the page or of the watch. An error means that
/// the body broke off: the events before it count in a watch, nothing counts in a list. It is dropped when the rest is not needed.
pub type ByteStream = BoxStream<'static, Result<Bytes, ListWatchError>>;

/// Lists and watches the objects of one kind, in one namespace or in all.
///
/// Implemented for the API server; tests script others. Responses are checked, and unusable data causes a relist. But an object that a list
/// lacks counts as deleted, and a missing event of a watch is not noticed.
///
/// Futures and bodies may be dropped at any time. Each reflector makes one call at a time, and
/// [`SharedInformerFactory::wait_until_current`](super::SharedInformerFactory::wait_until_current) one more. Calls time out after three
/// minutes.
pub trait ListerWatcher: Send + Sync + 'static {
    /// One page of the list, as JSON: a Kubernetes list.
    fn list(&self, options: ListOptions) -> BoxFuture<'_, Result<ByteStream, ListWatchError>>;

    /// The changes after a resource version, as JSON: one event of a Kubernetes watch per line.
    fn watch(&self, options: WatchOptions) -> BoxFuture<'_, Result<ByteStream, ListWatchError>>;
}

/// The parameters of a list. A source that cannot serve the version answers 410 if it is too old, or 504 with the cause
/// `ResourceVersionTooLarge` if it is too new; then the newest version is requested.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListOptions {
    /// Not older than this version; `0`: any version; empty: the newest.
    pub resource_version: String,
    /// The maximum number of objects in the page.
    pub limit: Option<u32>,
    /// The token for the next page of an earlier list.
    pub continue_token: Option<String>,
    /// Lists exactly this version, from the server's storage; an error if it was compacted.
    pub exact: bool,
}

/// The parameters of a watch. A source that no longer has the changes after the version answers 410, at once or as an event; a relist
/// follows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WatchOptions {
    /// The version to start after; empty or `0`: all objects first, as additions in no order.
    pub resource_version: String,
    /// When the server ends the watch, in seconds.
    pub timeout_seconds: u32,
    /// A streaming list: all objects first, as additions, not older than `resource_version` (empty: the newest); then a bookmark with the
    /// annotation `k8s.io/initial-events-end: "true"`; then the changes. A source without support answers 422.
    pub send_initial_events: bool,
}

/// Why a list or a watch failed. Every failure is retried, for ever. No error quotes an object, except for its name.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ListWatchError {
    /// The server answered with an error, or ended the watch with one.
    #[error("{}", describe(.0))]
    Status(Box<Status>),
    /// No answer was received.
    #[error("the API server cannot be reached: {message}")]
    Unreachable {
        /// The error of the transport.
        message: String,
        /// Whether the connection was refused: the server may be restarting, and the resource version still be valid.
        refused: bool,
    },
    /// The response broke off, or was silent for too long.
    #[error("the response broke off: {0}")]
    Broken(String),
    /// The response is neither a list nor an event, or has an object without a readable name.
    #[error("unusable data from the API server: {0}")]
    Malformed(String),
    /// An object that cannot be used.
    #[error("unusable data from the API server: {object}: {problem}")]
    BadObject {
        /// `namespace/name`, as far as they can be read.
        object: String,
        /// The problem; it does not quote the object.
        problem: String,
    },
    /// The watch ended at once, without an event.
    #[error("the watch ended at once, without an event")]
    VeryShortWatch,
}

impl ListWatchError {
    /// Whether the requested version has expired (410 Gone).
    pub(super) fn is_expired(&self) -> bool {
        matches!(self, Self::Status(status) if status.code == 410 || [reason::EXPIRED, reason::GONE].contains(&&*status.reason))
    }

    /// Whether the requested version is newer than the server's.
    pub(super) fn is_too_large_version(&self) -> bool {
        const MESSAGE: &str = "Too large resource version";
        let Self::Status(status) = self else { return false };
        let mut causes = status.details.iter().flat_map(|details| &details.causes);
        // Servers before 1.18.6 do not send this cause, those before 1.17 no causes at all.
        causes.any(|cause| cause.reason == "ResourceVersionTooLarge" || cause.message == MESSAGE)
            || (status.reason == reason::TIMEOUT && status.message.contains(MESSAGE))
    }

    /// Whether to retry the same request after a while: the server is overloaded or restarting. No event was missed.
    pub(super) fn is_retryable(&self) -> bool {
        match self {
            Self::Status(status) => status.code == 429 || status.reason == reason::TOO_MANY_REQUESTS,
            Self::Unreachable { refused, .. } => *refused,
            _ => false,
        }
    }

    /// The `Retry-After` of the server.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        let Self::Status(status) = self else { return None };
        let seconds = status.details.as_ref()?.retry_after_seconds;
        (seconds > 0).then(|| Duration::from_secs(seconds.into()).min(MAX_RETRY_AFTER))
    }

    /// Whether the server reports an internal error.
    pub(super) fn is_internal(&self) -> bool {
        matches!(self, Self::Status(status) if status.reason == reason::INTERNAL_ERROR)
    }

    /// Whether the server rejects a parameter.
    pub(super) fn is_invalid(&self) -> bool {
        matches!(self, Self::Status(status) if [400, 422].contains(&status.code)
            || [reason::INVALID, reason::BAD_REQUEST].contains(&&*status.reason))
    }

    /// Whether the server does not serve the kind.
    pub(super) fn is_not_found(&self) -> bool {
        matches!(self, Self::Status(status) if status.code == 404)
    }

    pub(super) fn is_forbidden(&self) -> bool {
        matches!(self, Self::Status(status) if status.code == 403)
    }
}

fn describe(status: &Status) -> String {
    let Status {
        code,
        reason,
        message,
        ..
    } = status;
    format!("the API server answers {code} {reason}: {message}")
}
