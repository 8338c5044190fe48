//! What the server holds, and who is told when it changes.

use std::{sync::Arc, time::Duration};

use kubewright_benches::pods::{PodVersion, Pods};
use parking_lot::Mutex;
use tokio::{
    sync::{Notify, mpsc},
    time::{MissedTickBehavior, interval},
};

/// Bookmarks come as often as the API server's.
const BOOKMARKS: Duration = Duration::from_mins(1);
/// Of so many events one is a deletion, and the next one an addition in its place.
const DELETION_EVERY: u32 = 32;

/// An event of the watch.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Added(PodVersion),
    Modified(PodVersion),
    Deleted(PodVersion),
    /// The marker was modified: all events before it were sent.
    Marker(u32),
    Bookmark(u32),
    /// The watch's version is gone; the watch ends.
    Expired,
}

/// All Pods at one moment, in the order in which they are listed.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) pods: Arc<Vec<PodVersion>>,
    /// The version of the marker.
    pub(crate) marker: u32,
    /// The newest version.
    pub(crate) version: u32,
}

/// The Pods, and the watches that run.
pub(crate) struct Feed {
    forms: Arc<Pods>,
    state: Mutex<State>,
    /// Somebody watches.
    watched: Notify,
    burst: u32,
    pause: Duration,
}

struct State {
    /// In an order that no event changes.
    pods: Vec<PodVersion>,
    marker: u32,
    version: u32,
    /// What was listed last, unless there were events since.
    snapshot: Option<Snapshot>,
    next_ordinal: u32,
    events: u32,
    watches: Vec<mpsc::UnboundedSender<Event>>,
}

impl Feed {
    pub(crate) fn new(forms: Arc<Pods>, objects: u32, burst: u32, pause: u64) -> Arc<Self> {
        let pods = (0..objects).map(|ordinal| PodVersion {
            ordinal,
            version: ordinal,
        });
        let feed = Arc::new(Self {
            forms,
            state: Mutex::new(State {
                pods: pods.collect(),
                marker: objects,
                version: objects,
                snapshot: None,
                next_ordinal: objects,
                events: 0,
                watches: Vec::new(),
            }),
            watched: Notify::new(),
            burst,
            pause: Duration::from_millis(pause),
        });
        let bookmarks = feed.clone();
        tokio::spawn(async move {
            let mut ticks = interval(BOOKMARKS);
            loop {
                ticks.tick().await;
                let mut state = bookmarks.state.lock();
                let version = state.version;
                state.tell(Event::Bookmark(version));
            }
        });
        feed
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.state.lock().snapshot(&self.forms)
    }

    /// What there is, and all events from now on.
    pub(crate) fn watch(&self) -> (Snapshot, mpsc::UnboundedReceiver<Event>) {
        let (sender, events) = mpsc::unbounded_channel();
        let mut state = self.state.lock();
        state.watches.push(sender);
        self.watched.notify_one();
        (state.snapshot(&self.forms), events)
    }

    /// Sends events in bursts, then the marker; waits for a watch first.
    pub(crate) async fn send(&self, count: u32) {
        while self.state.lock().watches.is_empty() {
            self.watched.notified().await;
        }
        let mut ticks = interval(self.pause.max(Duration::from_millis(1)));
        // Who is slow is not sent more at a time for it.
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut left = count;
        while left > 0 {
            ticks.tick().await;
            let mut state = self.state.lock();
            for _ in 0..left.min(self.burst) {
                let event = state.next_event();
                state.tell(event);
            }
            left -= left.min(self.burst);
        }
        let mut state = self.state.lock();
        let version = state.next_version();
        state.marker = version;
        state.tell(Event::Marker(version));
    }

    /// Changes so many Pods of a hundred without telling anybody, and the marker; ends all watches.
    pub(crate) fn expire(&self, percent: u32) {
        let mut state = self.state.lock();
        let count = u32::try_from(state.pods.len()).unwrap_or(u32::MAX);
        let changed = u64::from(count) * u64::from(percent) / 100;
        for _ in 0..changed {
            // Nobody is told.
            state.next_event();
        }
        state.marker = state.next_version();
        state.tell(Event::Expired);
        state.watches.clear();
    }
}

impl State {
    fn snapshot(&mut self, forms: &Pods) -> Snapshot {
        let snapshot = self.snapshot.get_or_insert_with(|| {
            let mut pods = self.pods.clone();
            forms.sort(&mut pods);
            Snapshot {
                pods: Arc::new(pods),
                marker: self.marker,
                version: self.version,
            }
        });
        snapshot.clone()
    }

    fn next_version(&mut self) -> u32 {
        self.snapshot = None;
        self.version += 1;
        self.version
    }

    /// Each Pod in turn, but not in the order of the list.
    fn next_event(&mut self) -> Event {
        let version = self.next_version();
        let number = self.events;
        self.events += 1;
        // A deletion and the addition after it are of one place.
        let is_addition = number % DELETION_EVERY == DELETION_EVERY - 1;
        let turn = if is_addition { number - 1 } else { number };
        let place = u64::from(turn) * 7_919_393 % self.pods.len() as u64;
        let pod = &mut self.pods[usize::try_from(place).unwrap_or_default()];
        pod.version = version;
        if is_addition {
            pod.ordinal = self.next_ordinal;
            self.next_ordinal += 1;
            Event::Added(*pod)
        } else if number % DELETION_EVERY == DELETION_EVERY - 2 {
            Event::Deleted(*pod)
        } else {
            Event::Modified(*pod)
        }
    }

    fn tell(&mut self, event: Event) {
        self.watches.retain(|watch| watch.send(event).is_ok());
    }
}
