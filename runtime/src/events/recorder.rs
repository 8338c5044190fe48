//! Taking events without waiting.

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

/// How many events wait at most; what client-go takes.
const QUEUE: usize = 1000;
/// How many events are on their way at once. One at a time would fall behind a controller with two workers already.
pub(super) const LANES: usize = 16;
/// What the API server takes at most, in bytes.
const LONGEST_NOTE: usize = 1024;
const LONGEST_WORD: usize = 128;

/// Takes events of one operator and never waits. Cloning copies a pointer.
///
/// Events are for people. They are sent in the background, at most once each, those about one object in order, and may be lost: when a thousand wait
/// already ([`dropped`](Self::dropped) counts them), when the API server refuses them, when the operator ends before they are sent.
///
/// # What is written
///
/// - An event equal to one of the last six minutes (object, type, reason, action, note) makes no new event; the first becomes a series
///   with a count. The first repeat is written at once, further ones every 30 seconds at most.
/// - From the tenth different note on, within ten minutes, events of one object, type and reason are combined into one series, whose
///   note says so.
/// - Of each type, 25 writes about an object are allowed at once, and one more every five minutes. Above that new events are left
///   out ([`suppressed`](Self::suppressed) counts them), counts of series are written later.
///
/// All of this is remembered of about the last 4096 each. The limits are those of client-go's event correlator.
///
/// # Where
///
/// An event lies in the namespace of its object. About a cluster-scoped object it lies in `default`, where `kubectl describe` finds it: the
/// API server takes it nowhere else. So an operator with a controller of a cluster-scoped kind gets a permission there, whatever its
/// scope. One whose scope is namespaced, and which writes events about cluster-scoped objects of other kinds, has to ask for that:
/// with [`needs_in`](crate::controller::Setup::needs_in) and [`Place::DefaultNamespace`](crate::controller::Place::DefaultNamespace). Events that are
/// forbidden are logged once.
#[derive(Clone)]
pub struct Recorder {
    /// An object's events are all in the same one.
    lanes: Arc<[mpsc::UnboundedSender<Recorded>]>,
    shared: Arc<Shared>,
}

/// What recorders and the writer have in common.
#[derive(Default)]
pub(super) struct Shared {
    /// How many events wait.
    pub(super) waiting: AtomicUsize,
    dropped: AtomicU64,
    pub(super) suppressed: AtomicU64,
    /// Whether it was logged that events are forbidden.
    pub(super) told_of_forbidden: AtomicBool,
    /// The default unless it is set.
    api: OnceLock<EventsApi>,
}

impl Shared {
    pub(super) fn api(&self) -> EventsApi {
        self.api.get().copied().unwrap_or_default()
    }
}

/// Whether an event is bad news.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventType {
    /// As it should be.
    Normal,
    /// Somebody should look.
    Warning,
}

/// An event as it was recorded, before repeats are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// What it is about.
    pub regarding: ObjectRef,
    /// Another object that has to do with it.
    pub related: Option<ObjectRef>,
    /// Whether it is bad news.
    pub event_type: EventType,
    /// Why, as one word for machines, such as `Synced`.
    pub reason: String,
    /// What the operator did or tried to do, as one word for machines.
    pub action: String,
    /// What happened, for people.
    pub note: String,
    /// When.
    pub time: Timestamp,
}

impl Recorder {
    /// A recorder, and the writer that sends what it takes. `controller` is who reports: the operator's name.
    ///
    /// Needs neither a connection nor a runtime; events wait until the writer [runs](EventWriter::run).
    pub fn pipeline(controller: impl Into<Arc<str>>) -> (Self, EventWriter) {
        let (lanes, events): (Vec<_>, Vec<_>) = (0..LANES).map(|_| mpsc::unbounded_channel()).unzip();
        let shared = Arc::<Shared>::default();
        let writer = EventWriter::new(&controller.into(), events, shared.clone());
        let lanes = lanes.into();
        (Self { lanes, shared }, writer)
    }

    /// Chooses the API that events are written to, of all clones of this recorder. The first choice counts.
    ///
    /// In an operator, [`Setup::events_api`](crate::controller::Setup::events_api) does this.
    pub fn set_api(&self, api: EventsApi) {
        self.shared.api.get_or_init(|| api);
    }

    /// The API that events are written to.
    pub fn api(&self) -> EventsApi {
        self.shared.api()
    }

    /// Records an event about an object: `recorder.event(&foo, EventType::Normal, "Synced", "created deployment web")`.
    ///
    /// `reason` is one word, at most 128 bytes; `note` is cut at 1024 bytes.
    pub fn event(
        &self,
        regarding: &impl Regarding,
        event_type: EventType,
        reason: impl Into<String>,
        note: impl Into<String>,
    ) {
        self.record(regarding, None, event_type, reason, "Reconcile", note);
    }

    /// [`event`](Self::event) that also names the action and, if there is one, a second object: the one that was created, say.
    pub fn record(
        &self,
        regarding: &impl Regarding,
        related: Option<ObjectRef>,
        event_type: EventType,
        reason: impl Into<String>,
        action: impl Into<String>,
        note: impl Into<String>,
    ) {
        let event = Recorded {
            regarding: regarding.object_ref(),
            related,
            event_type,
            reason: cut(reason.into(), LONGEST_WORD),
            action: cut(action.into(), LONGEST_WORD),
            note: cut_note(note.into()),
            time: Timestamp::now(),
        };
        if let Err(event) = self.send(event) {
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
            tracing::debug!(%event, "event dropped: a thousand others wait, or the operator is stopping");
        }
    }

    /// Puts it into its lane, or gives it back.
    fn send(&self, event: Recorded) -> Result<(), Box<Recorded>> {
        let waiting = &self.shared.waiting;
        // The remainder fits whatever the size of a pointer.
        let lane = usize::try_from(digest(&event.regarding.name) % LANES as u64).unwrap_or_default();
        let sent = if waiting.fetch_add(1, Ordering::Relaxed) < QUEUE {
            self.lanes[lane].send(event).map_err(|refused| refused.0)
        } else {
            Err(event)
        };
        sent.map_err(|event| {
            waiting.fetch_sub(1, Ordering::Relaxed);
            Box::new(event)
        })
    }

    /// How many events were dropped because too many waited.
    pub fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }

    /// How many events were left out because there were too many about their objects.
    pub fn suppressed(&self) -> u64 {
        self.shared.suppressed.load(Ordering::Relaxed)
    }
}

impl EventType {
    /// As the API writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// `Warning Failed default/foo: note`, as client-go's fake recorder has it, with the object.
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

pub(super) fn cut_note(note: String) -> String {
    cut(note, LONGEST_NOTE)
}

/// Cuts at a character's boundary, so that at most `limit` bytes are left.
fn cut(mut text: String, limit: usize) -> String {
    text.truncate(text.floor_char_boundary(limit));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_between_characters() {
        assert_eq!(cut("aä".to_owned(), 2), "a");
        assert_eq!(cut("aä".to_owned(), 3), "aä");
        assert_eq!(cut("a".to_owned(), 0), "");
    }
}
