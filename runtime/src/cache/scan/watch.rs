//! What the scan makes of one line of a watch.

use std::{borrow::Cow, fmt, sync::Arc};

use kube::core::Status;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use sonic_rs::LazyValue;

use super::{
    depth,
    object::{Expected, Key, ObjectSeed, ScanError, Scanned, Scanner, text},
};
use crate::cache::{index::Index, object::StoredObject};

/// A line of a watch.
#[derive(Debug)]
pub(in crate::cache) enum WatchEvent {
    /// The object is new, or new to the watch.
    Added(StoredObject),
    /// The object changed.
    Modified(StoredObject),
    /// The object was deleted; this is its state then.
    Deleted(StoredObject),
    /// Everything up to this resource version was sent.
    Bookmark(Box<str>),
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

impl Scanner {
    /// A line of a watch.
    pub(in crate::cache) fn watch_line(
        &mut self,
        line: &[u8],
        indexes: &[Arc<Index>],
    ) -> Result<WatchEvent, ScanError> {
        let limited = depth::limited(text(line)?);
        let (out, expected) = self.parts();
        let mut deserializer = sonic_rs::Deserializer::from_str(&limited);
        let seed = LineSeed { out, expected };
        let (event_type, body) = seed
            .deserialize(&mut deserializer)
            .map_err(|error| ScanError::syntax(&error))?;
        deserializer.end().map_err(|error| ScanError::syntax(&error))?;
        let scanned = match (event_type, body) {
            (EventType::Error, Body::Raw(status)) => return status_of(&status),
            (EventType::Error, Body::Scanned(_)) => {
                return Err(ScanError("the status of an error is missing".into()));
            }
            (_, Body::Scanned(scanned)) => scanned,
            (_, Body::Raw(raw)) => {
                // The object stood before the type.
                let mut deserializer = sonic_rs::Deserializer::from_str(&raw);
                let (out, expected) = self.parts();
                let seed = ObjectSeed { out, expected };
                seed.deserialize(&mut deserializer)
                    .map_err(|error| ScanError::syntax(&error))?
            }
        };
        if event_type == EventType::Bookmark {
            let version = scanned
                .resource_version
                .ok_or_else(|| ScanError("a bookmark has no resource version".into()))?;
            return Ok(WatchEvent::Bookmark(version));
        }
        let object = self.finish(scanned, matches!(limited, Cow::Owned(_)), indexes)?;
        Ok(match event_type {
            EventType::Added => WatchEvent::Added(object),
            EventType::Deleted => WatchEvent::Deleted(object),
            _ => WatchEvent::Modified(object),
        })
    }
}

fn status_of(raw: &str) -> Result<WatchEvent, ScanError> {
    serde_json::from_str(raw)
        .map(|status| WatchEvent::Error(Box::new(status)))
        .map_err(|error| ScanError(format!("the status of an error is none: {error}")))
}

enum Body {
    Scanned(Scanned),
    Raw(String),
}

struct LineSeed<'s> {
    out: &'s mut Vec<u8>,
    expected: &'s Expected,
}

impl<'de> DeserializeSeed<'de> for LineSeed<'_> {
    type Value = (EventType, Body);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for LineSeed<'_> {
    type Value = (EventType, Body);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event of a watch")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut event_type, mut body) = (None, None);
        while let Some(Key(key)) = map.next_key()? {
            match &*key {
                "type" => {
                    let Key(name) = map.next_value()?;
                    event_type =
                        Some(event_type_of(&name).ok_or_else(|| A::Error::custom("unknown type of event"))?);
                }
                "object" if body.is_some() => return Err(A::Error::custom("the object stands twice")),
                "object" if event_type.is_some_and(|event_type| event_type != EventType::Error) => {
                    let seed = ObjectSeed {
                        out: &mut *self.out,
                        expected: self.expected,
                    };
                    body = Some(Body::Scanned(map.next_value_seed(seed)?));
                }
                "object" => {
                    let raw: LazyValue<'de> = map.next_value()?;
                    body = Some(Body::Raw(raw.as_raw_str().to_owned()));
                }
                _ => {
                    map.next_value::<serde::de::IgnoredAny>()?;
                }
            }
        }
        match (event_type, body) {
            (Some(event_type), Some(body)) => Ok((event_type, body)),
            (None, _) => Err(A::Error::custom("the type of the event is missing")),
            (_, None) => Err(A::Error::custom("the object of the event is missing")),
        }
    }
}

fn event_type_of(name: &str) -> Option<EventType> {
    Some(match name {
        "ADDED" => EventType::Added,
        "MODIFIED" => EventType::Modified,
        "DELETED" => EventType::Deleted,
        "BOOKMARK" => EventType::Bookmark,
        "ERROR" => EventType::Error,
        _ => return None,
    })
}
