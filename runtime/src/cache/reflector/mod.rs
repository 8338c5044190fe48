//! The reflector: keeps a queue told of what the API server holds, by a list and then a watch, again and again.
//!
//! Read [`streaming`] (a list that comes as a watch, which then goes on) and [`listing`] (lists in pages, where the server cannot do that),
//! both of which put together what [`gathered`] holds; then [`watching`]. [`consistency`] is on request only.
//!
//! The rules are client-go's, and so are the resource versions that are asked for:
//! - the first list: `0`, whatever the server has at hand; later ones: not older than the last version that was seen;
//! - a streaming list: not older than that too, or the newest when nothing was seen yet;
//! - the newest, at once, when the server has forgotten that version or does not know it yet;
//! - a watch goes on from the last version; one that has expired costs a list at the last version.

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
    Backoff, ByteStream, ListWatchError, ListerWatcher,
    failure_log::{FailureLog, VersionFault},
    fifo::{Delta, Namespace},
    index::Index,
    object::StoredObject,
    resource_version,
    scan::{Listed, ScanError, ScanFailure, Scanner},
    stats::count,
};
use crate::NamespacedName;

/// API servers send a bookmark a minute: silence for thrice as long means that the connection is dead.
const SILENCE: Duration = Duration::from_mins(3);

/// Lists and watches one namespace, or all, for one informer.
pub(super) struct Reflector<S> {
    store: Arc<S>,
    source: Arc<dyn ListerWatcher>,
    namespace: Namespace,
    options: ReflectorOptions,
    scanner: Scanner,
    backoff: Box<dyn Backoff>,
    complaints: FailureLog,
    /// The version of the last list, event or bookmark; empty before the first list.
    version: String,
    /// The server refused to list at `version`.
    version_unavailable: bool,
    /// The server pages lists at version 0 too: it has no cache of them.
    paged: bool,
    /// Until then the server is not asked for streaming lists, because it does not know them.
    unstreamed_until: Option<Instant>,
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
            complaints: FailureLog::new(store.info(), namespace.as_deref()),
            store,
            source,
            namespace,
            backoff: (options.backoff)(),
            options,
            version: String::new(),
            version_unavailable: false,
            paged: false,
            unstreamed_until: None,
        }
    }

    /// Never returns; cancel by dropping.
    pub(super) async fn run(mut self) {
        loop {
            match self.list_and_watch().await {
                Ok(()) => sleep(self.backoff.next()).await,
                Err(error) => self.failed_and_waits(&error).await,
            }
        }
    }

    /// Returns when a new list is needed.
    async fn list_and_watch(&mut self) -> Result<(), ListWatchError> {
        let stream = self.stream_list_if_possible().await?;
        if stream.is_none() {
            self.list().await?;
        }
        self.watch_until_expired(stream).await
    }

    /// The list is whole: the store is to hold this, as of this version, and nothing else.
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

    /// The server is known to have reached this version. It is followed even where it goes backwards: to ask again for what is known is
    /// safe, to skip what is not is not. Then the version before is returned.
    fn advance(&mut self, version: &str, object: Option<&NamespacedName>) -> Option<Box<str>> {
        let fault = match resource_version::compare(&self.version, version) {
            _ if !resource_version::is_number(version) => Some(VersionFault::NoNumber),
            Some(std::cmp::Ordering::Greater) => Some(VersionFault::Backwards),
            _ => None,
        };
        if let Some(fault) = fault {
            count(&self.store.counters().version_errors);
            if let Some(warning) = self
                .complaints
                .about_version(fault, &self.version, version, object)
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

    async fn failed_and_waits(&mut self, error: &ListWatchError) {
        self.failed(error);
        let asked = error.retry_after().unwrap_or_default();
        sleep(self.backoff.next().max(asked)).await;
    }

    fn failed(&mut self, error: &ListWatchError) {
        count(&self.store.counters().failures);
        if let Some(warning) = self.complaints.about(error) {
            tracing::warn!("{warning}");
        } else {
            tracing::debug!("{}: {error}", self.complaints.place());
        }
        self.store.report_failure(error);
    }

    /// What is kept of an object that a list brought: what is in the store already, where that is the same version.
    fn listed(&self, listed: Listed, indexes: &[Arc<Index>]) -> Arc<StoredObject> {
        match listed {
            Listed::Known(known) => known,
            Listed::New(object) => self.store.accept(object, indexes),
        }
    }
}

impl From<ScanFailure> for ListWatchError {
    fn from(refused: ScanFailure) -> Self {
        let problem = refused.error.to_string();
        match refused.object {
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

async fn in_time<T>(response: impl Future<Output = Result<T, ListWatchError>>) -> Result<T, ListWatchError> {
    let unreachable = |_| ListWatchError::Unreachable {
        message: format!("no answer within {} s", SILENCE.as_secs()),
        refused: false,
    };
    timeout(SILENCE, response).await.map_err(unreachable)?
}

async fn next(body: &mut ByteStream, patience: Duration) -> Result<Option<Bytes>, ListWatchError> {
    match timeout(patience, body.next()).await {
        Ok(chunk) => chunk.transpose(),
        Err(_) => Err(ListWatchError::Broken(format!(
            "nothing came for {} s",
            patience.as_secs()
        ))),
    }
}

#[cfg(test)]
#[path = "reflector_tests.rs"]
mod tests;
