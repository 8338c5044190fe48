//! Relists: when the reflector lists again (the watch's version has expired, 410 Gone), and how a list replaces what the store has.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{Reflector, ReflectorStore, temporary_store::TemporaryStore, watch::WatchStream};
use crate::cache::{
    ListWatchError, fifo::Delta, index::Index, object::StoredObject, scan::ScannedObject, stats::count,
};

/// After so long without an internal error, the next one starts a new retry period.
const INTERNAL_ERROR_RESET_AFTER: Duration = Duration::from_mins(1);

impl<S: ReflectorStore> Reflector<S> {
    /// Returns when a relist is needed.
    pub(super) async fn list_and_watch(&mut self) -> Result<(), ListWatchError> {
        let stream = self.stream_list_if_possible().await?;
        if stream.is_none() {
            self.list().await?;
        }
        self.watch_until_expired(stream).await
    }

    /// Watches, starting with `stream`, and reconnects. Returns without an error when the last version has expired (410 Gone).
    pub(super) async fn watch_until_expired(
        &mut self,
        mut stream: Option<WatchStream>,
    ) -> Result<(), ListWatchError> {
        let mut internal_errors = InternalErrorRetry::new(self.options.max_internal_error_retry);
        loop {
            let watched = match stream.take() {
                Some(stream) => self.handle_watch(stream).await,
                None => self.watch().await,
            };
            match watched {
                Ok(()) => {}
                Err(error) if error.is_retryable() => self.report_and_back_off(&error).await,
                Err(error) if error.is_internal() && internal_errors.may_retry() => {
                    self.report_and_back_off(&error).await;
                }
                Err(error) if error.is_expired() => {
                    tracing::debug!(
                        "{}: the watch's version has expired: {error}",
                        self.failure_log.informer()
                    );
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Replaces the store's objects of the namespace by a complete list of this version.
    pub(super) async fn replace(&mut self, listed: TemporaryStore, version: &str) {
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
}

/// The stored object of the same version, or the scanned one, encoded: a relist must not hold everything twice.
pub(super) fn stored_or_encoded(
    store: &impl ReflectorStore,
    object: ScannedObject<'_>,
    indexes: &[Arc<Index>],
) -> Arc<StoredObject> {
    let stored = store.find_version(&object.metadata);
    stored.unwrap_or_else(|| store.encode(object, indexes))
}

/// Limits for how long internal errors are retried.
struct InternalErrorRetry {
    max_duration: Duration,
    /// When the first and the last error of the present retry period were.
    period: Option<(Instant, Instant)>,
}

impl InternalErrorRetry {
    fn new(max_duration: Duration) -> Self {
        Self {
            max_duration,
            period: None,
        }
    }

    fn may_retry(&mut self) -> bool {
        let now = Instant::now();
        let first = match self.period {
            Some((first, last)) if now - last < INTERNAL_ERROR_RESET_AFTER => first,
            _ => now,
        };
        self.period = Some((first, now));
        !self.max_duration.is_zero() && now - first <= self.max_duration
    }
}
