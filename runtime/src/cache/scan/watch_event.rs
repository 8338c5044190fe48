//! Scans one line of a watch.

use std::{borrow::Cow, collections::HashMap};

use kube::core::Status;

use super::{
    cursor::Cursor,
    metadata::RawMetadata,
    object::{ScanError, ScannedObject, Scanner, text},
    scan_failure::ScanFailure,
};

/// The annotation of the bookmark that ends the initial events of a streaming list.
const INITIAL_EVENTS_END_ANNOTATION: &str = "k8s.io/initial-events-end";

/// A line of a watch; `T` is the object.
#[derive(Debug)]
pub(in crate::cache) enum ScannedEvent<T> {
    /// The object is new, or new to the watch.
    Added(T),
    /// The object changed.
    Modified(T),
    /// The object was deleted; this is its last state.
    Deleted(T),
    /// Every event up to this resource version was sent.
    Bookmark {
        version: Box<str>,
        /// Whether it ends the initial events of a streaming list.
        ends_initial_events: bool,
    },
    /// The watch ends with this error.
    Error(Box<Status>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WatchEventType {
    Added,
    Modified,
    Deleted,
    Bookmark,
    Error,
}

/// The object of an event: scanned, or its bytes while the event's type is not known.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one at a time, which is taken apart at once"
)]
enum EventObject<'a> {
    Scanned(RawMetadata<'a>),
    Raw(&'a str),
}

impl Scanner {
    /// Scans a line of a watch. `on_owners` is as for [`item`](Self::item).
    pub(in crate::cache) fn watch_event<'s>(
        &'s mut self,
        line: &'s [u8],
        on_owners: impl FnOnce(u64),
    ) -> Result<ScannedEvent<ScannedObject<'s>>, ScanFailure> {
        self.try_watch_event(line, on_owners)
            .map_err(|error| ScanFailure::line(error, line))
    }

    fn try_watch_event<'s>(
        &'s mut self,
        line: &'s [u8],
        on_owners: impl FnOnce(u64),
    ) -> Result<ScannedEvent<ScannedObject<'s>>, ScanError> {
        let mut cursor = Cursor::new(text(line)?);
        let mut on_owners = Some(on_owners);
        let mut on_owners = |digest| {
            if let Some(on_owners) = on_owners.take() {
                on_owners(digest);
            }
        };
        let (mut first, mut event_type, mut object) = (true, None, None);
        while let Some(key) = cursor.entry(&mut first)? {
            match &*key {
                "type" => event_type = Some(event_type_of(&cursor.string()?)?),
                "object" if object.is_some() => return Err(ScanError("the object stands twice".into())),
                "object" => {
                    object = Some(match event_type {
                        None | Some(WatchEventType::Error) => EventObject::Raw(cursor.value()?),
                        Some(_) => EventObject::Scanned(self.scan(&mut cursor, &mut on_owners)?),
                    });
                }
                _ => {
                    cursor.value()?;
                }
            }
        }
        cursor.end()?;
        let missing = |what| ScanError(format!("the {what} of the event is missing"));
        let event_type = event_type.ok_or_else(|| missing("type"))?;
        let found = match object.ok_or_else(|| missing("object"))? {
            EventObject::Raw(status) if event_type == WatchEventType::Error => return status_of(status),
            EventObject::Raw(object) => self.scan(&mut Cursor::new(object), &mut on_owners)?,
            EventObject::Scanned(found) => found,
        };
        Ok(match event_type {
            WatchEventType::Added => ScannedEvent::Added(self.finish(found)?),
            WatchEventType::Modified => ScannedEvent::Modified(self.finish(found)?),
            WatchEventType::Deleted => ScannedEvent::Deleted(self.finish(found)?),
            WatchEventType::Bookmark => {
                let (version, annotations) = found.into_bookmark()?;
                ScannedEvent::Bookmark {
                    version,
                    ends_initial_events: annotations.is_some_and(end_initial_events),
                }
            }
            WatchEventType::Error => return Err(ScanError("the type of the event stands twice".into())),
        })
    }
}

fn end_initial_events(annotations: &str) -> bool {
    let annotations: Result<HashMap<Cow<'_, str>, Cow<'_, str>>, _> = serde_json::from_str(annotations);
    annotations.is_ok_and(|annotations| {
        annotations
            .get(INITIAL_EVENTS_END_ANNOTATION)
            .is_some_and(|value| value == "true")
    })
}

fn status_of<T>(raw: &str) -> Result<ScannedEvent<T>, ScanError> {
    serde_json::from_str(raw)
        .map(|status| ScannedEvent::Error(Box::new(status)))
        .map_err(|error| ScanError(format!("the status of an error is none: {error}")))
}

fn event_type_of(name: &str) -> Result<WatchEventType, ScanError> {
    Ok(match name {
        "ADDED" => WatchEventType::Added,
        "MODIFIED" => WatchEventType::Modified,
        "DELETED" => WatchEventType::Deleted,
        "BOOKMARK" => WatchEventType::Bookmark,
        "ERROR" => WatchEventType::Error,
        _ => return Err(ScanError("the type of the event is unknown".into())),
    })
}
