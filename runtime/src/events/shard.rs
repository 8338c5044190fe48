//! The events of some objects, sent one after the other.

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
    correlator::{Correlator, Verdict},
    recorder::Shared,
    series::{REFRESH, Repeat, SeriesKey},
};
use crate::{
    NamespacedName,
    client::{ApiRequest, ClientError, Connection, PreparedRequest},
};

/// How often an event is sent at most while there is no answer, and how long apart; what client-go takes.
const TRIES: u32 = 12;
const PAUSE: Duration = Duration::from_secs(10);

/// Sends the events of those objects that are its own. Whatever is counted or limited is so for one object.
pub(super) struct Lane {
    reporter: Arc<Reporter>,
    events: mpsc::UnboundedReceiver<Recorded>,
    shared: Arc<Shared>,
    correlator: Correlator,
    /// The time in the name of the last event: names are unique because no two about an object have the same.
    last_stamp: u64,
}

impl Lane {
    pub(super) fn new(
        reporter: Arc<Reporter>,
        events: mpsc::UnboundedReceiver<Recorded>,
        shared: Arc<Shared>,
    ) -> Self {
        Self {
            reporter,
            events,
            shared,
            correlator: Correlator::default(),
            last_stamp: 0,
        }
    }

    /// The next event that waits, if one does.
    pub(super) fn take_waiting(&mut self) -> Option<Recorded> {
        let event = self.events.try_recv().ok()?;
        self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
        Some(event)
    }

    /// Sends until no recorder is left, or what waits when it is cancelled, and then the counts that are behind.
    pub(super) async fn work(&mut self, connection: &Connection, cancel: &CancellationToken) {
        let mut refresh = tokio::time::interval_at(Instant::now() + REFRESH, REFRESH);
        refresh.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut closed = false;
        loop {
            tokio::select! {
                event = self.events.recv() => match event {
                    Some(event) => {
                        self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
                        self.take(connection, event).await;
                    }
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
        match self.correlator.observe(event, Instant::now()) {
            Verdict::Counted => {}
            Verdict::Spam => {
                self.shared.suppressed.fetch_add(1, Ordering::Relaxed);
            }
            Verdict::Repeated(repeat) => self.repeat(connection, *repeat).await,
            Verdict::New(new) => {
                let (key, event) = *new;
                self.create(connection, key, event, 1).await;
            }
        }
    }

    async fn refresh(&mut self, connection: &Connection, all: bool) {
        for repeat in self.correlator.due(Instant::now(), all) {
            self.repeat(connection, repeat).await;
        }
    }

    async fn create(&mut self, connection: &Connection, key: SeriesKey, event: Recorded, count: i32) {
        let name = self.name(&event);
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
            Ok(()) => self.correlator.began(key, name, count, Instant::now()),
            Err(error) => self.refused(key, &error),
        }
    }

    async fn repeat(&mut self, connection: &Connection, repeat: Repeat) {
        match patch(connection, self.shared.api(), &repeat).await {
            Ok(()) => self.correlator.written(&repeat, Instant::now()),
            // The API server forgets events after an hour: the series goes on in a new one.
            Err(error) if error.is_not_found() => {
                self.correlator.forget(repeat.key);
                self.create(connection, repeat.key, repeat.event, repeat.count)
                    .await;
            }
            Err(error) => self.refused(repeat.key, &error),
        }
    }

    fn refused(&mut self, key: SeriesKey, error: &ClientError) {
        self.correlator.forget(key);
        if error.is_not_found() || error.is_namespace_terminating() {
            tracing::debug!(%error, "event dropped: its object or its namespace is gone");
        } else if !error.is_forbidden() {
            tracing::warn!(error = error as &dyn std::error::Error, "event dropped");
        } else if !self.shared.told_of_forbidden.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                %error,
                "event dropped, further ones are dropped silently: events about cluster-scoped objects lie in `default`, \
                 which a namespaced operator must ask for with Place::DefaultNamespace unless it has a controller of such a kind"
            );
        }
    }

    /// A new name, in the namespace of the object, or in `default`: the API server takes events about cluster-scoped objects there alone.
    fn name(&mut self, event: &Recorded) -> NamespacedName {
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
        let mut call = ApiRequest::new(api.info(), "create", name.namespace())?;
        call.name = Some(name.name().to_owned());
        let (call, body) = call.body(&api.body(name, event, count, reporter))?;
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

async fn patch(connection: &Connection, api: EventsApi, repeat: &Repeat) -> Result<(), ClientError> {
    let body = api.patch(&repeat.event, repeat.count);
    let sent = send(connection, || {
        let (call, body) = ApiRequest::object(api.info(), "patch", &repeat.name)?.body(&body)?;
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
    prepare: impl Fn() -> Result<PreparedRequest, ClientError>,
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
