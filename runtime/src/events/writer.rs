//! Sending events in the background.

use std::{sync::Arc, time::Duration};

use k8s_openapi::{
    api::events::v1::{Event, EventSeries},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};
use kube::core::params::{PatchParams, PostParams};
use serde::de::IgnoredAny;
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior},
};
use tokio_util::sync::CancellationToken;

use super::{
    Recorded,
    series::{REFRESH, Repeat, SeriesBook, SeriesKey, Verdict},
};
use crate::{
    Kind, ObjectName,
    client::{Call, ClientError, Connection, Prepared},
};

/// How often an event is sent at most while there is no answer, and how long apart; what client-go takes.
const TRIES: u32 = 12;
const PAUSE: Duration = Duration::from_secs(10);
/// How long the events that wait at the end may take.
const FLUSH: Duration = Duration::from_secs(5);

/// Sends what [`Recorder`](super::Recorder)s took, as events of `events.k8s.io/v1`.
pub struct EventWriter {
    controller: Arc<str>,
    events: mpsc::Receiver<Recorded>,
    book: SeriesBook,
    flush_within: Duration,
    /// The time in the name of the last event: names are unique because no two have the same.
    last_stamp: u64,
    told_of_forbidden: bool,
}

impl EventWriter {
    pub(super) fn new(controller: Arc<str>, events: mpsc::Receiver<Recorded>) -> Self {
        Self {
            controller,
            events,
            book: SeriesBook::default(),
            flush_within: FLUSH,
            last_stamp: 0,
            told_of_forbidden: false,
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
                waiting = self.events.len(),
                ?limit,
                "events were not sent before the operator ended"
            );
        }
    }

    /// Takes the events that wait, unsent. For tests that have no API server.
    pub fn drain(&mut self) -> Vec<Recorded> {
        std::iter::from_fn(|| self.events.try_recv().ok()).collect()
    }

    async fn work(&mut self, connection: &Connection, cancel: &CancellationToken) {
        let mut refresh = tokio::time::interval_at(Instant::now() + REFRESH, REFRESH);
        refresh.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut closed = false;
        loop {
            tokio::select! {
                event = self.events.recv() => match event {
                    Some(event) => self.take(connection, event).await,
                    None => break,
                },
                _ = refresh.tick() => self.refresh(connection, false).await,
                () = cancel.cancelled(), if !closed => {
                    self.events.close();
                    closed = true;
                }
            }
        }
        self.refresh(connection, true).await;
    }

    async fn take(&mut self, connection: &Connection, event: Recorded) {
        let key = SeriesKey::from(&event);
        match self.book.observe(&key, event.time, Instant::now()) {
            Verdict::Counted => {}
            Verdict::Repeated(repeat) => self.repeat(connection, *repeat).await,
            Verdict::New => {
                let event = self.event(key.clone(), event.time, None);
                self.create(connection, key, event).await;
            }
        }
    }

    async fn refresh(&mut self, connection: &Connection, all: bool) {
        for repeat in self.book.due(Instant::now(), all) {
            self.repeat(connection, repeat).await;
        }
    }

    async fn create(&mut self, connection: &Connection, key: SeriesKey, event: Event) {
        let time = event
            .event_time
            .as_ref()
            .map_or_else(jiff::Timestamp::now, |time| time.0);
        let Some(name) = ObjectName::of(&event.metadata) else {
            return;
        };
        match create(connection, &event).await {
            Ok(()) => self.book.began(key, name, time, Instant::now()),
            Err(error) => self.refused(&key, &error),
        }
    }

    async fn repeat(&mut self, connection: &Connection, repeat: Repeat) {
        match patch(connection, &repeat).await {
            Ok(()) => self.book.written(&repeat, Instant::now()),
            // The API server forgets events after an hour: the series goes on in a new one.
            Err(error) if error.is_not_found() => {
                self.book.forget(&repeat.key);
                let series = EventSeries {
                    count: repeat.count,
                    last_observed_time: MicroTime(repeat.last),
                };
                let event = self.event(repeat.key.clone(), repeat.last, Some(series));
                self.create(connection, repeat.key, event).await;
            }
            Err(error) => self.refused(&repeat.key, &error),
        }
    }

    fn refused(&mut self, key: &SeriesKey, error: &ClientError) {
        self.book.forget(key);
        if error.is_not_found() || error.is_namespace_terminating() {
            tracing::debug!(%error, "event dropped: its object or its namespace is gone");
        } else if !error.is_forbidden() {
            tracing::warn!(error = error as &dyn std::error::Error, "event dropped");
        } else if !std::mem::replace(&mut self.told_of_forbidden, true) {
            tracing::warn!(%error, "event dropped; further ones are dropped silently");
        }
    }

    fn event(&mut self, key: SeriesKey, time: jiff::Timestamp, series: Option<EventSeries>) -> Event {
        let now = u64::try_from(time.as_nanosecond()).unwrap_or_default();
        self.last_stamp = now.max(self.last_stamp + 1);
        let regarding = &key.regarding.name;
        Event {
            metadata: ObjectMeta {
                name: Some(event_name(regarding.name(), self.last_stamp)),
                namespace: Some(regarding.namespace().unwrap_or("default").to_owned()),
                ..ObjectMeta::default()
            },
            event_time: Some(MicroTime(time)),
            type_: Some(key.event_type.as_str().to_owned()),
            reason: Some(key.reason),
            action: Some(key.action),
            note: Some(key.note),
            regarding: Some((&key.regarding).into()),
            related: key.related.as_ref().map(Into::into),
            reporting_controller: Some(self.controller.to_string()),
            reporting_instance: Some(instance(&self.controller)),
            series,
            ..Event::default()
        }
    }
}

async fn create(connection: &Connection, event: &Event) -> Result<(), ClientError> {
    let sent = send(connection, || {
        let mut call = Call::new(Event::info(), "create", event.metadata.namespace.as_deref())?;
        call.name.clone_from(&event.metadata.name);
        let (call, body) = call.body(event)?;
        let params = PostParams {
            field_manager: Some(connection.field_manager().to_owned()),
            ..PostParams::default()
        };
        let request = call.request().create(&params, body);
        call.prepare(request)
    });
    match sent.await {
        // An earlier try arrived after all.
        Err(error) if error.is_already_exists() => Ok(()),
        sent => sent,
    }
}

async fn patch(connection: &Connection, repeat: &Repeat) -> Result<(), ClientError> {
    let series = EventSeries {
        count: repeat.count,
        last_observed_time: MicroTime(repeat.last),
    };
    let body = serde_json::json!({"series": series});
    let sent = send(connection, || {
        let (call, body) = Call::object(Event::info(), "patch", &repeat.event)?.body(&body)?;
        let params = PatchParams {
            field_manager: Some(connection.field_manager().to_owned()),
            ..PatchParams::default()
        };
        let request = call.patch(&params, "application/merge-patch+json", body);
        call.prepare(request)
    });
    sent.await
}

/// Sends until there is an answer that will not change by waiting.
async fn send(
    connection: &Connection,
    prepare: impl Fn() -> Result<Prepared, ClientError>,
) -> Result<(), ClientError> {
    for attempt in 1..TRIES {
        match prepare()?.fetch::<IgnoredAny>(connection).await {
            Err(error) if error.is_unanswered() || error.is_overloaded() => {
                tracing::debug!(
                    error = &error as &dyn std::error::Error,
                    attempt,
                    "event not sent, will try again"
                );
            }
            settled => return settled.map(drop),
        }
        // The first pause is random, so that not all operators come back at once after a restart of the API server.
        let share = if attempt == 1 { rand::random::<f64>() } else { 1.0 };
        tokio::time::sleep(PAUSE.mul_f64(share)).await;
    }
    prepare()?.fetch::<IgnoredAny>(connection).await.map(drop)
}

/// The object's name and a stamp, as a valid name: RBAC's names may hold what names of events may not.
fn event_name(object: &str, stamp: u64) -> String {
    const LONGEST: usize = 253 - 1 - 16;
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
        .take(LONGEST)
        .collect();
    let name = name.trim_matches(['.', '-']);
    format!("{}.{stamp:x}", if name.is_empty() { "event" } else { name })
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
