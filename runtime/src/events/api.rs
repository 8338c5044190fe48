//! The two Event APIs, `events.k8s.io/v1` and `v1`.

use k8s_openapi::{
    api::{core::v1 as core, events::v1 as events},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, Time},
};
use serde::Serialize;
use serde_json::{Value, json};

use super::Recorded;
use crate::{ApiResource, Kind, NamespacedName};

/// The API that events are written to. `kubectl` shows both alike; the objects and the permissions differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum EventsApi {
    /// `events.k8s.io/v1`: repeats are a series.
    #[default]
    Events,
    /// The core API, `v1`: repeats are a count, for older tools.
    Core,
}

/// The reporting controller.
#[derive(Debug, Clone)]
pub(super) struct Reporter {
    pub(super) controller: String,
    pub(super) instance: String,
}

/// An Event object of either API.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum EventBody {
    Events(events::Event),
    Core(core::Event),
}

impl EventsApi {
    /// Returns the API group; empty for the core group.
    pub const fn group(self) -> &'static str {
        match self {
            Self::Events => "events.k8s.io",
            Self::Core => "",
        }
    }

    pub(super) fn info(self) -> ApiResource {
        match self {
            Self::Events => events::Event::info(),
            Self::Core => core::Event::info(),
        }
    }

    /// Returns the Event object to create, with the count so far.
    pub(super) fn body(
        self,
        name: &NamespacedName,
        event: &Recorded,
        count: i32,
        reporter: &Reporter,
    ) -> EventBody {
        let metadata = ObjectMeta {
            name: Some(name.name().to_owned()),
            namespace: name.namespace().map(str::to_owned),
            ..ObjectMeta::default()
        };
        let Reporter { controller, instance } = reporter.clone();
        let controller = event.controller.as_deref().map_or(controller, str::to_owned);
        let related = event.related.as_ref().map(Into::into);
        match self {
            Self::Events => EventBody::Events(events::Event {
                metadata,
                event_time: Some(MicroTime(event.time)),
                type_: Some(event.event_type.as_str().to_owned()),
                reason: Some(event.reason.clone()),
                action: Some(event.action.clone()),
                note: Some(event.note.clone()),
                regarding: Some((&event.regarding).into()),
                related,
                reporting_controller: Some(controller),
                reporting_instance: Some(instance),
                series: (count > 1).then(|| event_series(event, count)),
                ..events::Event::default()
            }),
            Self::Core => EventBody::Core(core::Event {
                metadata,
                first_timestamp: Some(Time(event.time)),
                last_timestamp: Some(Time(event.time)),
                count: Some(count),
                type_: Some(event.event_type.as_str().to_owned()),
                reason: Some(event.reason.clone()),
                action: Some(event.action.clone()),
                message: Some(event.note.clone()),
                involved_object: (&event.regarding).into(),
                related,
                source: Some(core::EventSource {
                    component: Some(controller.clone()),
                    ..core::EventSource::default()
                }),
                reporting_component: Some(controller),
                reporting_instance: Some(instance),
                ..core::Event::default()
            }),
        }
    }

    /// Returns the merge patch for a count. Only the core API can show the latest note: in the other it is immutable.
    pub(super) fn patch(self, event: &Recorded, count: i32) -> Value {
        match self {
            Self::Events => json!({"series": event_series(event, count)}),
            Self::Core => {
                json!({"count": count, "lastTimestamp": Time(event.time), "message": event.note})
            }
        }
    }
}

fn event_series(event: &Recorded, count: i32) -> events::EventSeries {
    events::EventSeries {
        count,
        last_observed_time: MicroTime(event.time),
    }
}
