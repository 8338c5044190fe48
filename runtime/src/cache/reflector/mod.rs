//! The reflector: lists and watches the objects of one kind, and applies their changes to a [`ReflectorStore`].
//!
//! Read [`store`] (the target), then [`streaming`] (a list that arrives as a watch, which then continues) and [`list`] (lists in
//! pages, for servers without streaming lists); both collect the objects in [`temporary_store`]. Then [`watch`]. The check in
//! [`consistency`] is off by default.
//!
//! The rules are client-go's, and so are the requested resource versions:
//! - the first list: `0`, any version; a relist: not older than the last version that was seen;
//! - a streaming list: not older than that too, or the newest if no version was seen yet;
//! - the newest, without a wait, when the server no longer has that version or does not have it yet;
//! - a watch continues from the last version; after 410 Gone the reflector relists at that version.

mod consistency;
mod list;
mod options;
mod store;
mod streaming;
mod temporary_store;
mod watch;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures::StreamExt as _;
use tokio::time::{Instant, sleep, timeout};

pub(super) use self::options::ErrorHandler;
pub use self::options::ReflectorOptions;
pub(super) use self::store::ReflectorStore;
use self::temporary_store::TemporaryStore;
use super::{
    ByteStream, ListWatchError, ListerWatcher,
    backoff::Backoff,
    failure_log::{FailureLog, VersionFault},
    fifo::{Delta, Namespace},
    index::Index,
    object::StoredObject,
    resource_version,
    scan::{ScanError, ScanFailure, ScannedObject, Scanner},
    stats::count,
};
use crate::NamespacedName;

/// How long a response may be silent. API servers send a bookmark every minute: after three the connection is taken to be dead.
const MAX_SILENCE: Duration = Duration::from_mins(3);

/// Lists and watches one namespace, or all of them.
pub(super) struct Reflector<S> {
    store: Arc<S>,
    source: Arc<dyn ListerWatcher>,
    namespace: Namespace,
    options: ReflectorOptions,
    scanner: Scanner,
    backoff: Box<dyn Backoff>,
    failure_log: FailureLog,
    /// The version of the last list, event or bookmark; empty before the first list.
    version: String,
    /// The server does not have `version` any more, or not yet.
    version_unavailable: bool,
    /// The server returns lists at version 0 in pages: it has no watch cache.
    is_paging: bool,
    /// When to try a streaming list again, on a server that did not support them.
    streaming_retry_at: Option<Instant>,
}

impl<S: ReflectorStore> Reflector<S> {
    pub(super) fn new(
        store: Arc<S>,
        source: Arc<dyn ListerWatcher>,
        namespace: Namespace,
        options: ReflectorOptions,
    ) -> Self {
        Self {
            scanner: store.scanner(),
            failure_log: FailureLog::new(store.info(), namespace.as_deref()),
            store,
            source,
            namespace,
            backoff: (options.backoff)(),
            options,
            version: String::new(),
            version_unavailable: false,
            is_paging: false,
            streaming_retry_at: None,
        }
    }

    /// Lists and watches for ever. Cancel by dropping.
    pub(super) async fn run(mut self) {
        loop {
            match self.list_and_watch().await {
                Ok(()) => sleep(self.backoff.next()).await,
                Err(error) => self.report_and_back_off(&error).await,
            }
        }
    }

    /// Returns when a relist is needed.
    async fn list_and_watch(&mut self) -> Result<(), ListWatchError> {
        let stream = self.stream_list_if_possible().await?;
        if stream.is_none() {
            self.list().await?;
        }
        self.watch_until_expired(stream).await
    }

    /// Replaces the store's objects of the namespace by a complete list of this version.
    async fn replace(&mut self, listed: TemporaryStore, version: &str) {
        self.version_unavailable = false;
        self.advance(version, None);
        count(&self.store.counters().lists);
        if self.options.check_consistency {
            self.check_consistency(&listed, version).await;
        }
        let replaced = Delta::Replaced {
            namespace: self.namespace.clone(),
            version: version.into(),
            objects: listed.into_objects(),
        };
        self.store.apply([replaced]).await;
    }

    /// Sets the last version. A version that goes backwards is followed too, which may repeat events but loses none; then the version before
    /// is returned.
    fn advance(&mut self, version: &str, object: Option<&NamespacedName>) -> Option<Box<str>> {
        let fault = match resource_version::compare(&self.version, version) {
            _ if !resource_version::is_number(version) => Some(VersionFault::NotANumber),
            Some(std::cmp::Ordering::Greater) => Some(VersionFault::Backwards),
            _ => None,
        };
        if let Some(fault) = fault {
            count(&self.store.counters().version_errors);
            if let Some(warning) = self
                .failure_log
                .version_warning(fault, &self.version, version, object)
            {
                tracing::warn!("{warning}");
            }
        }
        if version.is_empty() {
            return None;
        }
        let before = (fault == Some(VersionFault::Backwards)).then(|| self.version.as_str().into());
        self.version.clear();
        self.version.push_str(version);
        before
    }

    async fn report_and_back_off(&mut self, error: &ListWatchError) {
        self.report(error);
        let requested = error.retry_after().unwrap_or_default();
        sleep(self.backoff.next().max(requested)).await;
    }

    fn report(&mut self, error: &ListWatchError) {
        count(&self.store.counters().failures);
        if let Some(warning) = self.failure_log.warning(error) {
            tracing::warn!("{warning}");
        } else {
            tracing::debug!("{}: {error}", self.failure_log.informer());
        }
        self.store.report_failure(error);
    }
}

/// The stored object of the same version, or the scanned one, encoded: a relist must not hold everything twice.
fn stored_or_encoded(
    store: &impl ReflectorStore,
    object: ScannedObject<'_>,
    indexes: &[Arc<Index>],
) -> Arc<StoredObject> {
    let stored = store.find_version(&object.metadata);
    stored.unwrap_or_else(|| store.encode(object, indexes))
}

impl From<ScanFailure> for ListWatchError {
    fn from(failure: ScanFailure) -> Self {
        let problem = failure.error.to_string();
        match failure.object {
            Some(object) => Self::BadObject { object, problem },
            None => Self::Malformed(problem),
        }
    }
}

impl From<ScanError> for ListWatchError {
    fn from(error: ScanError) -> Self {
        ScanFailure::from(error).into()
    }
}

/// Waits for the head of a response.
async fn response_in_time<T>(
    response: impl Future<Output = Result<T, ListWatchError>>,
) -> Result<T, ListWatchError> {
    let unreachable = |_| ListWatchError::Unreachable {
        message: format!("no answer within {} s", MAX_SILENCE.as_secs()),
        refused: false,
    };
    timeout(MAX_SILENCE, response).await.map_err(unreachable)?
}

/// The next chunk of a body; none at its end. Fails after `max_silence`.
async fn next_chunk(body: &mut ByteStream, max_silence: Duration) -> Result<Option<Bytes>, ListWatchError> {
    match timeout(max_silence, body.next()).await {
        Ok(chunk) => chunk.transpose(),
        Err(_) => Err(ListWatchError::Broken(format!(
            "no data for {} s",
            max_silence.as_secs()
        ))),
    }
}

#[cfg(test)]
#[path = "reflector_tests.rs"]
mod tests;
