//! Streaming lists (`sendInitialEvents`): a watch that begins with all objects, marks their end with a bookmark, and continues.
//!
//! The server does not have to build the list in memory. A server without streaming lists answers 422 or 400, or ignores the parameter
//! and opens an ordinary watch, which never sends the bookmark; client-go waits for ever then. Here an ordinary list follows at once in the
//! first case, and in the second after half a minute of silence or a second bookmark without the annotation. Streaming is tried again
//! after an hour, when the server may have been upgraded. After other failures that a retry cannot fix, an ordinary list follows too, and
//! the next relist tries a stream again.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, timeout};

use super::{
    Reflector, ReflectorStore, reflector::MAX_SILENCE, relist::stored_or_encoded,
    temporary_store::TemporaryStore, watch::WatchStream,
};
use crate::cache::{
    ListWatchError,
    index::Index,
    scan::{ScanFailure, ScannedEvent},
    stats::count,
};

/// How often a warning is logged while the initial events stall.
const STALL_WARNING_INTERVAL: Duration = Duration::from_secs(10);
/// How long the initial events may stall before an ordinary list follows.
const MAX_STALL: Duration = Duration::from_secs(30);
/// Bookmarks without the annotation, a minute apart, that show that the server ignores `sendInitialEvents`.
const MAX_OTHER_BOOKMARKS: u32 = 2;
/// Streams that broke off before an ordinary list follows.
const MAX_BROKEN_STREAMS: u32 = 2;
/// After so long, a streaming list is tried again on a server without support.
const STREAMING_RETRY_INTERVAL: Duration = Duration::from_hours(1);

/// Why a streaming list failed.
enum StreamingFailure {
    /// The server does not support streaming lists.
    Unsupported(String),
    Failed(ListWatchError),
}

impl From<ListWatchError> for StreamingFailure {
    fn from(error: ListWatchError) -> Self {
        if error.is_invalid() {
            Self::Unsupported(error.to_string())
        } else {
            Self::Failed(error)
        }
    }
}

/// The initial events that were received.
#[derive(Default)]
struct InitialEvents {
    objects: TemporaryStore,
    other_bookmarks: u32,
    /// The version of the bookmark that ended them.
    version: Option<Box<str>>,
    /// Complete lines that were received with the last of them.
    next_lines: Vec<u8>,
}

impl<S: ReflectorStore> Reflector<S> {
    /// Replaces the store's objects of the namespace by a streaming list, and returns the stream, which continues as a watch. None if an
    /// ordinary list is needed instead.
    pub(super) async fn stream_list_if_possible(&mut self) -> Result<Option<WatchStream>, ListWatchError> {
        let is_unsupported = self
            .streaming_retry_at
            .is_some_and(|retry_at| Instant::now() < retry_at);
        if is_unsupported || !self.options.streaming_lists {
            return Ok(None);
        }
        match self.stream_list().await {
            Ok(stream) => return Ok(Some(stream)),
            // An ordinary list would not reach it either.
            Err(StreamingFailure::Failed(error @ ListWatchError::Unreachable { .. })) => return Err(error),
            Err(StreamingFailure::Failed(error)) => {
                // The ordinary list will report a status.
                if !matches!(error, ListWatchError::Status(_)) {
                    self.report(&error);
                }
                tracing::debug!(
                    "{}: streaming list failed, listing instead: {error}",
                    self.failure_log.informer()
                );
            }
            Err(StreamingFailure::Unsupported(why)) => {
                let place = self.failure_log.informer();
                tracing::debug!(
                    "{place}: the server does not support streaming lists, listing instead: {why}"
                );
                self.streaming_retry_at = Some(Instant::now() + STREAMING_RETRY_INTERVAL);
            }
        }
        Ok(None)
    }

    async fn stream_list(&mut self) -> Result<WatchStream, StreamingFailure> {
        let mut broken = 0;
        loop {
            let version = if self.version_unavailable {
                ""
            } else {
                &*self.version
            }
            .to_owned();
            match self.initial_events(&version).await {
                Err(StreamingFailure::Failed(error)) if error.is_retryable() => {
                    self.report_and_back_off(&error).await;
                }
                Err(StreamingFailure::Failed(error))
                    if (error.is_expired() || error.is_too_large_version()) && !version.is_empty() =>
                {
                    self.version_unavailable = true;
                }
                Err(StreamingFailure::Failed(error @ ListWatchError::Broken(_)))
                    if broken + 1 < MAX_BROKEN_STREAMS =>
                {
                    broken += 1;
                    self.report_and_back_off(&error).await;
                }
                result => return result,
            }
        }
    }

    async fn initial_events(&mut self, version: &str) -> Result<WatchStream, StreamingFailure> {
        // A proxy may hold back the response's head until the first byte of its body.
        let Ok(opened) = timeout(MAX_STALL, self.open(version, true)).await else {
            return Err(StreamingFailure::Unsupported(format!(
                "no answer within {} s",
                MAX_STALL.as_secs()
            )));
        };
        let mut stream = opened?;
        let mut initial = InitialEvents::default();
        let mut last_chunk_at = Instant::now();
        let version = loop {
            let chunk = if let Some(chunk) = stream.next_now() {
                chunk
            } else if let Ok(chunk) = timeout(STALL_WARNING_INTERVAL, stream.next(MAX_SILENCE)).await {
                chunk
            } else {
                self.check_stall(last_chunk_at.elapsed())?;
                continue;
            };
            let Some(chunk) = chunk? else {
                return Err(
                    ListWatchError::Broken("it ended before the initial events did".to_owned()).into(),
                );
            };
            last_chunk_at = Instant::now();
            let indexes = self.store.indexes();
            let mut received = Ok(());
            let _ = stream.lines.push(&chunk, |line| {
                received = self.initial_event(line, &indexes, &mut initial);
                received.as_ref().map_err(drop).copied()
            });
            received?;
            ScanFailure::check_line_length(&stream.lines).map_err(ListWatchError::from)?;
            if let Some(version) = initial.version.take() {
                break version;
            }
            if initial.other_bookmarks >= MAX_OTHER_BOOKMARKS {
                let why = "bookmarks arrive that do not end the initial events";
                return Err(StreamingFailure::Unsupported(why.to_owned()));
            }
        };
        stream.continue_as_watch(initial.next_lines);
        self.replace(initial.objects, &version).await;
        Ok(stream)
    }

    fn check_stall(&self, silence: Duration) -> Result<(), StreamingFailure> {
        let seconds = silence.as_secs();
        if silence >= MAX_STALL {
            let why = format!("no data for {seconds} s, and no bookmark that ends the initial events");
            return Err(StreamingFailure::Unsupported(why));
        }
        let place = self.failure_log.informer();
        tracing::warn!("{place}: the streaming list has stalled: no data for {seconds} s; waiting");
        Ok(())
    }

    fn initial_event(
        &mut self,
        line: &[u8],
        indexes: &[Arc<Index>],
        initial: &mut InitialEvents,
    ) -> Result<(), ListWatchError> {
        if initial.version.is_some() {
            initial.next_lines.extend_from_slice(line);
            initial.next_lines.push(b'\n');
            return Ok(());
        }
        count(&self.store.counters().watch_events);
        let store = &*self.store;
        match self.scanner.watch_event(line, |owners| store.prefetch(owners))? {
            ScannedEvent::Added(object) | ScannedEvent::Modified(object) => {
                initial.objects.put(stored_or_encoded(store, object, indexes));
            }
            ScannedEvent::Deleted(object) => initial.objects.delete(object.metadata.name()),
            ScannedEvent::Bookmark {
                version,
                ends_initial_events: true,
            } => initial.version = Some(version),
            ScannedEvent::Bookmark { .. } => initial.other_bookmarks += 1,
            ScannedEvent::Error(status) => return Err(ListWatchError::Status(status)),
        }
        Ok(())
    }
}
