//! A shard of the event writer: sends the events of some objects, one after the other.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use kube::core::params::{PatchParams, PostParams};
use serde::de::IgnoredAny;
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior},
};
use tokio_util::sync::CancellationToken;

use super::{
    EventsApi, Recorded,
    api::Reporter,
    correlator::{CorrelateResult, Correlator},
    recorder::RecorderShared,
    series::{Repeat, SERIES_WRITE_INTERVAL, SeriesKey},
};
use crate::{
    NamespacedName,
    client::{ApiRequest, ClientError, Connection, PreparedRequest},
};

/// How often an event is sent while the API server does not respond; client-go's default.
const MAX_ATTEMPTS: u32 = 12;
/// The delay between attempts; client-go's default.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);

/// Sends the events of its share of the objects. Correlation is per object, so that shards are independent.
pub(super) struct EventShard {
    reporter: Arc<Reporter>,
    events: mpsc::UnboundedReceiver<Box<Recorded>>,
    shared: Arc<RecorderShared>,
    correlator: Correlator,
    /// The timestamp in the name of the last event. Each event about an object has another one, so that names are unique.
    last_stamp: u64,
}

impl EventShard {
    pub(super) fn new(
        reporter: Arc<Reporter>,
        events: mpsc::UnboundedReceiver<Box<Recorded>>,
        shared: Arc<RecorderShared>,
    ) -> Self {
        Self {
            reporter,
            events,
            shared,
            correlator: Correlator::default(),
            last_stamp: 0,
        }
    }

    /// Takes the next queued event without waiting.
    pub(super) fn try_next(&mut self) -> Option<Recorded> {
        let event = self.events.try_recv().ok()?;
        self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
        Some(*event)
    }

    /// Sends events until all recorders are dropped. When cancelled, it sends the queued events and unwritten counts, and ends.
    pub(super) async fn run(&mut self, connection: &Connection, cancel: &CancellationToken) {
        let mut refresh =
            tokio::time::interval_at(Instant::now() + SERIES_WRITE_INTERVAL, SERIES_WRITE_INTERVAL);
        refresh.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut closed = false;
        loop {
            tokio::select! {
                event = self.events.recv() => match event {
                    Some(event) => {
                        self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
                        // Boxed: it is large, and most shards wait.
                        Box::pin(self.handle(connection, *event)).await;
                    }
                    None => break,
                },
                _ = refresh.tick() => Box::pin(self.write_counts(connection, false)).await,
                () = cancel.cancelled(), if !closed => {
                    self.events.close();
                    closed = true;
                }
            }
        }
        Box::pin(self.write_counts(connection, true)).await;
    }

    async fn handle(&mut self, connection: &Connection, event: Recorded) {
        match self.correlator.observe(event, Instant::now()) {
            CorrelateResult::Counted => {}
            CorrelateResult::Spam => {
                self.shared.suppressed.fetch_add(1, Ordering::Relaxed);
            }
            CorrelateResult::Repeated(repeat) => self.write_count(connection, *repeat).await,
            CorrelateResult::New(new) => {
                let (key, event) = *new;
                self.create(connection, key, event, 1).await;
            }
        }
    }

    async fn write_counts(&mut self, connection: &Connection, all: bool) {
        for repeat in self.correlator.due(Instant::now(), all) {
            self.write_count(connection, repeat).await;
        }
    }

    async fn create(&mut self, connection: &Connection, key: SeriesKey, event: Recorded, count: i32) {
        let name = self.next_name(&event);
        match create(
            connection,
            self.shared.api(),
            &name,
            &event,
            count,
            &self.reporter,
        )
        .await
        {
            Ok(()) => self.correlator.created(key, name, count, Instant::now()),
            Err(error) => self.drop_series(key, &error),
        }
    }

    async fn write_count(&mut self, connection: &Connection, repeat: Repeat) {
        match patch(connection, self.shared.api(), &repeat).await {
            Ok(()) => self.correlator.written(&repeat, Instant::now()),
            // The API server deletes events after an hour: the series continues in another Event.
            Err(error) if error.is_not_found() => {
                self.correlator.forget(repeat.key);
                self.create(connection, repeat.key, repeat.event, repeat.count)
                    .await;
            }
            Err(error) => self.drop_series(repeat.key, &error),
        }
    }

    fn drop_series(&mut self, key: SeriesKey, error: &ClientError) {
        self.correlator.forget(key);
        if error.is_not_found() || error.is_namespace_terminating() {
            tracing::debug!(%error, "event dropped: its object or its namespace was deleted");
        } else if !error.is_forbidden() {
            tracing::warn!(error = error as &dyn std::error::Error, "event dropped");
        } else if !self.shared.logged_forbidden.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                %error,
                "event dropped, further ones are dropped silently: events about cluster-scoped objects are created in namespace `default`; \
                 a namespaced operator without a controller of such a kind needs `needs_in(PermissionScope::DefaultNamespace, …)`"
            );
        }
    }

    /// Returns a unique name, in the object's namespace, or in `default`: the API server accepts events about cluster-scoped objects only
    /// there.
    fn next_name(&mut self, event: &Recorded) -> NamespacedName {
        let now = u64::try_from(event.time.as_nanosecond()).unwrap_or_default();
        self.last_stamp = now.max(self.last_stamp + 1);
        let regarding = &event.regarding.name;
        NamespacedName::namespaced(
            regarding.namespace().unwrap_or("default"),
            event_name(regarding.name(), self.last_stamp),
        )
    }
}

async fn create(
    connection: &Connection,
    api: EventsApi,
    name: &NamespacedName,
    event: &Recorded,
    count: i32,
    reporter: &Reporter,
) -> Result<(), ClientError> {
    let sent = send(connection, || {
        let mut request = ApiRequest::new(api.info(), "create", name.namespace())?;
        request.name = Some(name.name().to_owned());
        let (request, body) = request.body(&api.body(name, event, count, reporter))?;
        let params = PostParams {
            field_manager: Some(connection.field_manager().to_owned()),
            ..PostParams::default()
        };
        let http_request = request.builder().create(&params, body);
        request.prepare(http_request)
    });
    match sent.await {
        // An earlier attempt without a response was carried out.
        Err(error) if error.is_already_exists() => Ok(()),
        sent => sent,
    }
}

async fn patch(connection: &Connection, api: EventsApi, repeat: &Repeat) -> Result<(), ClientError> {
    let body = api.patch(&repeat.event, repeat.count);
    let sent = send(connection, || {
        let (request, body) = ApiRequest::object(api.info(), "patch", &repeat.name)?.body(&body)?;
        let params = PatchParams {
            field_manager: Some(connection.field_manager().to_owned()),
            ..PatchParams::default()
        };
        let http_request = request.patch(&params, "application/merge-patch+json", body);
        request.prepare(http_request)
    });
    sent.await
}

/// Sends a request, and retries while the API server does not respond, or is too busy (429, 503). Another refusal is final: a webhook that
/// fails would hold the events of other objects.
async fn send(
    connection: &Connection,
    prepare: impl Fn() -> Result<PreparedRequest, ClientError>,
) -> Result<(), ClientError> {
    for attempt in 1..MAX_ATTEMPTS {
        match prepare()?.fetch::<IgnoredAny>(connection).await {
            Err(error) if error.is_unanswered() || is_busy(&error) => {
                tracing::debug!(
                    error = &error as &dyn std::error::Error,
                    attempt,
                    "event not sent, will retry"
                );
            }
            result => return result.map(drop),
        }
        // The first delay is random, so that not all operators retry at once after a restart of the API server.
        let share = if attempt == 1 { rand::random::<f64>() } else { 1.0 };
        tokio::time::sleep(RETRY_INTERVAL.mul_f64(share)).await;
    }
    prepare()?.fetch::<IgnoredAny>(connection).await.map(drop)
}

fn is_busy(error: &ClientError) -> bool {
    error.is_too_many_requests() || error.status().is_some_and(|status| status.code == 503)
}

/// Returns the object's name and a timestamp as a valid name: names of RBAC objects may have characters that names of events may not.
fn event_name(object: &str, stamp: u64) -> String {
    const MAX_OBJECT_NAME_BYTES: usize = 253 - 1 - 16;
    let valid = |c: char| {
        if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.' {
            c
        } else {
            '-'
        }
    };
    let name: String = object
        .to_ascii_lowercase()
        .chars()
        .map(valid)
        .take(MAX_OBJECT_NAME_BYTES)
        .collect();
    let name = name.trim_matches(['.', '-']);
    format!("{}.{stamp:x}", if name.is_empty() { "event" } else { name })
}
