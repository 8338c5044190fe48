//! Sending events in the background.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures::{StreamExt as _, stream::FuturesUnordered};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Recorded, api::Reporter, recorder::Shared, shard::Lane};
use crate::client::Connection;

/// How long the events that wait at the end may take.
const FLUSH: Duration = Duration::from_secs(5);

/// Sends what [`Recorder`](super::Recorder)s took, through the [API](super::EventsApi) that they were told.
pub struct EventWriter {
    lanes: Vec<Lane>,
    shared: Arc<Shared>,
    flush_within: Duration,
}

impl EventWriter {
    pub(super) fn new(
        controller: &str,
        events: Vec<mpsc::UnboundedReceiver<Recorded>>,
        shared: Arc<Shared>,
    ) -> Self {
        let reporter = Arc::new(Reporter {
            controller: controller.to_owned(),
            instance: instance(controller),
        });
        let lane = |events| Lane::new(reporter.clone(), events, shared.clone());
        Self {
            lanes: events.into_iter().map(lane).collect(),
            shared,
            flush_within: FLUSH,
        }
    }

    /// How long the events that wait when the writer is cancelled may take: 5 s unless set.
    pub fn flush_within(self, limit: Duration) -> Self {
        Self {
            flush_within: limit,
            ..self
        }
    }

    /// Sends events until `cancel` is cancelled, then sends what waits, and counts that are behind, within the limit of
    /// [`flush_within`](Self::flush_within). Ends earlier when no recorder is left.
    ///
    /// An event without an answer is sent again up to twelve times, ten seconds apart. An event that the API server refuses is dropped
    /// and logged; about an object that is gone or whose namespace is being deleted, at debug level.
    pub async fn run(mut self, connection: Connection, cancel: CancellationToken) {
        let limit = self.flush_within;
        let in_time = {
            let work = self.work(&connection, &cancel);
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

    /// Takes the events that wait, unsent, in the order of their times. For tests that have no API server.
    pub fn drain(&mut self) -> Vec<Recorded> {
        let waiting = |lane: &mut Lane| std::iter::from_fn(|| lane.take_waiting()).collect::<Vec<_>>();
        let mut events: Vec<Recorded> = self.lanes.iter_mut().flat_map(waiting).collect();
        events.sort_by_key(|event| event.time);
        events
    }

    async fn work(&mut self, connection: &Connection, cancel: &CancellationToken) {
        let lanes = self.lanes.iter_mut().map(|lane| lane.work(connection, cancel));
        lanes.collect::<FuturesUnordered<_>>().collect::<()>().await;
    }
}

/// Who reports, with the pod: the operator's name, and the pod's or the host's.
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
