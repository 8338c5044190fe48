//! Where the cache's objects come from: a list and a watch.

use std::time::Duration;

use bytes::Bytes;
use futures::{future::BoxFuture, stream::BoxStream};
use kube::core::{Status, response::reason};

/// No server is left alone for longer because it asked for it.
const MAX_RETRY_AFTER: Duration = Duration::from_mins(5);

/// A response's body as it arrives: bytes of JSON, cut anywhere. Its end is the end of the page, or of the watch; an error is a body that broke
/// off, of which what came before counts in a watch, and nothing in a list. It is dropped where nobody wants the rest.
pub type ByteStream = BoxStream<'static, Result<Bytes, ListWatchError>>;

/// Lists and watches the objects of one kind, in one namespace or in all.
///
/// The API server is one; tests script others. A source may lie: what it sends is checked, and what cannot be used costs a new list. But what
/// a list leaves out is taken to be deleted, and what a watch leaves out is not noticed.
///
/// Futures and bodies may be dropped at any time. One call at a time is made for each reflector, but for
/// [`SharedInformerFactory::wait_until_current`](super::SharedInformerFactory::wait_until_current), which asks in between. Who never
/// answers is given up after three minutes.
pub trait ListerWatcher: Send + Sync + 'static {
    /// One page of the list, as JSON: a Kubernetes list.
    fn list(&self, options: ListOptions) -> BoxFuture<'_, Result<ByteStream, ListWatchError>>;

    /// The changes after a resource version, as JSON: one event of a Kubernetes watch a line.
    fn watch(&self, options: WatchOptions) -> BoxFuture<'_, Result<ByteStream, ListWatchError>>;
}

/// What a list asks for. A source that cannot serve the version answers with an error: 410 where it is too old, 504 with the cause
/// `ResourceVersionTooLarge` where it is too new; then the newest is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListOptions {
    /// Not older than this version; `0`: whatever the server has at hand; empty: the newest.
    pub resource_version: String,
    /// At most so many objects in the page.
    pub limit: Option<u32>,
    /// The next page of an earlier list.
    pub continue_token: Option<String>,
    /// The list of exactly this version, from the server's storage; an error when it is no longer there.
    pub exact: bool,
}

/// What a watch asks for. A source that no longer knows the changes after the version answers 410, at once or as an event; a list follows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WatchOptions {
    /// The changes after this version; empty or `0`: all objects first, as additions in no order.
    pub resource_version: String,
    /// After so many seconds the server ends the watch.
    pub timeout_seconds: u32,
    /// A streaming list: all objects first, not older than `resource_version` (empty: the newest), as additions; then a bookmark with the
    /// annotation `k8s.io/initial-events-end: "true"`; then the changes. A source that cannot do this answers with an error of code 422.
    pub send_initial_events: bool,
}

/// Why a list or a watch failed. All are tried again, for ever: an error says what to mend, not that the informer has ended. None quotes an
/// object, but for its name.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ListWatchError {
    /// The server refused, or ended the watch with an error.
    #[error("{}", describe(.0))]
    Status(Box<Status>),
    /// Nobody answered.
    #[error("the API server cannot be reached: {message}")]
    Unreachable {
        /// What the transport said.
        message: String,
        /// Whether the connection was refused: the server is restarting, and the version may well be good yet.
        refused: bool,
    },
    /// The response broke off, or nothing came for too long.
    #[error("the response broke off: {0}")]
    Broken(String),
    /// What was read is no list, no event, or an object of which not even the name can be read.
    #[error("unusable data from the API server: {0}")]
    Malformed(String),
    /// An object that cannot be used: the name and the namespace that stand in it, as far as they can be read.
    #[error("unusable data from the API server: {object}: {problem}")]
    BadObject {
        /// `namespace/name`.
        object: String,
        /// What is wrong; nothing of the object is quoted.
        problem: String,
    },
    /// A watch that ended at once, without an event.
    #[error("the watch ended at once, without an event")]
    VeryShortWatch,
}

impl ListWatchError {
    /// The version that was asked for is no longer served.
    pub(super) fn is_expired(&self) -> bool {
        matches!(self, Self::Status(status) if status.code == 410 || [reason::EXPIRED, reason::GONE].contains(&&*status.reason))
    }

    /// The version that was asked for is newer than what the server knows.
    pub(super) fn is_too_large_version(&self) -> bool {
        const MESSAGE: &str = "Too large resource version";
        let Self::Status(status) = self else { return false };
        let mut causes = status.details.iter().flat_map(|details| &details.causes);
        // Servers before 1.18.6 know no such cause, those before 1.17 no causes at all.
        causes.any(|cause| cause.reason == "ResourceVersionTooLarge" || cause.message == MESSAGE)
            || (status.reason == reason::TIMEOUT && status.message.contains(MESSAGE))
    }

    /// The server wants to be left alone for a moment; nothing was missed.
    pub(super) fn asks_to_wait(&self) -> bool {
        match self {
            Self::Status(status) => status.code == 429 || status.reason == reason::TOO_MANY_REQUESTS,
            Self::Unreachable { refused, .. } => *refused,
            _ => false,
        }
    }

    /// How long the server asks to be left alone.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        let Self::Status(status) = self else { return None };
        let seconds = status.details.as_ref()?.retry_after_seconds;
        (seconds > 0).then(|| Duration::from_secs(seconds.into()).min(MAX_RETRY_AFTER))
    }

    /// The server's storage is in trouble.
    pub(super) fn is_internal(&self) -> bool {
        matches!(self, Self::Status(status) if status.reason == reason::INTERNAL_ERROR)
    }

    /// The server does not know, or does not want, a parameter.
    pub(super) fn is_invalid(&self) -> bool {
        matches!(self, Self::Status(status) if [400, 422].contains(&status.code)
            || [reason::INVALID, reason::BAD_REQUEST].contains(&&*status.reason))
    }

    /// The server does not know the kind.
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
