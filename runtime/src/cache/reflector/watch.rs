//! Watches: the changes after a resource version, line by line.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures::{FutureExt as _, StreamExt as _};
use tokio::{
    task::yield_now,
    time::{Instant, sleep},
};

use super::{
    Reflector, ReflectorStore,
    reflector::{MAX_SILENCE, next_chunk, response_in_time},
};
use crate::cache::{
    ByteStream, ListWatchError, WatchOptions,
    fifo::Delta,
    index::Index,
    scan::{ScanFailure, ScannedEvent},
    stats::count,
    watch_health::WatchHealth,
};
use crate::line_decoder::LineDecoder;

/// The range of the requested watch timeout: random, so that clients do not reconnect all at once.
const WATCH_TIMEOUT_SECONDS: std::ops::Range<u32> = 300..600;
/// Changes that are applied at once; more are left in the response.
const MAX_BATCH: usize = 256;
/// A watch that ends sooner backs off; one without an event has failed.
const MIN_WATCH_DURATION: Duration = Duration::from_secs(1);

/// A watch that the server accepted.
pub(super) struct WatchStream {
    body: ByteStream,
    pub(super) lines: LineDecoder,
    /// Complete lines that were received before the rest of `body`.
    first_lines: Vec<u8>,
    started: Instant,
    /// When the watch is given up if the server has not ended it.
    deadline: Instant,
    events: u64,
    /// Whether its events so far are the existing objects, in no order: their versions must not be followed. So begins a watch without a
    /// version.
    is_unordered: bool,
    _open: OpenWatch,
}

/// Counts as an open watch until it is dropped.
struct OpenWatch(Arc<WatchHealth>);

impl OpenWatch {
    fn new(health: &Arc<WatchHealth>) -> Self {
        health.opened();
        Self(health.clone())
    }
}

impl Drop for OpenWatch {
    fn drop(&mut self) {
        self.0.ended();
    }
}

impl WatchStream {
    /// The next chunk; none when the watch has ended.
    pub(super) async fn next(&mut self, max_silence: Duration) -> Result<Option<Bytes>, ListWatchError> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        next_chunk(&mut self.body, max_silence.min(left)).await
    }

    /// The next chunk, if it was received already.
    pub(super) fn next_now(&mut self) -> Option<Result<Option<Bytes>, ListWatchError>> {
        self.body.next().now_or_never().map(Option::transpose)
    }

    /// Makes an ordinary watch of a streaming list after its initial events. `lines` are its first.
    pub(super) fn continue_as_watch(&mut self, lines: Vec<u8>) {
        self.started = Instant::now();
        self.first_lines = lines;
        self.is_unordered = false;
    }
}

impl<S: ReflectorStore> Reflector<S> {
    pub(super) async fn watch(&mut self) -> Result<(), ListWatchError> {
        let stream = self.open(&self.version.clone(), false).await?;
        self.handle_watch(stream).await
    }

    /// Opens a watch from `version`.
    pub(super) async fn open(
        &mut self,
        version: &str,
        send_initial_events: bool,
    ) -> Result<WatchStream, ListWatchError> {
        let started = Instant::now();
        let timeout_seconds = rand::random_range(WATCH_TIMEOUT_SECONDS);
        let options = WatchOptions {
            resource_version: version.to_owned(),
            timeout_seconds,
            send_initial_events,
        };
        let body = response_in_time(self.source.watch(options)).await?;
        count(&self.store.counters().watches);
        if self.failure_log.recovered() {
            tracing::info!("{}: watching", self.failure_log.informer());
        }
        Ok(WatchStream {
            body,
            lines: LineDecoder::default(),
            first_lines: Vec::new(),
            started,
            deadline: started + Duration::from_secs(timeout_seconds.into()) + MAX_SILENCE,
            events: 0,
            is_unordered: ["", "0"].contains(&version),
            _open: OpenWatch::new(self.store.watch_health()),
        })
    }

    /// Applies the events of a watch. Returns without an error if the next watch can continue from the last version.
    pub(super) async fn handle_watch(&mut self, mut stream: WatchStream) -> Result<(), ListWatchError> {
        let first = std::mem::take(&mut stream.first_lines);
        let (mut deltas, mut applied_version) = (Vec::new(), self.version.clone());
        let mut result = self.read_lines(
            &mut LineDecoder::default(),
            &first,
            &mut stream.events,
            &mut stream.is_unordered,
            &mut deltas,
        );
        while result.is_ok() {
            // Chunks that were received already are applied at once: to wake workers for each event would cost more than the event.
            let chunk = match stream.next_now() {
                Some(chunk) if deltas.len() < MAX_BATCH => chunk,
                Some(chunk) => {
                    self.apply(&mut deltas, &mut applied_version).await;
                    // The server may send faster than this reads: other tasks get their turn.
                    yield_now().await;
                    chunk
                }
                None => {
                    self.apply(&mut deltas, &mut applied_version).await;
                    stream.next(MAX_SILENCE).await
                }
            };
            let chunk = chunk.unwrap_or_else(|error| {
                tracing::debug!("{}: {error}; continuing the watch", self.failure_log.informer());
                None
            });
            let Some(chunk) = chunk else { break };
            result = self.read_lines(
                &mut stream.lines,
                &chunk,
                &mut stream.events,
                &mut stream.is_unordered,
                &mut deltas,
            );
        }
        // Also the events before a bad line.
        self.apply(&mut deltas, &mut applied_version).await;
        result?;
        if stream.started.elapsed() < MIN_WATCH_DURATION {
            if stream.events == 0 {
                return Err(ListWatchError::VeryShortWatch);
            }
            sleep(self.backoff.next()).await;
        }
        Ok(())
    }

    /// Applies the changes and the version that they reach, if it is another than `applied_version`, which the store has.
    async fn apply(&mut self, deltas: &mut Vec<Delta>, applied_version: &mut String) {
        if *applied_version != self.version {
            applied_version.clone_from(&self.version);
            deltas.push(self.bookmark(self.version.as_str().into()));
        }
        if !deltas.is_empty() {
            // Drained: the next changes use the same memory.
            self.store.apply(deltas.drain(..)).await;
        }
    }

    /// Appends the changes of the lines that `chunk` completes to `deltas`, up to the first bad line.
    fn read_lines(
        &mut self,
        lines: &mut LineDecoder,
        chunk: &[u8],
        events: &mut u64,
        is_unordered: &mut bool,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), ListWatchError> {
        let indexes = self.store.indexes();
        let mut result = Ok(());
        let _ = lines.push(chunk, |line| {
            *events += 1;
            result = self.read_event(line, &indexes, deltas, is_unordered);
            result.as_ref().map_err(drop).copied()
        });
        result?;
        Ok(ScanFailure::check_line_length(lines)?)
    }

    /// Appends the change of a line to `deltas`.
    fn read_event(
        &mut self,
        line: &[u8],
        indexes: &[Arc<Index>],
        deltas: &mut Vec<Delta>,
        is_unordered: &mut bool,
    ) -> Result<(), ListWatchError> {
        count(&self.store.counters().watch_events);
        let store = &*self.store;
        let (delta, object) = match self.scanner.watch_event(line, |owners| store.prefetch(owners))? {
            ScannedEvent::Error(status) => return Err(ListWatchError::Status(status)),
            ScannedEvent::Bookmark { version, .. } => {
                *is_unordered = false;
                let before = self.advance(&version, None);
                deltas.extend(before.map(|before| self.bookmark(before)));
                return Ok(());
            }
            ScannedEvent::Added(mut object) => {
                object.metadata.from_watch = !*is_unordered;
                let object = store.encode(object, indexes);
                (Delta::Upserted(object.clone()), object)
            }
            ScannedEvent::Modified(mut object) => {
                *is_unordered = false;
                object.metadata.from_watch = true;
                let object = store.encode(object, indexes);
                (Delta::Upserted(object.clone()), object)
            }
            ScannedEvent::Deleted(object) => {
                *is_unordered = false;
                let object = store.encode(object, indexes);
                (Delta::Deleted(object.clone()), object)
            }
        };
        if !*is_unordered {
            let before = self.advance(object.metadata.resource_version(), Some(object.name()));
            // The store has reached that version, though the next watch continues from the lower one.
            deltas.extend(before.map(|before| self.bookmark(before)));
        }
        deltas.push(delta);
        Ok(())
    }
}
