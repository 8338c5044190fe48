//! The reflector: the loop that lists, watches, and relists after 410 Gone.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures::StreamExt as _;
use tokio::time::{Instant, sleep, timeout};

use super::{ReflectorOptions, ReflectorStore};
use crate::cache::{
    ByteStream, ListWatchError, ListerWatcher,
    backoff::Backoff,
    failure_log::FailureLog,
    fifo::Namespace,
    scan::{ScanError, ScanFailure, Scanner},
    stats::count,
};
/// How long a response may be silent. API servers send a bookmark every minute: after three the connection is taken to be dead.
pub(super) const MAX_SILENCE: Duration = Duration::from_mins(3);

/// Lists and watches one namespace, or all of them.
pub(in crate::cache) struct Reflector<S> {
    pub(super) store: Arc<S>,
    pub(super) source: Arc<dyn ListerWatcher>,
    pub(super) namespace: Namespace,
    pub(super) options: ReflectorOptions,
    pub(super) scanner: Scanner,
    pub(super) backoff: Box<dyn Backoff>,
    pub(super) failure_log: FailureLog,
    /// The version of the last list, event or bookmark; empty before the first list.
    pub(super) version: String,
    /// The server does not have `version` any more, or not yet.
    pub(super) version_unavailable: bool,
    /// The server returns lists at version 0 in pages: it has no watch cache.
    pub(super) is_paging: bool,
    /// When to try a streaming list again, on a server that did not support them.
    pub(super) streaming_retry_at: Option<Instant>,
}

impl<S: ReflectorStore> Reflector<S> {
    pub(in crate::cache) fn new(
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
    pub(in crate::cache) async fn run(mut self) {
        loop {
            match self.list_and_watch().await {
                Ok(()) => sleep(self.backoff.next()).await,
                Err(error) => self.report_and_back_off(&error).await,
            }
        }
    }

    pub(super) async fn report_and_back_off(&mut self, error: &ListWatchError) {
        self.report(error);
        let requested = error.retry_after().unwrap_or_default();
        sleep(self.backoff.next().max(requested)).await;
    }

    pub(super) fn report(&mut self, error: &ListWatchError) {
        count(&self.store.counters().failures);
        if let Some(warning) = self.failure_log.warning(error) {
            tracing::warn!("{warning}");
        } else {
            tracing::debug!("{}: {error}", self.failure_log.informer());
        }
        self.store.report_failure(error);
    }
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
pub(super) async fn response_in_time<T>(
    response: impl Future<Output = Result<T, ListWatchError>>,
) -> Result<T, ListWatchError> {
    let unreachable = |_| ListWatchError::Unreachable {
        message: format!("no answer within {} s", MAX_SILENCE.as_secs()),
        refused: false,
    };
    timeout(MAX_SILENCE, response).await.map_err(unreachable)?
}

/// The next chunk of a body; none at its end. Fails after `max_silence`.
pub(super) async fn next_chunk(
    body: &mut ByteStream,
    max_silence: Duration,
) -> Result<Option<Bytes>, ListWatchError> {
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
