//! A watch and its event stream.

use super::converted;
use super::event::{self, EventSerializer};
use super::feed::{FeedChunk, SharedFeed, SharedFeeds, too_old};
use crate::kinds::{Catalog, Kind};
use crate::registry::{Registry, Target, too_large_resource_version};
use crate::render::{Body, ConnectionAborted, Representation, ResponseFormat};
use crate::request::ListOptions;
use crate::selectors::FieldSelector;
use crate::status::ApiError;
use crate::storage::{RevisionError, Store};
use bytes::Bytes;
use futures::stream;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Frame;
use rand::RngExt as _;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, Sleep};

/// The interval between bookmarks.
const BOOKMARK_INTERVAL: Duration = Duration::from_mins(1);
/// How long before the end of a watch the last bookmark is sent.
const FINAL_BOOKMARK_LEAD: Duration = Duration::from_secs(2);
/// With this many identical watches, events are batched: sending each event by itself would take most of the CPU time of the server and its
/// clients. The first event after a pause is sent at once.
const BATCHING_MIN_WATCHES: usize = 32;
/// The delay of a batch after the previous one, per identical watch.
const BATCH_DELAY_PER_WATCH: Duration = Duration::from_micros(3);
/// The shortest delay of a batch.
const MIN_BATCH_DELAY: Duration = Duration::from_millis(2);
/// The shortest default timeout of a watch in seconds; the longest is twice that.
const MIN_DEFAULT_TIMEOUT_SECS: i64 = 1800;
/// Longer timeouts are cut: no watch lasts a century.
const MAX_TIMEOUT_SECS: i64 = 1 << 32;

/// A watch, which becomes the body of its response.
pub(crate) struct Watcher {
    registry: Arc<Registry>,
    target: Target,
    prefix: String,
    options: ListOptions,
    serializer: EventSerializer,
    /// The feed that is shared with identical watches.
    feed: Option<Arc<SharedFeed>>,
    /// The revision up to which events were sent or are not needed.
    position: u64,
    changed: watch::Receiver<u64>,
    /// For custom resources: the kinds that are served.
    catalog: Option<watch::Receiver<Arc<Catalog>>>,
    /// When something was last sent.
    last_sent: Instant,
    deadline: Instant,
    /// Fires at the next bookmark or the deadline.
    timer: Pin<Box<Sleep>>,
    /// None after the last bookmark.
    next_bookmark: Option<Instant>,
    /// Bytes to send first: the initial events or an error.
    initial: Vec<u8>,
    ended: bool,
}

impl Watcher {
    /// Starts a watch as the options request. If that is impossible, the watch sends an ERROR event and ends: kube-apiserver reports errors
    /// of valid and authorized watches as events.
    ///
    /// # Errors
    ///
    /// 400 for selectors of unknown fields, and of another name than that of the path.
    pub(crate) fn new(
        registry: Arc<Registry>,
        feeds: &SharedFeeds,
        target: Target,
        mut options: ListOptions,
        format: ResponseFormat,
    ) -> Result<Self, ApiError> {
        target.kind.check_field_selector(&options.fields)?;
        if !target.name.is_empty() && options.fields.is_empty() {
            options.fields = FieldSelector::parse(&format!("metadata.name={}", target.name))?;
        } else if !target.name.is_empty()
            && options.fields.exact_value("metadata.name") != Some(target.name.as_str())
        {
            let why = "fieldSelector metadata.name doesn't match requested name";
            return Err(ApiError::bad_request(why));
        }
        let changed = registry.store.subscribe_table(&target.kind.table());
        let is_custom = target.kind.definition.is_some();
        let seconds = options
            .timeout
            .filter(|seconds| *seconds != 0)
            .unwrap_or_else(|| {
                rand::rng().random_range(MIN_DEFAULT_TIMEOUT_SECS..2 * MIN_DEFAULT_TIMEOUT_SECS)
            });
        let now = Instant::now();
        let deadline = now + Duration::from_secs(seconds.clamp(0, MAX_TIMEOUT_SECS).unsigned_abs());
        let next_bookmark = options.bookmarks.then(|| next_bookmark(now, deadline)).flatten();
        let prefix = Store::key(&target.namespace, "");
        let mut watcher = Self {
            feed: match target.kind.conversion_webhook() {
                Some(_) => None,
                None => feeds.get_or_create(&target.kind, &prefix, &options, format),
            },
            timer: Box::pin(tokio::time::sleep_until(next_bookmark.unwrap_or(deadline))),
            prefix,
            position: 0,
            changed,
            catalog: is_custom.then(|| registry.subscribe_catalog()),
            last_sent: now,
            deadline,
            next_bookmark,
            initial: vec![],
            ended: false,
            registry,
            target,
            options,
            serializer: EventSerializer::new(format),
        };
        let started = if seconds < 0 {
            Err(ApiError::new(500, "InternalError", "context deadline exceeded"))
        } else {
            watcher.start()
        };
        if let Err(error) = started {
            watcher.initial = event::error(format, &error);
            watcher.ended = true;
        }
        Ok(watcher)
    }

    /// Without a resource version, or at version 0, a watch starts with the existing objects. With bookmarks, one ends them.
    fn start(&mut self) -> Result<(), ApiError> {
        let (store, revision) = (&self.registry.store, self.options.revision.unwrap_or(0));
        let with_initial_events = self.options.initial_events.unwrap_or(revision == 0);
        if !with_initial_events {
            self.position = if revision == 0 { store.revision() } else { revision };
            // A version in the future is handled when the stream is read.
            if let Err(why @ RevisionError::Compacted(_)) =
                store.check_watchable(&self.target.kind.table(), self.position)
            {
                return Err(too_old(&self.target.kind, self.position, &why));
            }
            return Ok(());
        }
        if revision > store.revision() {
            let error = too_large_resource_version(&self.target.kind, revision, store.revision());
            // Also for kinds whose lists do not ask to retry.
            return Err(error.with_retry_after(1));
        }
        let page = store.list(&self.target.kind.table(), &self.prefix, "", None);
        let page = page.map_err(|_| ApiError::internal("the newest version cannot be listed"))?;
        let (kind, options) = (&self.target.kind, &self.options);
        for object in &self.registry.convert_by_webhook(kind, page.objects)? {
            if options.matches(kind, object) {
                event::append_event("ADDED", kind, &mut self.serializer, object, &mut self.initial);
            }
        }
        if self.options.bookmarks {
            self.initial
                .extend(event::bookmark(kind, &mut self.serializer, page.revision, true));
        }
        self.position = page.revision;
        Ok(())
    }

    /// Returns the events as a response body.
    pub(crate) fn into_body(self) -> Body {
        let frames = stream::unfold(self, |mut watcher| async move {
            let bytes = watcher.next().await?;
            // kube-apiserver ends a watch in this format at its first event, because an object is not a list.
            if watcher.serializer.format.representation == Representation::PartialMetadataList {
                return None;
            }
            Some((Ok::<_, ConnectionAborted>(Frame::data(bytes)), watcher))
        });
        StreamBody::new(frames).boxed_unsync()
    }

    /// Returns the next bytes to send; None at the end.
    async fn next(&mut self) -> Option<Bytes> {
        if !self.initial.is_empty() {
            return Some(std::mem::take(&mut self.initial).into());
        }
        let mut has_changes = self.changed.has_changed().unwrap_or(true);
        loop {
            // Before the read, so that what happened until now is sent before the watch ends.
            let served = self.served_kind();
            let is_served = self.catalog.is_none() || served.is_some();
            // kube-apiserver ends a watch when the definition changes: its events would be those of the former definition.
            let is_redefined = served.is_some_and(|now| !now.is_served_like(&self.target.kind));
            if self.ended || Instant::now() >= self.deadline || is_redefined {
                return None;
            }
            if has_changes {
                self.delay_batch().await;
            }
            self.changed.mark_unchanged();
            let read = match self.target.kind.conversion_webhook() {
                Some(_) => self.read_converted().await,
                None => self.read(),
            };
            let mut bytes = match read {
                Ok(bytes) => bytes,
                Err(error) => {
                    self.ended = true;
                    return Some(event::error(self.serializer.format, &error).into());
                }
            };
            let now = Instant::now();
            if self.next_bookmark.is_some_and(|due| due <= now) {
                self.next_bookmark = next_bookmark(now, self.deadline);
                self.timer
                    .as_mut()
                    .reset(self.next_bookmark.unwrap_or(self.deadline));
                let bookmark = event::bookmark(&self.target.kind, &mut self.serializer, self.position, false);
                bytes = [&*bytes, &bookmark].concat().into();
            }
            if !bytes.is_empty() {
                self.last_sent = now;
                return Some(bytes);
            }
            if !is_served {
                return None;
            }
            has_changes = self.wait().await?;
        }
    }

    /// Returns the present kind of a custom resource.
    fn served_kind(&mut self) -> Option<Arc<Kind>> {
        let kind = &self.target.kind;
        let catalog = self.catalog.as_mut()?.borrow_and_update();
        catalog
            .resource(&kind.group, &kind.version, &kind.plural)
            .cloned()
    }

    /// Delays the next batch of events if there are many identical watches.
    async fn delay_batch(&self) {
        let watches = self.feed.as_ref().map_or(1, Arc::strong_count);
        if watches >= BATCHING_MIN_WATCHES {
            let delay =
                MIN_BATCH_DELAY.max(BATCH_DELAY_PER_WATCH * u32::try_from(watches).unwrap_or(u32::MAX));
            tokio::time::sleep_until(self.deadline.min(self.last_sent + delay)).await;
        }
    }

    /// Reads the events since the last read that this watch selects.
    fn read(&mut self) -> Result<Bytes, ApiError> {
        let position = self.position;
        let (store, kind) = (&self.registry.store, &self.target.kind);
        let chunk = match &self.feed {
            Some(feed) => feed.after(store, position),
            None => FeedChunk::read(
                store,
                kind,
                &self.prefix,
                &self.options,
                &mut self.serializer,
                position,
            ),
        };
        let chunk = chunk.map_err(|why| too_old(kind, position, &why))?;
        self.position = chunk.until;
        Ok(chunk.lines)
    }

    /// Reads like [`Self::read`] for a kind that a webhook converts, on a thread that may block.
    async fn read_converted(&mut self) -> Result<Bytes, ApiError> {
        let (registry, kind) = (self.registry.clone(), self.target.kind.clone());
        let (prefix, options, position) = (self.prefix.clone(), self.options.clone(), self.position);
        let format = self.serializer.format;
        let mut serializer = std::mem::replace(&mut self.serializer, EventSerializer::new(format));
        let read = spawn_blocking(move || {
            let chunk = converted::read(&registry, &kind, &prefix, &options, &mut serializer, position);
            (chunk, serializer)
        });
        let (chunk, serializer) = read.await.map_err(ApiError::internal)?;
        self.serializer = serializer;
        let chunk = chunk?;
        self.position = chunk.until;
        Ok(chunk.lines)
    }

    /// Waits for a change or the timer. Returns true for a change; None if there will be no more.
    async fn wait(&mut self) -> Option<bool> {
        tokio::select! {
            biased;
            outcome = self.changed.changed() => outcome.is_ok().then_some(true),
            () = self.timer.as_mut() => Some(false),
            () = changed_catalog(&mut self.catalog) => Some(false),
        }
    }
}

/// Waits for another catalog; without end where there is none to wait for.
async fn changed_catalog(catalog: &mut Option<watch::Receiver<Arc<Catalog>>>) {
    if let Some(catalog) = catalog
        && catalog.changed().await.is_ok()
    {
        return;
    }
    std::future::pending::<()>().await;
}

/// Returns the time of the next bookmark: every minute, and shortly before the end, so that short watches get one too.
fn next_bookmark(now: Instant, deadline: Instant) -> Option<Instant> {
    let last = deadline.checked_sub(FINAL_BOOKMARK_LEAD)?;
    (last > now).then(|| last.min(now + BOOKMARK_INTERVAL))
}
