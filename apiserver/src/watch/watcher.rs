//! One watch.

use super::event;
use crate::http::{Body, Broken, Form};
use crate::kinds::Kind;
use crate::registry::{ListOptions, Registry, Target, too_large};
use crate::status::ApiError;
use crate::store::{Store, Unserved};
use bytes::Bytes;
use futures::stream;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Frame;
use rand::RngExt as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// How many changes are read at once.
const BATCH: usize = 256;
/// How often a quiet watch is told of the newest version.
const BOOKMARKS: Duration = Duration::from_mins(1);
/// How long a watch lasts that says nothing of it, at least, in seconds; at most twice that.
const SHORTEST: u64 = 1800;

/// One watch, which becomes the body of its answer.
pub(crate) struct Watcher {
    registry: Arc<Registry>,
    target: Target,
    options: ListOptions,
    form: Form,
    /// What was sent, or need not be.
    position: u64,
    changed: watch::Receiver<u64>,
    deadline: Instant,
    next_bookmark: Instant,
    /// What is to be sent before anything else.
    first: Vec<u8>,
    ended: bool,
}

impl Watcher {
    /// Starts where the options say.
    ///
    /// # Errors
    ///
    /// 410 where the history does not reach back so far; 400 for selectors of unknown fields.
    pub(crate) fn new(
        registry: Arc<Registry>,
        target: Target,
        mut options: ListOptions,
        form: Form,
    ) -> Result<Self, ApiError> {
        target.kind.check_fields(&options.fields)?;
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
        let mut watcher = Self {
            position: 0,
            changed,
            deadline: now + Duration::from_secs(seconds),
            next_bookmark: now + BOOKMARKS,
            first: vec![],
            ended: false,
            registry,
            target,
            options,
            form,
        };
        watcher.start()?;
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
                store.changes(&self.target.kind.table(), self.position, 1)
            {
                return Err(too_old(self.position, oldest));
            }
            return Ok(());
        }
        if revision > store.revision() {
            self.position = revision;
            return Err(too_large(revision, store.revision()));
        }
        let prefix = self.prefix();
        let page = store.list(&self.target.kind.table(), &prefix, "", None);
        let page = page.map_err(|_| ApiError::internal("the newest version cannot be listed"))?;
        let (kind, options) = (&self.target.kind, &self.options);
        for object in &page.objects {
            if options.labels.matches(object.value()) && options.fields.matches(kind, object.value()) {
                self.first.extend(event::event("ADDED", kind, self.form, object));
            }
        }
        if self.options.initial_events == Some(true) && self.options.bookmarks {
            self.first
                .extend(event::bookmark(kind, self.form, page.revision, true));
        }
        self.position = page.revision;
        Ok(())
    }

    fn prefix(&self) -> String {
        match self.target.namespace.as_str() {
            "" => String::new(),
            namespace => Store::key(namespace, ""),
        }
    }

    /// The events, as they come.
    pub(crate) fn into_body(self) -> Body {
        let frames = stream::unfold(self, |mut watcher| async move {
            let bytes = watcher.next().await?;
            Some((Ok::<_, Broken>(Frame::data(Bytes::from(bytes))), watcher))
        });
        StreamBody::new(frames).boxed_unsync()
    }

    /// What is to be sent next; None at the end.
    async fn next(&mut self) -> Option<Vec<u8>> {
        if !self.first.is_empty() {
            return Some(std::mem::take(&mut self.first));
        }
        loop {
            if self.ended || Instant::now() >= self.deadline {
                return None;
            }
            self.changed.mark_unchanged();
            match self.read() {
                Ok(bytes) if !bytes.is_empty() => return Some(bytes),
                Ok(_) => {}
                Err(error) => {
                    self.ended = true;
                    return Some(event::error(&error));
                }
            }
            if !self.wait().await {
                return None;
            }
            if self.options.bookmarks && Instant::now() >= self.next_bookmark {
                self.next_bookmark = Instant::now() + BOOKMARKS;
                // Everything up to here was read just now, unless more came since.
                let revision = self.position;
                return Some(event::bookmark(&self.target.kind, self.form, revision, false));
            }
        }
    }

    /// The changes since the last time that are something to this watch.
    fn read(&mut self) -> Result<Vec<u8>, ApiError> {
        let kind: &Kind = &self.target.kind;
        let prefix = self.prefix();
        let mut bytes = vec![];
        loop {
            let changes = self.registry.store.changes(&kind.table(), self.position, BATCH);
            let (changes, until) = changes.map_err(|why| match why {
                Unserved::Compacted(oldest) | Unserved::Future(oldest) => too_old(self.position, oldest),
            })?;
            for change in changes.iter().filter(|change| change.key.starts_with(&prefix)) {
                if let Some(line) = event::of_change(kind, &self.options, self.form, change) {
                    bytes.extend(line);
                }
            }
            self.position = self.position.max(until);
            if changes.len() < BATCH || !bytes.is_empty() {
                return Ok(bytes);
            }
        }
    }

    /// Waits for a change or a time at which something is due; false when there is nothing to come.
    async fn wait(&mut self) -> bool {
        let until = if self.options.bookmarks {
            self.deadline.min(self.next_bookmark)
        } else {
            self.deadline
        };
        match tokio::time::timeout_at(until, self.changed.changed()).await {
            Ok(outcome) => outcome.is_ok(),
            Err(_) => true,
        }
    }
}

fn too_old(revision: u64, oldest: u64) -> ApiError {
    ApiError::expired(format!("too old resource version: {revision} ({oldest})"))
}
