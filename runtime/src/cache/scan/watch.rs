//! What the scan makes of one line of a watch.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use kube::core::Status;

use super::{
    cursor::Cursor,
    metadata::Found,
    object::{KnownVersions, Listed, ScanError, Scanner, text},
    scan_failure::ScanFailure,
};
use crate::cache::{index::Index, object::StoredObject};

/// The annotation of the bookmark after the last object of a streaming list.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// A line of a watch.
#[derive(Debug)]
pub(in crate::cache) enum WatchEvent<T = StoredObject> {
    /// The object is new, or new to the watch.
    Added(T),
    /// The object changed.
    Modified(T),
    /// The object was deleted; this is its state then.
    Deleted(T),
    /// Everything up to this resource version was sent.
    Bookmark {
        version: Box<str>,
        /// The initial events of a streaming list end here.
        ends_initial_events: bool,
    },
    /// The watch ends.
    Error(Box<Status>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EventType {
    Added,
    Modified,
    Deleted,
    Bookmark,
    Error,
}

/// The object of an event: scanned as it came by, or left alone until the event's type is known.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one at a time, which is taken apart at once"
)]
enum Body<'a> {
    Scanned(Found<'a>),
    Raw(&'a str),
}

impl Scanner {
    /// A line of a watch.
    pub(in crate::cache) fn watch_line(
        &mut self,
        line: &[u8],
        indexes: &[Arc<Index>],
    ) -> Result<WatchEvent, ScanFailure> {
        self.line(line, |scanner, found| scanner.finish(found, indexes))
            .map_err(|error| ScanFailure::line(error, line))
    }

    /// A line of a streaming list. What is in the store is not made again.
    pub(in crate::cache) fn list_line(
        &mut self,
        line: &[u8],
        indexes: &[Arc<Index>],
        known: &KnownVersions<'_>,
    ) -> Result<WatchEvent<Listed>, ScanFailure> {
        self.line(line, |scanner, found| {
            scanner.finish_unless_known(found, indexes, known)
        })
        .map_err(|error| ScanFailure::line(error, line))
    }

    fn line<T>(
        &mut self,
        line: &[u8],
        finish: impl FnOnce(&mut Self, Found<'_>) -> Result<T, ScanError>,
    ) -> Result<WatchEvent<T>, ScanError> {
        let mut cursor = Cursor::new(text(line)?);
        let (mut first, mut event_type, mut body) = (true, None, None);
        while let Some(key) = cursor.entry(&mut first)? {
            match &*key {
                "type" => event_type = Some(event_type_of(&cursor.string()?)?),
                "object" if body.is_some() => return Err(ScanError("the object stands twice".into())),
                "object" => {
                    body = Some(match event_type {
                        None | Some(EventType::Error) => Body::Raw(cursor.value()?),
                        Some(_) => Body::Scanned(self.scan(&mut cursor)?),
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
        let found = match body.ok_or_else(|| missing("object"))? {
            Body::Raw(status) if event_type == EventType::Error => return status_of(status),
            Body::Raw(object) => self.scan(&mut Cursor::new(object))?,
            Body::Scanned(found) => found,
        };
        Ok(match event_type {
            EventType::Added => WatchEvent::Added(finish(self, found)?),
            EventType::Modified => WatchEvent::Modified(finish(self, found)?),
            EventType::Deleted => WatchEvent::Deleted(finish(self, found)?),
            EventType::Bookmark => {
                let (version, annotations) = found.bookmark()?;
                WatchEvent::Bookmark {
                    version,
                    ends_initial_events: annotations.is_some_and(end_initial_events),
                }
            }
            EventType::Error => return Err(ScanError("the type of the event stands twice".into())),
        })
    }
}

fn end_initial_events(annotations: &str) -> bool {
    let annotations: Result<HashMap<Cow<'_, str>, Cow<'_, str>>, _> = serde_json::from_str(annotations);
    annotations.is_ok_and(|annotations| {
        annotations
            .get(INITIAL_EVENTS_END)
            .is_some_and(|value| value == "true")
    })
}

fn status_of<T>(raw: &str) -> Result<WatchEvent<T>, ScanError> {
    serde_json::from_str(raw)
        .map(|status| WatchEvent::Error(Box::new(status)))
        .map_err(|error| ScanError(format!("the status of an error is none: {error}")))
}

fn event_type_of(name: &str) -> Result<EventType, ScanError> {
    Ok(match name {
        "ADDED" => EventType::Added,
        "MODIFIED" => EventType::Modified,
        "DELETED" => EventType::Deleted,
        "BOOKMARK" => EventType::Bookmark,
        "ERROR" => EventType::Error,
        _ => return Err(ScanError("the type of the event is unknown".into())),
    })
}
