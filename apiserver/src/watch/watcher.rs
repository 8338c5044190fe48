//! One watch.

use super::event::{self, View};
use super::feed::{Feed, Piece};
use crate::http::{Body, Broken, Form, Shape};
use crate::kinds::Kind;
use crate::registry::{ListOptions, Registry, Target, too_large};
use crate::status::ApiError;
use crate::store::{Store, Unserved};
use bytes::Bytes;
use futures::stream;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Frame;
use rand::RngExt as _;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, Sleep};

/// How often a watch is told of the newest version, and how long before its end for the last time.
const BOOKMARKS: Duration = Duration::from_mins(1);
const LAST_BOOKMARK: Duration = Duration::from_secs(2);
/// Where so many see the same, the events that follow one another closely are sent together: to send each by itself takes most of the
/// time of the server, and of its clients. An event after a rest is sent at once.
const CROWD: usize = 32;
/// How long each of a crowd rests for each of them after it was sent something, and at least.
const REST: Duration = Duration::from_micros(3);
const SHORTEST_REST: Duration = Duration::from_millis(2);
/// How long a watch lasts that says nothing of it, at least, in seconds; at most twice that.
const SHORTEST: u64 = 1800;

/// One watch, which becomes the body of its answer.
pub(crate) struct Watcher {
    registry: Arc<Registry>,
    target: Target,
    prefix: String,
    options: ListOptions,
    view: View,
    /// Where it gets its events, if others see the same.
    feed: Option<Arc<Feed>>,
    /// What was sent, or need not be.
    position: u64,
    changed: watch::Receiver<u64>,
    /// When it was sent something.
    sent: Instant,
    deadline: Instant,
    /// For the next bookmark, or the deadline.
    timer: Pin<Box<Sleep>>,
    /// None after the last one.
    next_bookmark: Option<Instant>,
    /// What is to be sent before anything else.
    first: Vec<u8>,
    ended: bool,
}

impl Watcher {
    /// Starts where the options say. Where that cannot be, it says so and ends: the real server tells whoever may watch, and asked for
    /// something that makes sense, by an event.
    ///
    /// # Errors
    ///
    /// 400 for selectors of unknown fields.
    pub(crate) fn new(
        registry: Arc<Registry>,
        target: Target,
        mut options: ListOptions,
        form: Form,
    ) -> Result<Self, ApiError> {
        target.kind.check_field_selector(&options.fields)?;
        if !target.name.is_empty() {
            let pinned = crate::selectors::FieldSelector::parse(&format!("metadata.name={}", target.name))?;
            options.fields = options.fields.and(pinned);
        }
        let changed = registry.store.subscribe_table(&target.kind.table());
        let seconds = options
            .timeout
            .filter(|seconds| *seconds > 0)
            .unwrap_or_else(|| rand::rng().random_range(SHORTEST..2 * SHORTEST));
        let now = Instant::now();
        let deadline = now + Duration::from_secs(seconds);
        let next_bookmark = options.bookmarks.then(|| next_bookmark(now, deadline)).flatten();
        let prefix = Store::key(&target.namespace, "");
        let mut watcher = Self {
            feed: registry.feeds.of(&target.kind, &prefix, &options, form),
            timer: Box::pin(tokio::time::sleep_until(next_bookmark.unwrap_or(deadline))),
            prefix,
            position: 0,
            changed,
            sent: now,
            deadline,
            next_bookmark,
            first: vec![],
            ended: false,
            registry,
            target,
            options,
            view: View::new(form),
        };
        if let Err(error) = watcher.start() {
            watcher.first = event::error(&error);
            watcher.ended = true;
        }
        Ok(watcher)
    }

    /// Without a version, or from any, a watch starts with what there is.
    fn start(&mut self) -> Result<(), ApiError> {
        let (store, revision) = (&self.registry.store, self.options.revision.unwrap_or(0));
        let initial = self.options.initial_events.unwrap_or(revision == 0);
        if !initial {
            self.position = if revision == 0 { store.revision() } else { revision };
            // A version of the future is waited for when the stream runs.
            if let Err(Unserved::Compacted(oldest)) =
                store.can_follow(&self.target.kind.table(), self.position)
            {
                return Err(too_old(&self.target.kind, self.position, oldest));
            }
            return Ok(());
        }
        if revision > store.revision() {
            return Err(too_large(revision, store.revision()));
        }
        let page = store.list(&self.target.kind.table(), &self.prefix, "", None);
        let page = page.map_err(|_| ApiError::internal("the newest version cannot be listed"))?;
        let (kind, options) = (&self.target.kind, &self.options);
        for object in &page.objects {
            if options.select(kind, object) {
                event::append("ADDED", kind, &mut self.view, object, &mut self.first);
            }
        }
        if self.options.initial_events == Some(true) && self.options.bookmarks {
            self.first
                .extend(event::bookmark(kind, &mut self.view, page.revision, true));
        }
        self.position = page.revision;
        Ok(())
    }

    /// The events, as they come.
    pub(crate) fn into_body(self) -> Body {
        let frames = stream::unfold(self, |mut watcher| async move {
            let bytes = watcher.next().await?;
            // An object is no list: the real server ends the watch there.
            if watcher.view.form.shape == Shape::PartialList {
                return None;
            }
            Some((Ok::<_, Broken>(Frame::data(bytes)), watcher))
        });
        StreamBody::new(frames).boxed_unsync()
    }

    /// What is to be sent next; None at the end.
    async fn next(&mut self) -> Option<Bytes> {
        if !self.first.is_empty() {
            return Some(std::mem::take(&mut self.first).into());
        }
        let mut is_new = self.changed.has_changed().unwrap_or(true);
        loop {
            if self.ended || Instant::now() >= self.deadline {
                return None;
            }
            if is_new {
                self.rest().await;
            }
            self.changed.mark_unchanged();
            let mut bytes = match self.read() {
                Ok(bytes) => bytes,
                Err(error) => {
                    self.ended = true;
                    return Some(event::error(&error).into());
                }
            };
            let now = Instant::now();
            if self.next_bookmark.is_some_and(|due| due <= now) {
                self.next_bookmark = next_bookmark(now, self.deadline);
                self.timer
                    .as_mut()
                    .reset(self.next_bookmark.unwrap_or(self.deadline));
                let bookmark = event::bookmark(&self.target.kind, &mut self.view, self.position, false);
                bytes = [&*bytes, &bookmark].concat().into();
            }
            if !bytes.is_empty() {
                self.sent = now;
                return Some(bytes);
            }
            is_new = self.wait().await?;
        }
    }

    /// One of a crowd lets events come together.
    async fn rest(&self) {
        let crowd = self.feed.as_ref().map_or(1, Arc::strong_count);
        if crowd >= CROWD {
            let rest = SHORTEST_REST.max(REST * u32::try_from(crowd).unwrap_or(u32::MAX));
            tokio::time::sleep_until(self.deadline.min(self.sent + rest)).await;
        }
    }

    /// The changes since the last time that are something to this watch.
    fn read(&mut self) -> Result<Bytes, ApiError> {
        let position = self.position;
        let (store, kind) = (&self.registry.store, &self.target.kind);
        let too_old = |why: Unserved| match why {
            Unserved::Compacted(oldest) | Unserved::Future(oldest) => too_old(kind, position, oldest),
        };
        let piece = match &self.feed {
            Some(feed) => feed.after(store, position),
            None => Piece::read(store, kind, &self.prefix, &self.options, &mut self.view, position),
        };
        let piece = piece.map_err(too_old)?;
        self.position = piece.until;
        Ok(piece.lines)
    }

    /// Waits for a change or a time at which something is due. Says whether it was a change; None when there is nothing to come.
    async fn wait(&mut self) -> Option<bool> {
        tokio::select! {
            biased;
            outcome = self.changed.changed() => outcome.is_ok().then_some(true),
            () = self.timer.as_mut() => Some(false),
        }
    }
}

/// Every minute, and shortly before the end: who asks for a short watch learns by it how far nothing happened.
fn next_bookmark(now: Instant, deadline: Instant) -> Option<Instant> {
    let last = deadline.checked_sub(LAST_BOOKMARK)?;
    (last > now).then(|| last.min(now + BOOKMARKS))
}

fn too_old(kind: &Kind, revision: u64, oldest: u64) -> ApiError {
    // Those of events come from etcd itself, those of others from the real server's cache.
    if kind.plural == "events" && kind.definition.is_none() {
        return ApiError::expired("The resourceVersion for the provided watch is too old.");
    }
    ApiError::expired(format!("too old resource version: {revision} ({oldest})"))
}
