//! WatchHealth: the changes after a version, line by line.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures::{FutureExt as _, StreamExt as _};
use tokio::{
    task::yield_now,
    time::{Instant, sleep},
};

use super::{Reflector, ReflectorStore, SILENCE, in_time, next};
use crate::cache::{
    ByteStream, ListWatchError, WatchOptions,
    fifo::Delta,
    index::Index,
    scan::{Lines, WatchEvent},
    stats::count,
    watch_health::WatchHealth,
};

/// The server ends a watch after a time between these, so that not all clients come back at once.
const WATCH_SECONDS: std::ops::Range<u32> = 300..600;
/// After so many changes the queue is told, whatever there is yet.
const MOST_AT_ONCE: usize = 256;
const VERY_SHORT: Duration = Duration::from_secs(1);
/// After so long without one, an internal error begins a new row of them.
const INTERNAL_ERRORS_REST: Duration = Duration::from_mins(1);

/// A watch that the server accepted.
pub(super) struct Stream {
    body: ByteStream,
    pub(super) lines: Lines,
    /// Whole lines that came before what `body` will bring.
    first: Vec<u8>,
    started: Instant,
    /// When the server will have ended the watch, and a while later.
    end: Instant,
    events: u64,
    /// A watch from no version begins with the objects in no order: their versions say nothing.
    unordered: bool,
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

impl Stream {
    /// The next piece; none when the watch has ended.
    pub(super) async fn next(&mut self, patience: Duration) -> Result<Option<Bytes>, ListWatchError> {
        let left = self.end.saturating_duration_since(Instant::now());
        next(&mut self.body, patience.min(left)).await
    }

    /// The next piece, if it is there already.
    pub(super) fn next_now(&mut self) -> Option<Result<Option<Bytes>, ListWatchError>> {
        self.body.next().now_or_never().map(Option::transpose)
    }

    /// From here on it is an ordinary watch, of which these lines have come.
    pub(super) fn goes_on(&mut self, first: Vec<u8>) {
        self.started = Instant::now();
        self.first = first;
        self.unordered = false;
    }
}

impl<S: ReflectorStore> Reflector<S> {
    /// WatchHealth, beginning with `stream`. Returns without an error when the last version is no longer served.
    pub(super) async fn watch_until_expired(
        &mut self,
        mut stream: Option<Stream>,
    ) -> Result<(), ListWatchError> {
        let mut internal_errors = InternalErrors::within(self.options.max_internal_error_retry);
        loop {
            let watched = match stream.take() {
                Some(stream) => self.follow(stream).await,
                None => self.watch().await,
            };
            match watched {
                Ok(()) => {}
                Err(error) if error.asks_to_wait() => self.failed_and_waits(&error).await,
                Err(error) if error.is_internal() && internal_errors.may_try_again() => {
                    self.failed_and_waits(&error).await;
                }
                Err(error) if error.is_expired() => {
                    tracing::debug!(
                        "{}: the watch's version has expired: {error}",
                        self.complaints.place()
                    );
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn watch(&mut self) -> Result<(), ListWatchError> {
        let stream = self.open(&self.version.clone(), false).await?;
        self.follow(stream).await
    }

    pub(super) async fn open(
        &mut self,
        version: &str,
        send_initial_events: bool,
    ) -> Result<Stream, ListWatchError> {
        let started = Instant::now();
        let timeout_seconds = rand::random_range(WATCH_SECONDS);
        let options = WatchOptions {
            resource_version: version.to_owned(),
            timeout_seconds,
            send_initial_events,
        };
        let body = in_time(self.source.watch(options)).await?;
        count(&self.store.counters().watches);
        if self.complaints.settled() {
            tracing::info!("{}: watching", self.complaints.place());
        }
        Ok(Stream {
            body,
            lines: Lines::default(),
            first: Vec::new(),
            started,
            end: started + Duration::from_secs(timeout_seconds.into()) + SILENCE,
            events: 0,
            unordered: ["", "0"].contains(&version),
            _open: OpenWatch::new(self.store.watch_health()),
        })
    }

    /// Returns without an error when the next watch can go on from the last version.
    async fn follow(&mut self, mut stream: Stream) -> Result<(), ListWatchError> {
        let first = std::mem::take(&mut stream.first);
        let (mut deltas, mut told) = (Vec::new(), self.version.clone());
        let mut ended = self.lines(
            &mut Lines::default(),
            &first,
            &mut stream.events,
            &mut stream.unordered,
            &mut deltas,
        );
        while ended.is_ok() {
            // What is there already is taken along: to wake the others for each event would cost more than the events.
            let chunk = match stream.next_now() {
                Some(chunk) if deltas.len() < MOST_AT_ONCE => chunk,
                Some(chunk) => {
                    self.apply(&mut deltas, &mut told).await;
                    // The server may send faster than this reads: other tasks get their turn.
                    yield_now().await;
                    chunk
                }
                None => {
                    self.apply(&mut deltas, &mut told).await;
                    stream.next(SILENCE).await
                }
            };
            let chunk = chunk.unwrap_or_else(|error| {
                tracing::debug!("{}: {error}; watching on", self.complaints.place());
                None
            });
            let Some(chunk) = chunk else { break };
            ended = self.lines(
                &mut stream.lines,
                &chunk,
                &mut stream.events,
                &mut stream.unordered,
                &mut deltas,
            );
        }
        // What came before a bad line counts.
        self.apply(&mut deltas, &mut told).await;
        ended?;
        if stream.started.elapsed() < VERY_SHORT {
            if stream.events == 0 {
                return Err(ListWatchError::VeryShortWatch);
            }
            sleep(self.backoff.next()).await;
        }
        Ok(())
    }

    /// Applies the changes, and the version that they reach: `told` is the version that the store knows.
    async fn apply(&mut self, deltas: &mut Vec<Delta>, told: &mut String) {
        if *told != self.version {
            told.clone_from(&self.version);
            deltas.push(self.reached(self.version.as_str().into()));
        }
        if !deltas.is_empty() {
            // Drained: the next changes use the same memory.
            self.store.apply(deltas.drain(..)).await;
        }
    }

    /// Appends what the lines say to `deltas`, up to the first bad line, and how far that is.
    fn lines(
        &mut self,
        lines: &mut Lines,
        chunk: &[u8],
        events: &mut u64,
        unordered: &mut bool,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), ListWatchError> {
        let indexes = self.store.indexes();
        let mut ended = Ok(());
        let _ = lines.push(chunk, |line| {
            *events += 1;
            ended = self.line(line, &indexes, deltas, unordered);
            ended.as_ref().map_err(drop).copied()
        });
        ended?;
        Ok(lines.check()?)
    }

    fn reached(&self, version: Box<str>) -> Delta {
        Delta::Bookmark {
            namespace: self.namespace.clone(),
            version,
        }
    }

    /// Appends what a line says to `deltas`.
    fn line(
        &mut self,
        line: &[u8],
        indexes: &[Arc<Index>],
        deltas: &mut Vec<Delta>,
        unordered: &mut bool,
    ) -> Result<(), ListWatchError> {
        count(&self.store.counters().watch_events);
        let (delta, object) = match self.scanner.watch_line(line, indexes)? {
            WatchEvent::Error(status) => return Err(ListWatchError::Status(status)),
            WatchEvent::Bookmark { version, .. } => {
                *unordered = false;
                let before = self.advance(&version, None);
                deltas.extend(before.map(|before| self.reached(before)));
                return Ok(());
            }
            WatchEvent::Added(mut object) => {
                object.metadata.from_watch = !*unordered;
                let object = self.store.accept(object, indexes);
                (Delta::Upserted(object.clone()), object)
            }
            WatchEvent::Modified(mut object) => {
                *unordered = false;
                object.metadata.from_watch = true;
                let object = self.store.accept(object, indexes);
                (Delta::Upserted(object.clone()), object)
            }
            WatchEvent::Deleted(object) => {
                *unordered = false;
                let object = self.store.accept(object, indexes);
                (Delta::Deleted(object.clone()), object)
            }
        };
        if !*unordered {
            let before = self.advance(object.metadata.resource_version(), Some(object.name()));
            // What was reached counts for the store, though not for what is asked for next.
            deltas.extend(before.map(|before| self.reached(before)));
        }
        deltas.push(delta);
        Ok(())
    }
}

/// Internal errors in a row, and for how long they are put up with.
struct InternalErrors {
    bound: Duration,
    /// When the first and the last of the row were.
    row: Option<(Instant, Instant)>,
}

impl InternalErrors {
    fn within(bound: Duration) -> Self {
        Self { bound, row: None }
    }

    fn may_try_again(&mut self) -> bool {
        let now = Instant::now();
        let first = match self.row {
            Some((first, last)) if now - last < INTERNAL_ERRORS_REST => first,
            _ => now,
        };
        self.row = Some((first, now));
        !self.bound.is_zero() && now - first <= self.bound
    }
}
