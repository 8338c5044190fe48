//! The event recorder: takes events without blocking.

use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
};

use jiff::Timestamp;
use tokio::sync::mpsc;

use super::{EventWriter, EventsApi, ObjectRef, Regarding, series::digest};

/// The most events that are queued; client-go's default.
const MAX_QUEUED_EVENTS: usize = 1000;
/// How many events are sent concurrently. One at a time would be slower than a controller with two workers.
pub(super) const SHARDS: usize = 16;
/// The API server's limit for notes.
const MAX_NOTE_BYTES: usize = 1024;
/// The API server's limit for reasons and actions.
const MAX_REASON_BYTES: usize = 128;

/// Records the events of one operator without blocking. Cloning copies a pointer.
///
/// Events are for people. They are sent in the background, at most once each, in order per object. They may be lost: when a thousand are
/// queued already ([`dropped`](Self::dropped) counts them), when the API server refuses them, when the operator ends before they are sent.
///
/// # Aggregation, series and rate limit
///
/// - An event that repeats one of the last six minutes (object, type, reason, action, note) does not create another Event; it increments the
///   count of a series. The first repeat is written at once, further ones at most every 30 seconds.
/// - From the tenth different note within ten minutes on, events of one object, type and reason are aggregated into one series, with a
///   prefix in its note.
/// - For each object and type, 25 writes are allowed at once, and one more every five minutes. Beyond that, new events are dropped
///   ([`suppressed`](Self::suppressed) counts them), and counts of series are written later.
///
/// Each of these caches holds about 4096 entries. The limits are those of client-go's event correlator.
///
/// # Namespace
///
/// An event is created in the namespace of its object; about a cluster-scoped object in `default`, where `kubectl describe` finds it: the
/// API server accepts it nowhere else. So an operator with a controller of a cluster-scoped kind gets a permission there, whatever its
/// scope. A namespaced operator that writes events about cluster-scoped objects of other kinds must request it, with
/// [`needs_in`](crate::controller::Setup::needs_in) and
/// [`PermissionScope::DefaultNamespace`](crate::controller::PermissionScope::DefaultNamespace). Forbidden events are logged once.
#[derive(Clone)]
pub struct Recorder {
    /// All events of an object go to the same shard. A queue allocates the memory of 32 entries when it is created: they are pointers.
    shards: Arc<[mpsc::UnboundedSender<Box<Recorded>>]>,
    shared: Arc<RecorderShared>,
    /// The reporting controller. Without: the operator.
    controller: Option<Arc<str>>,
}

/// Shared by recorders and the writer.
#[derive(Default)]
pub(super) struct RecorderShared {
    /// The number of queued events.
    pub(super) waiting: AtomicUsize,
    dropped: AtomicU64,
    pub(super) suppressed: AtomicU64,
    /// Whether a forbidden event was logged.
    pub(super) logged_forbidden: AtomicBool,
    /// Unset: the default.
    api: OnceLock<EventsApi>,
}

impl RecorderShared {
    pub(super) fn api(&self) -> EventsApi {
        self.api.get().copied().unwrap_or_default()
    }
}

/// The type of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventType {
    /// Information.
    Normal,
    /// A problem.
    Warning,
}

/// An event as it was recorded, before it is aggregated and counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The object that it is about.
    pub regarding: ObjectRef,
    /// A second, related object.
    pub related: Option<ObjectRef>,
    /// Normal or warning.
    pub event_type: EventType,
    /// The reason, a CamelCase word such as `Synced`.
    pub reason: String,
    /// The action that was taken or failed, a CamelCase word.
    pub action: String,
    /// The message for people.
    pub note: String,
    /// When it was recorded.
    pub time: Timestamp,
    /// The reporting controller, if it is not the operator.
    pub controller: Option<Arc<str>>,
}

impl Recorder {
    /// Creates a recorder and the writer that sends its events. `controller` is the reporting controller: the operator's name.
    ///
    /// It needs neither a connection nor a runtime; events are queued until the writer [runs](EventWriter::run).
    #[doc(hidden)]
    pub fn pipeline(controller: impl Into<Arc<str>>) -> (Self, EventWriter) {
        let (shards, events): (Vec<_>, Vec<_>) = (0..SHARDS).map(|_| mpsc::unbounded_channel()).unzip();
        let shared = Arc::<RecorderShared>::default();
        let writer = EventWriter::new(&controller.into(), events, shared.clone());
        let shards = shards.into();
        let recorder = Self {
            shards,
            shared,
            controller: None,
        };
        (recorder, writer)
    }

    /// Returns a recorder whose events name this controller as the reporting one, in place of the operator.
    ///
    /// In an operator, [`Setup::component`](crate::controller::Setup::component) does this.
    #[must_use]
    pub fn reporting_as(&self, controller: impl Into<Arc<str>>) -> Self {
        Self {
            controller: Some(controller.into()),
            ..self.clone()
        }
    }

    /// Sets the API that events are written to, for all clones of this recorder. Only the first call has an effect.
    ///
    /// In an operator, [`Setup::events_api`](crate::controller::Setup::events_api) does this.
    pub fn set_api(&self, api: EventsApi) {
        self.shared.api.get_or_init(|| api);
    }

    /// Returns the API that events are written to.
    pub fn api(&self) -> EventsApi {
        self.shared.api()
    }

    /// Records an event about an object: `recorder.event(&foo, EventType::Normal, "Synced", "created deployment web")`.
    ///
    /// `reason` is a CamelCase word; it is truncated to 128 bytes, `note` to 1024 bytes.
    pub fn event(
        &self,
        regarding: &impl Regarding,
        event_type: EventType,
        reason: impl Into<String>,
        note: impl Into<String>,
    ) {
        self.record(regarding, None, event_type, reason, "Reconcile", note);
    }

    /// Records an event with an action and, optionally, a second object, for instance the created one.
    pub fn record(
        &self,
        regarding: &impl Regarding,
        related: Option<ObjectRef>,
        event_type: EventType,
        reason: impl Into<String>,
        action: impl Into<String>,
        note: impl Into<String>,
    ) {
        let event = Box::new(Recorded {
            regarding: regarding.object_ref(),
            related,
            event_type,
            reason: truncate(reason.into(), MAX_REASON_BYTES),
            action: truncate(action.into(), MAX_REASON_BYTES),
            note: truncate_note(note.into()),
            time: Timestamp::now(),
            controller: self.controller.clone(),
        });
        if let Err(event) = self.enqueue(event) {
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
            tracing::debug!(%event, "event dropped: the queue is full, or the operator is stopping");
        }
    }

    /// Queues the event in its shard; returns it if the queue is full or closed.
    fn enqueue(&self, event: Box<Recorded>) -> Result<(), Box<Recorded>> {
        let waiting = &self.shared.waiting;
        // The remainder fits into any usize.
        let shard = usize::try_from(digest(&event.regarding.name) % SHARDS as u64).unwrap_or_default();
        let queued = if waiting.fetch_add(1, Ordering::Relaxed) < MAX_QUEUED_EVENTS {
            self.shards[shard].send(event).map_err(|error| error.0)
        } else {
            Err(event)
        };
        queued.inspect_err(|_| {
            waiting.fetch_sub(1, Ordering::Relaxed);
        })
    }

    /// Returns how many events were dropped because the queue was full.
    pub fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }

    /// Returns how many events were dropped by the rate limit of their objects.
    pub fn suppressed(&self) -> u64 {
        self.shared.suppressed.load(Ordering::Relaxed)
    }
}

impl EventType {
    /// Returns the API's value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// `Warning Failed default/foo: note`: the format of client-go's FakeRecorder, with the object.
impl fmt::Display for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (event_type, kind) = (self.event_type.as_str(), &self.regarding.info.kind);
        write!(
            f,
            "{event_type} {} {kind} {}: {}",
            self.reason, self.regarding.name, self.note
        )
    }
}

pub(super) fn truncate_note(note: String) -> String {
    truncate(note, MAX_NOTE_BYTES)
}

/// Truncates to at most `limit` bytes, at a character boundary.
fn truncate(mut text: String, limit: usize) -> String {
    text.truncate(text.floor_char_boundary(limit));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_truncated_at_character_boundaries() {
        assert_eq!(truncate("aä".to_owned(), 2), "a");
        assert_eq!(truncate("aä".to_owned(), 3), "aä");
        assert_eq!(truncate("a".to_owned(), 0), "");
    }
}
