//! The server's objects, and the watches that receive their changes.

use std::{sync::Arc, time::Duration};

use kubewright_benches::pods::{PodVersion, Pods};
use parking_lot::Mutex;
use tokio::{
    sync::{Notify, mpsc},
    time::{MissedTickBehavior, interval},
};

/// Interval of bookmarks, as in the API server.
const BOOKMARK_INTERVAL: Duration = Duration::from_mins(1);
/// One in this many events is a deletion; the next one is an addition that replaces the deleted Pod.
const EVENTS_PER_DELETION: u32 = 32;

/// A watch event.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WatchEvent {
    Added(PodVersion),
    Modified(PodVersion),
    Deleted(PodVersion),
    /// The end marker was modified: all events before it have been sent.
    Marker(u32),
    Bookmark(u32),
    /// The watch's resource version has expired (410); the watch ends.
    Expired,
}

/// All Pods at one moment, in the order of a list.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) pods: Arc<Vec<PodVersion>>,
    /// The version of the end marker.
    pub(crate) marker: u32,
    /// The newest version.
    pub(crate) version: u32,
}

/// The Pods and the open watches.
pub(crate) struct ServerState {
    templates: Arc<Pods>,
    state: Mutex<LockedState>,
    /// Notified when a watch starts.
    watch_started: Notify,
    burst: u32,
    pause: Duration,
}

struct LockedState {
    /// In an order that events do not change.
    pods: Vec<PodVersion>,
    marker: u32,
    version: u32,
    /// The last listed snapshot; None after a change.
    snapshot: Option<Snapshot>,
    next_ordinal: u32,
    events: u32,
    watches: Vec<mpsc::UnboundedSender<WatchEvent>>,
}

impl ServerState {
    pub(crate) fn new(templates: Arc<Pods>, objects: u32, burst: u32, pause: u64) -> Arc<Self> {
        let pods = (0..objects).map(|ordinal| PodVersion {
            ordinal,
            version: ordinal,
        });
        let server = Arc::new(Self {
            templates,
            state: Mutex::new(LockedState {
                pods: pods.collect(),
                marker: objects,
                version: objects,
                snapshot: None,
                next_ordinal: objects,
                events: 0,
                watches: Vec::new(),
            }),
            watch_started: Notify::new(),
            burst,
            pause: Duration::from_millis(pause),
        });
        let bookmarks = server.clone();
        tokio::spawn(async move {
            let mut ticks = interval(BOOKMARK_INTERVAL);
            loop {
                ticks.tick().await;
                let mut state = bookmarks.state.lock();
                let version = state.version;
                state.broadcast(WatchEvent::Bookmark(version));
            }
        });
        server
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.state.lock().snapshot(&self.templates)
    }

    /// Returns the current objects, and a receiver of all following events.
    pub(crate) fn watch(&self) -> (Snapshot, mpsc::UnboundedReceiver<WatchEvent>) {
        let (sender, events) = mpsc::unbounded_channel();
        let mut state = self.state.lock();
        state.watches.push(sender);
        self.watch_started.notify_one();
        (state.snapshot(&self.templates), events)
    }

    /// Waits for a watch, then sends events in bursts, and at the end the end marker.
    pub(crate) async fn send_events(&self, count: u32) {
        while self.state.lock().watches.is_empty() {
            self.watch_started.notified().await;
        }
        let mut ticks = interval(self.pause.max(Duration::from_millis(1)));
        // Do not send several bursts at once after a delay.
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut remaining = count;
        while remaining > 0 {
            ticks.tick().await;
            let mut state = self.state.lock();
            for _ in 0..remaining.min(self.burst) {
                let event = state.next_event();
                state.broadcast(event);
            }
            remaining -= remaining.min(self.burst);
        }
        let mut state = self.state.lock();
        let version = state.next_version();
        state.marker = version;
        state.broadcast(WatchEvent::Marker(version));
    }

    /// Changes a percentage of the Pods and the end marker without sending events, then ends all watches with 410.
    pub(crate) fn expire(&self, percent: u32) {
        let mut state = self.state.lock();
        let count = u32::try_from(state.pods.len()).unwrap_or(u32::MAX);
        let changed = u64::from(count) * u64::from(percent) / 100;
        for _ in 0..changed {
            // The event is not sent.
            state.next_event();
        }
        state.marker = state.next_version();
        state.broadcast(WatchEvent::Expired);
        state.watches.clear();
    }
}

impl LockedState {
    fn snapshot(&mut self, templates: &Pods) -> Snapshot {
        let snapshot = self.snapshot.get_or_insert_with(|| {
            let mut pods = self.pods.clone();
            templates.sort(&mut pods);
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

    /// Changes the next Pod and returns its event. Each Pod is changed in turn, in another order than that of the list.
    fn next_event(&mut self) -> WatchEvent {
        let version = self.next_version();
        let number = self.events;
        self.events += 1;
        // A deletion and the following addition are at the same position.
        let is_addition = number % EVENTS_PER_DELETION == EVENTS_PER_DELETION - 1;
        let turn = if is_addition { number - 1 } else { number };
        let position = u64::from(turn) * 7_919_393 % self.pods.len() as u64;
        let pod = &mut self.pods[usize::try_from(position).unwrap_or_default()];
        pod.version = version;
        if is_addition {
            pod.ordinal = self.next_ordinal;
            self.next_ordinal += 1;
            WatchEvent::Added(*pod)
        } else if number % EVENTS_PER_DELETION == EVENTS_PER_DELETION - 2 {
            WatchEvent::Deleted(*pod)
        } else {
            WatchEvent::Modified(*pod)
        }
    }

    fn broadcast(&mut self, event: WatchEvent) {
        self.watches.retain(|watch| watch.send(event).is_ok());
    }
}
