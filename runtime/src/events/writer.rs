//! The event writer: sends events in the background.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures::{StreamExt as _, stream::FuturesUnordered};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Recorded, api::Reporter, recorder::RecorderShared, shard::EventShard};
use crate::client::Connection;

/// The default time for sending queued events at the end.
const DEFAULT_FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends the events of [`Recorder`](super::Recorder)s, through the [API](super::EventsApi) that they were set to.
pub struct EventWriter {
    shards: Vec<EventShard>,
    shared: Arc<RecorderShared>,
    flush_within: Duration,
}

impl EventWriter {
    pub(super) fn new(
        controller: &str,
        events: Vec<mpsc::UnboundedReceiver<Box<Recorded>>>,
        shared: Arc<RecorderShared>,
    ) -> Self {
        let reporter = Arc::new(Reporter {
            controller: controller.to_owned(),
            instance: instance(controller),
        });
        let new_shard = |events| EventShard::new(reporter.clone(), events, shared.clone());
        Self {
            shards: events.into_iter().map(new_shard).collect(),
            shared,
            flush_within: DEFAULT_FLUSH_TIMEOUT,
        }
    }

    /// Sets how long sending the queued events may take after the writer is cancelled; 5 s by default.
    pub fn flush_within(self, limit: Duration) -> Self {
        Self {
            flush_within: limit,
            ..self
        }
    }

    /// Sends events until `cancel` is cancelled, then sends queued events and unwritten counts within the limit of
    /// [`flush_within`](Self::flush_within). It ends earlier when all recorders are dropped.
    ///
    /// While the API server does not respond, an event is sent up to twelve times, ten seconds apart. An event that the API server refuses is
    /// dropped and logged: at debug level if its object or its namespace was deleted.
    pub async fn run(mut self, connection: Connection, cancel: CancellationToken) {
        let limit = self.flush_within;
        let in_time = {
            let work = self.run_shards(&connection, &cancel);
            tokio::pin!(work);
            tokio::select! {
                () = &mut work => return,
                () = cancel.cancelled() => {}
            }
            tokio::time::timeout(limit, work).await.is_ok()
        };
        if !in_time {
            tracing::warn!(
                waiting = self.shared.waiting.load(Ordering::Relaxed),
                ?limit,
                "events were not sent before the operator ended"
            );
        }
    }

    /// Takes all queued events, sorted by time, without sending them. For tests without an API server.
    pub fn drain(&mut self) -> Vec<Recorded> {
        let queued = |shard: &mut EventShard| std::iter::from_fn(|| shard.try_next()).collect::<Vec<_>>();
        let mut events: Vec<Recorded> = self.shards.iter_mut().flat_map(queued).collect();
        events.sort_by_key(|event| event.time);
        events
    }

    async fn run_shards(&mut self, connection: &Connection, cancel: &CancellationToken) {
        let shards = self.shards.iter_mut().map(|shard| shard.run(connection, cancel));
        shards.collect::<FuturesUnordered<_>>().collect::<()>().await;
    }
}

/// The reporting instance: the operator's name, and the pod's or the host's.
fn instance(controller: &str) -> String {
    let host = ["POD_NAME", "HOSTNAME"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok());
    let mut instance = match host {
        Some(host) => format!("{controller}-{host}"),
        None => controller.to_owned(),
    };
    instance.truncate(instance.floor_char_boundary(128));
    instance
}
