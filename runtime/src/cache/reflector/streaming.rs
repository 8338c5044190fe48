//! Streaming lists: a watch that begins with all objects, says when that was all, and goes on.
//!
//! The server needs not build the list in its memory. One that cannot do this says so (422, or 400), or ignores what it was asked for and
//! begins an ordinary watch, which never says that it was all; client-go waits for ever then. Here a list follows at once in the first case,
//! and in the second after half a minute of silence, or a second bookmark that does not say it. Such a server is not asked again for
//! an hour; it may have been upgraded then. After anything else that cannot be mended by waiting a list follows, too, and the next
//! time a stream is tried again.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, timeout};

use super::{Reflector, ReflectorStore, SILENCE, TemporaryStore, watch::Stream};
use crate::cache::{ListWatchError, index::Index, scan::WatchEvent, stats::count};

const WARN_EVERY: Duration = Duration::from_secs(10);
/// After so much silence the end of the initial events is not waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// As many bookmarks, a minute apart, that do not end the initial events show that none will.
const OTHER_BOOKMARKS: u32 = 2;
/// After so many streams that ended too early a list is tried.
const TORN: u32 = 2;
const ASK_AGAIN: Duration = Duration::from_hours(1);

/// Why a list did not come as a stream.
enum Failure {
    /// The server does not know how.
    Unsupported(String),
    Failed(ListWatchError),
}

impl From<ListWatchError> for Failure {
    fn from(error: ListWatchError) -> Self {
        if error.is_invalid() {
            Self::Unsupported(error.to_string())
        } else {
            Self::Failed(error)
        }
    }
}

/// The initial events so far.
#[derive(Default)]
struct Initial {
    objects: TemporaryStore,
    other_bookmarks: u32,
    /// The version of the bookmark that ended them.
    version: Option<Box<str>>,
    /// Whole lines that came with the last of them.
    rest: Vec<u8>,
}

impl<S: ReflectorStore> Reflector<S> {
    /// Puts the whole list into the queue as one replacement and returns the stream, to go on with; none when a list is needed instead.
    pub(super) async fn stream_list_if_possible(&mut self) -> Result<Option<Stream>, ListWatchError> {
        let is_unsupported = self.unstreamed_until.is_some_and(|until| Instant::now() < until);
        if is_unsupported || !self.options.streaming_lists {
            return Ok(None);
        }
        match self.stream_list().await {
            Ok(stream) => return Ok(Some(stream)),
            // A list would not reach it either.
            Err(Failure::Failed(error @ ListWatchError::Unreachable { .. })) => return Err(error),
            Err(Failure::Failed(error)) => {
                // After a refusal the list will show what is wrong.
                if !matches!(error, ListWatchError::Status(_)) {
                    self.failed(&error);
                }
                tracing::debug!("{}: no streaming list, listing: {error}", self.complaints.place());
            }
            Err(Failure::Unsupported(why)) => {
                let place = self.complaints.place();
                tracing::debug!("{place}: the server knows no streaming lists, listing: {why}");
                self.unstreamed_until = Some(Instant::now() + ASK_AGAIN);
            }
        }
        Ok(None)
    }

    async fn stream_list(&mut self) -> Result<Stream, Failure> {
        let mut torn = 0;
        loop {
            let version = if self.version_unavailable {
                ""
            } else {
                &*self.version
            }
            .to_owned();
            match self.initial_events(&version).await {
                Err(Failure::Failed(error)) if error.asks_to_wait() => self.failed_and_waits(&error).await,
                Err(Failure::Failed(error))
                    if (error.is_expired() || error.is_too_large_version()) && !version.is_empty() =>
                {
                    self.version_unavailable = true;
                }
                Err(Failure::Failed(error @ ListWatchError::Broken(_))) if torn + 1 < TORN => {
                    torn += 1;
                    self.failed_and_waits(&error).await;
                }
                result => return result,
            }
        }
    }

    async fn initial_events(&mut self, version: &str) -> Result<Stream, Failure> {
        // A proxy may hold back the head of a response until the first byte of its body.
        let Ok(opened) = timeout(PATIENCE, self.open(version, true)).await else {
            return Err(Failure::Unsupported(format!(
                "no answer within {} s",
                PATIENCE.as_secs()
            )));
        };
        let mut stream = opened?;
        let mut initial = Initial::default();
        let mut heard = Instant::now();
        let version = loop {
            let chunk = if let Some(chunk) = stream.next_now() {
                chunk
            } else if let Ok(chunk) = timeout(WARN_EVERY, stream.next(SILENCE)).await {
                chunk
            } else {
                self.is_silent(heard.elapsed())?;
                continue;
            };
            let Some(chunk) = chunk? else {
                return Err(ListWatchError::Broken("it ended before all objects had come".to_owned()).into());
            };
            heard = Instant::now();
            let indexes = self.store.indexes();
            let mut taken = Ok(());
            let _ = stream.lines.push(&chunk, |line| {
                taken = self.initial_line(line, &indexes, &mut initial);
                taken.as_ref().map_err(drop).copied()
            });
            taken?;
            stream.lines.check().map_err(ListWatchError::from)?;
            if let Some(version) = initial.version.take() {
                break version;
            }
            if initial.other_bookmarks >= OTHER_BOOKMARKS {
                let why = "bookmarks come that do not end the initial events";
                return Err(Failure::Unsupported(why.to_owned()));
            }
        };
        stream.goes_on(initial.rest);
        self.replace(initial.objects, &version).await;
        Ok(stream)
    }

    fn is_silent(&self, silence: Duration) -> Result<(), Failure> {
        let seconds = silence.as_secs();
        if silence >= PATIENCE {
            let why = format!("nothing came for {seconds} s, and nothing said that these were all objects");
            return Err(Failure::Unsupported(why));
        }
        let place = self.complaints.place();
        tracing::warn!("{place}: the streaming list does not end: nothing came for {seconds} s; waiting");
        Ok(())
    }

    fn initial_line(
        &mut self,
        line: &[u8],
        indexes: &[Arc<Index>],
        initial: &mut Initial,
    ) -> Result<(), ListWatchError> {
        if initial.version.is_some() {
            initial.rest.extend_from_slice(line);
            initial.rest.push(b'\n');
            return Ok(());
        }
        count(&self.store.counters().watch_events);
        let known = |metadata: &_| self.store.find_version(metadata);
        match self.scanner.list_line(line, indexes, &known)? {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                initial.objects.put(self.listed(object, indexes));
            }
            WatchEvent::Deleted(object) => initial.objects.delete(object.metadata().name()),
            WatchEvent::Bookmark {
                version,
                ends_initial_events: true,
            } => initial.version = Some(version),
            WatchEvent::Bookmark { .. } => initial.other_bookmarks += 1,
            WatchEvent::Error(status) => return Err(ListWatchError::Status(status)),
        }
        Ok(())
    }
}
