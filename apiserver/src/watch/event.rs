//! Serialization of watch events.

use crate::go_json;
use crate::kinds::{Kind, to_request_version};
use crate::protobuf;
use crate::render::{Encoding, Representation, ResponseFormat, append_object, metadata_only, table};
use crate::request::ListOptions;
use crate::status::ApiError;
use crate::storage::{Change, ChangeKind, Object};
use crate::types;
use serde_json::{Value, json};

/// Appends the event that a change causes for a watch, if any.
pub(super) fn append_change(
    kind: &Kind,
    options: &ListOptions,
    serializer: &mut EventSerializer,
    change: &Change,
    lines: &mut Vec<u8>,
) {
    let selected = |object: &Object| options.matches(kind, object);
    let now = change.kind != ChangeKind::Deleted && selected(&change.object);
    let before = change.before.as_deref().is_some_and(selected);
    match (before, now) {
        (false, true) => append_event("ADDED", kind, serializer, &change.object, lines),
        (true, true) => append_event("MODIFIED", kind, serializer, &change.object, lines),
        (true, false) if change.kind == ChangeKind::Deleted => {
            append_event("DELETED", kind, serializer, &change.object, lines);
        }
        // The object no longer matches the selectors: a DELETED event with its last matching state and the new version.
        (true, false) => {
            if let Some(before) = &change.before {
                let deleted = Object::new(before.value().clone(), change.revision);
                append_event("DELETED", kind, serializer, &deleted, lines);
            }
        }
        (false, false) => {}
    }
}

/// How a watch serializes objects.
#[derive(Debug)]
pub(super) struct EventSerializer {
    /// The format of the objects.
    pub(super) format: ResponseFormat,
    /// Whether the column definitions of a Table were sent: only the first event has them.
    pub(super) columns_sent: bool,
}

impl EventSerializer {
    /// Creates a serializer for a format.
    pub(super) fn new(format: ResponseFormat) -> Self {
        Self {
            format,
            columns_sent: false,
        }
    }

    fn table(&mut self, kind: &Kind, object: &Value, metadata: &Value) -> Value {
        let with_columns = !std::mem::replace(&mut self.columns_sent, true);
        table(self.format, kind, &[object], metadata, with_columns)
    }
}

/// Appends an event.
pub(super) fn append_event(
    event_type: &str,
    kind: &Kind,
    serializer: &mut EventSerializer,
    object: &Object,
    events: &mut Vec<u8>,
) {
    let format = serializer.format;
    match format.representation {
        Representation::Objects if format.encoding == Encoding::Protobuf => {
            let object = object.value_once();
            let converted = to_request_version(kind, &object);
            append_value(format, event_type, converted.as_ref().unwrap_or(&object), events);
        }
        // The stored JSON is copied.
        Representation::Objects => append_json(event_type, events, |json| append_object(kind, object, json)),
        Representation::PartialMetadata | Representation::PartialMetadataList => {
            append_value(format, event_type, &metadata_only(format, object.value()), events);
        }
        Representation::Table => {
            let metadata = json!({ "resourceVersion": object.revision.to_string() });
            let table = serializer.table(kind, object.value(), &metadata);
            append_value(format, event_type, &table, events);
        }
    }
}

/// Returns a BOOKMARK event.
pub(super) fn bookmark(
    kind: &Kind,
    serializer: &mut EventSerializer,
    revision: u64,
    initial_end: bool,
) -> Vec<u8> {
    let version = json!({ "resourceVersion": revision.to_string() });
    let mut metadata = version.clone();
    if initial_end {
        metadata["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
    }
    let mut object = json!({ "kind": kind.kind, "apiVersion": kind.api_version(), "metadata": metadata });
    if let (Some(ty), None) = (types::builtin(&kind.api_version(), &kind.kind), &kind.definition) {
        // The fields that Go always writes.
        types::normalize(&mut object, ty);
    }
    let object = match serializer.format.representation {
        Representation::Objects => object,
        Representation::PartialMetadata | Representation::PartialMetadataList => {
            metadata_only(serializer.format, &object)
        }
        Representation::Table => serializer.table(kind, &object, &version),
    };
    serialize_event(serializer.format, "BOOKMARK", &object)
}

/// Returns an ERROR event, which ends the watch.
pub(super) fn error(format: ResponseFormat, error: &ApiError) -> Vec<u8> {
    serialize_event(format, "ERROR", &error.status())
}

fn serialize_event(format: ResponseFormat, event_type: &str, object: &Value) -> Vec<u8> {
    let mut event = vec![];
    append_value(format, event_type, object, &mut event);
    event
}

fn append_value(format: ResponseFormat, event_type: &str, object: &Value, events: &mut Vec<u8>) {
    if format.encoding == Encoding::Protobuf {
        let encoded = protobuf::encode_event(event_type, object).or_else(|why| {
            let status = ApiError::internal(why).status();
            protobuf::encode_event("ERROR", &status)
        });
        events.extend(encoded.unwrap_or_default());
        return;
    }
    append_json(event_type, events, |json| {
        go_json::write(json, object, go_json::type_of_kind(object));
    });
}

/// Appends an event in JSON, whose object a function appends.
fn append_json(event_type: &str, events: &mut Vec<u8>, append_object: impl FnOnce(&mut Vec<u8>)) {
    events.extend_from_slice(br#"{"type":""#);
    events.extend_from_slice(event_type.as_bytes());
    events.extend_from_slice(br#"","object":"#);
    append_object(events);
    events.extend_from_slice(b"}\n");
}
